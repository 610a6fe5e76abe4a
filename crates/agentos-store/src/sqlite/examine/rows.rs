//! The rows of a run, compared; and what of the rows is counted and thrown away.

use agentos_core::id::RunId;
use rusqlite::Connection;
use rusqlite::types::Value as Cell;

use super::{Finding, FindingKind, Sizes};
use crate::sqlite::error::Done;
use crate::sqlite::query::{uuid_at, value_at};
use crate::sqlite::transaction::Tx;

/// What is compared: the table, which rows of it, columns as they are, columns that hold values.
struct Compared {
    table: &'static str,
    rows: &'static str,
    columns: &'static str,
    values: &'static str,
}

const COMPARED: [Compared; 5] = [
    Compared {
        table: "workflow_runs",
        rows: "key = ?1",
        columns: "status, started_at, completed_at, duration, definition_hash",
        values: "input, output, error, state",
    },
    Compared {
        table: "workflow_steps",
        rows: "execution_id = ?1 ORDER BY step_number",
        // Names of operations are told in another way by each version; the path and the input decide.
        columns: "id, step_number, path, phase, status, started_at, completed_at, attempt_number, max_attempts, superseded",
        values: "input, output, error",
    },
    Compared {
        table: "agent_sessions",
        rows: "execution_id = ?1 ORDER BY id",
        columns: "id, name, agent, model, session_id, status, session_file_path, input_tokens, output_tokens, exit_code, inherited, superseded",
        values: "error",
    },
    Compared {
        table: "workflow_comments",
        rows: "execution_id = ?1 ORDER BY created_at, id",
        columns: "id, message, author, created_at",
        values: "metadata",
    },
    Compared {
        table: "workflow_artifacts",
        rows: "execution_id = ?1 ORDER BY id",
        columns: "id, name, type, storage_path, mime_type, size_bytes, created_at",
        values: "metadata",
    },
];

/// Values that a row refers to.
const USED: &str = "SELECT input FROM workflow_runs WHERE typeof(input) = 'integer' \
    UNION SELECT output FROM workflow_runs WHERE typeof(output) = 'integer' \
    UNION SELECT error FROM workflow_runs WHERE typeof(error) = 'integer' \
    UNION SELECT state FROM workflow_runs WHERE typeof(state) = 'integer' \
    UNION SELECT input FROM workflow_steps WHERE typeof(input) = 'integer' \
    UNION SELECT output FROM workflow_steps WHERE typeof(output) = 'integer' \
    UNION SELECT error FROM workflow_steps WHERE typeof(error) = 'integer' \
    UNION SELECT error FROM agent_sessions WHERE typeof(error) = 'integer' \
    UNION SELECT metadata FROM workflow_comments WHERE typeof(metadata) = 'integer' \
    UNION SELECT metadata FROM workflow_artifacts WHERE typeof(metadata) = 'integer'";

/// A run in a database: where it is kept, and its key there.
type Kept<'a> = (&'a Connection, i64);

pub(super) fn differing(one: Kept<'_>, other: Kept<'_>) -> Done<Vec<&'static str>> {
    let mut found = Vec::new();
    for compared in &COMPARED {
        if compared.read(one)? != compared.read(other)? {
            found.push(compared.table);
        }
    }
    Ok(found)
}

type Row = (Vec<Cell>, Vec<Option<serde_json::Value>>);

impl Compared {
    fn read(&self, (connection, key): Kept<'_>) -> Done<Vec<Row>> {
        let Self { table, rows, columns, values } = self;
        let sql = format!("SELECT {columns}, {values} FROM {table} WHERE {rows}");
        let mut read = connection.prepare_cached(&sql)?;
        let (plain, all) = (columns.split(", ").count(), read.column_count());
        let mut rows = read.query([key])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..plain).map(|at| row.get(at)).collect::<rusqlite::Result<_>>()?;
            let values =
                (plain..all).map(|at| value_at(connection, row, at)).collect::<Done<_>>()?;
            found.push((cells, values));
        }
        Ok(found)
    }
}

pub(super) fn runs(connection: &Connection) -> Done<Vec<(RunId, i64)>> {
    let mut read = connection.prepare("SELECT id, key FROM workflow_runs ORDER BY key")?;
    let mut rows = read.query(())?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((RunId(uuid_at(row, 0)?), row.get(1)?));
    }
    Ok(found)
}

pub(super) fn sizes(connection: &Connection) -> Done<Sizes> {
    let ask = |sql: &str| -> Done<u64> {
        let found: i64 = connection.query_row(sql, (), |row| row.get(0))?;
        Ok(u64::try_from(found).unwrap_or(0))
    };
    let page = ask("SELECT page_size FROM pragma_page_size")?;
    Ok(Sizes {
        database: 0,
        wal: 0,
        free: ask("SELECT freelist_count FROM pragma_freelist_count")? * page,
        log: ask("SELECT coalesce(sum(length(CAST(chunk AS BLOB))), 0) FROM run_log")?,
        values: ask("SELECT coalesce(sum(length(CAST(value AS BLOB))), 0) FROM blobs")?,
        artifacts: ask("SELECT coalesce(sum(size_bytes), 0) FROM workflow_artifacts")?,
    })
}

pub(super) fn miscounted(connection: &Connection) -> Done<Vec<Finding>> {
    let mut read = connection.prepare(
        "SELECT id, run_id, messages, (SELECT count(*) FROM run_inbox i WHERE i.run = r.key \
         AND i.message IS NOT NULL) AS there FROM workflow_runs r WHERE messages <> there",
    )?;
    let mut rows = read.query(())?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (name, said, there): (String, i64, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
        found.push(Finding {
            kind: FindingKind::Messages,
            run: Some(RunId(uuid_at(row, 0)?)),
            message: format!("{name}: {there} messages wait, and its row says {said}"),
        });
    }
    Ok(found)
}

pub(super) fn unused(connection: &Connection) -> Done<Option<Finding>> {
    let sql = format!("SELECT count(*) FROM blobs WHERE key NOT IN ({USED})");
    let number: i64 = connection.query_row(&sql, (), |row| row.get(0))?;
    Ok((number > 0).then(|| Finding {
        kind: FindingKind::Values,
        run: None,
        message: format!("{number} values are referred to by nothing"),
    }))
}

pub(super) fn count_messages(tx: &Tx<'_>) -> Done<()> {
    tx.statement(
        "UPDATE workflow_runs SET messages = (SELECT count(*) FROM run_inbox i \
         WHERE i.run = workflow_runs.key AND i.message IS NOT NULL)",
    )?
    .execute(())?;
    tx.memory.borrow_mut().clear();
    Ok(())
}

pub(super) fn drop_unused(tx: &Tx<'_>) -> Done<()> {
    tx.statement(&format!("DELETE FROM blobs WHERE key NOT IN ({USED})"))?.execute(())?;
    Ok(())
}
