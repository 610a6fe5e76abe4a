//! Reading a database whose schema is older than ours, without changing it.
//!
//! Only a process that writes migrates. Until one does, a read-only connection shows the older tables under views of the
//! same names that have the newer columns too: SQLite finds a temporary view before the table. The views
//! take all columns of the table first, so they stay right if the schema is migrated while the connection is open.

use rusqlite::Connection;

use super::error::Done;
use super::migrate::{self, VERSION};

/// What a migration makes of older rows of sessions: those that had ended before their fork was created.
const INHERITED: &str = "coalesce(t.completed_at <= (SELECT o.created_at FROM {db}.workflow_runs o \
    WHERE o.key = t.execution_id AND o.forked_from IS NOT NULL), 0)";

/// Columns that a later version has added: in which version, to which table, and what older rows `t` have in the database
/// `{db}`.
const ADDED: [(u32, &str, &str, &str); 3] = [
    (2, "workflow_steps", "superseded", "0"),
    (2, "agent_sessions", "superseded", "0"),
    (2, "agent_sessions", "inherited", INHERITED),
];

/// Tables that have columns which older versions lack.
const TABLES: [&str; 2] = ["workflow_steps", "agent_sessions"];

/// What stands for a column that a database of this version does not have.
pub(super) fn default_of(version: u32, table: &str, column: &str) -> Option<&'static str> {
    let mut added = ADDED.iter();
    let is_missing = |(since, of, name, _): &&(u32, &str, &str, &str)| {
        version < *since && *of == table && *name == column
    };
    added.find(is_missing).map(|(_, _, _, default)| *default)
}

/// Makes an older database look like one of the current version to this connection.
pub(super) fn show_as_current(connection: &Connection) -> Done<()> {
    let version = migrate::version(connection)?;
    if version == 0 || version >= VERSION {
        return Ok(());
    }
    connection.pragma_update(None, "temp_store", "memory")?;
    for table in TABLES {
        let missing = ADDED.iter().filter(|(since, of, _, _)| version < *since && *of == table);
        let columns: String =
            missing.map(|(_, _, name, default)| format!(", {default} AS {name}")).collect();
        if !columns.is_empty() {
            connection.execute_batch(&format!(
                "CREATE TEMP VIEW {table} AS SELECT t.*{} FROM main.{table} t",
                columns.replace("{db}", "main")
            ))?;
        }
    }
    Ok(())
}
