//! The schema, version by version.
//!
//! Versions are applied by hand rather than by a migration crate: what decides whether one may be applied at all (the
//! file is ours, nobody else lives, the writer lock is held) has to be decided in the same transaction, and the version
//! has to be where an older program looks before it writes: in the header (`user_version`).

mod sessions;

use rusqlite::{Connection, TransactionBehavior};
use uuid::Uuid;

use super::error::{Done, Fault};
use super::owner::Owners;

/// Marks the header of our databases: the letters `AgOS`.
pub(super) const APPLICATION_ID: u32 = u32::from_be_bytes(*b"AgOS");

/// What makes one version of the schema out of the one before.
#[derive(Clone, Copy)]
struct Version {
    sql: &'static str,
    /// What of the rows can only be told from the logs. It is done after the SQL.
    rows: Option<fn(&Connection) -> Done<()>>,
}

const VERSIONS: [Version; 2] = [
    Version { sql: include_str!("migrations/0001.sql"), rows: None },
    Version { sql: include_str!("migrations/0002.sql"), rows: Some(sessions::tell_apart) },
];

/// The version that this program writes.
pub(super) const VERSION: u32 = 2;

/// The version of the schema as of now, inside a transaction or not.
pub(super) fn version(connection: &Connection) -> Done<u32> {
    let mut asked = connection.prepare_cached("PRAGMA user_version")?;
    Ok(asked.query_row((), |row| row.get(0))?)
}

/// Refuses a schema that this program does not write. Asked in every transaction: a newer program may have come and
/// migrated while this one was running.
pub(super) fn check(connection: &Connection) -> Done<()> {
    match version(connection)? {
        VERSION => Ok(()),
        other => Err(newer(other, VERSION)),
    }
}

fn newer(found: u32, known: u32) -> Fault {
    Fault::permanent(format!(
        "its schema has version {found} now and this program writes version {known}; end this program and use the \
         newer one"
    ))
}

/// Brings the schema to [`VERSION`]. The caller holds the writer lock. Says whether anything was to be done.
///
/// A database that has runs is changed only while no owner lives: an older program would go on writing into tables that
/// are no longer what it thinks.
pub(super) fn migrate(connection: &mut Connection, owners: &Owners, new_id: Uuid) -> Done<bool> {
    migrate_by(&VERSIONS, connection, owners, new_id)
}

fn migrate_by(
    versions: &[Version],
    connection: &mut Connection,
    owners: &Owners,
    new_id: Uuid,
) -> Done<bool> {
    let to = u32::try_from(versions.len()).unwrap_or(u32::MAX);
    if version(connection)? == to {
        return Ok(false);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = version(&transaction)?;
    if from >= to {
        return match from {
            // Somebody was faster.
            _ if from == to => Ok(false),
            _ => Err(newer(from, to)),
        };
    }
    if from > 0
        && let Some(owner) = owners.living()?.first()
    {
        return Err(Fault::permanent(format!(
            "its schema has version {from} and has to become {to}, but owner {owner} is at work; wait for it or \
             end it, then try again"
        )));
    }
    for (index, Version { sql, rows }) in (1_u32..).zip(versions) {
        if index > from {
            transaction.execute_batch(sql)?;
            rows.map_or(Ok(()), |rows| rows(&transaction))?;
        }
    }
    if from == 0 {
        transaction.execute("INSERT INTO store (one, id) VALUES (1, ?1)", [new_id.to_string()])?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.pragma_update(None, "user_version", to)?;
    transaction.commit()?;
    // Into the file itself, where a probe looks.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
    Ok(true)
}

/// The identity of the history in this database.
pub(super) fn store_id(connection: &Connection) -> Done<String> {
    Ok(connection.query_row("SELECT id FROM store", (), |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use agentos_core::id::OwnerId;

    use super::*;

    #[test]
    fn a_schema_is_changed_only_while_nobody_lives() {
        let folder = tempfile::tempdir().unwrap();
        let owners = Owners::new(folder.path().join("owners"));
        let mut connection = Connection::open(folder.path().join("x.db")).unwrap();
        assert!(migrate(&mut connection, &owners, Uuid::from_u128(1)).unwrap());
        assert!(!migrate(&mut connection, &owners, Uuid::from_u128(2)).unwrap());
        let id = store_id(&connection).unwrap();
        let more = Version { sql: "CREATE TABLE more (x)", rows: None };
        let next = [VERSIONS[0], VERSIONS[1], more];
        let owner = owners.enlist(OwnerId(Uuid::from_u128(7))).unwrap();
        let refused = migrate_by(&next, &mut connection, &owners, Uuid::from_u128(2)).unwrap_err();
        assert!(format!("{refused:?}").contains("is at work"), "{refused:?}");
        assert_eq!(version(&connection).unwrap(), VERSION, "nothing has changed");
        drop(owner);
        assert!(migrate_by(&next, &mut connection, &owners, Uuid::from_u128(2)).unwrap());
        assert_eq!(version(&connection).unwrap(), VERSION + 1);
        assert!(check(&connection).is_err(), "this program writes its own version only");
        assert_eq!(store_id(&connection).unwrap(), id, "it is still the same history");
    }

    #[test]
    fn sessions_of_forks_are_told_apart_when_a_schema_becomes_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let owners = Owners::new(folder.path().join("owners"));
        let mut connection = Connection::open(folder.path().join("x.db")).unwrap();
        migrate_by(&VERSIONS[..1], &mut connection, &owners, Uuid::from_u128(1)).unwrap();
        let run = |key: i64, from: &str| {
            format!(
                "INSERT INTO workflow_runs (key, id, run_id, workflow, definition_hash, status, forked_from, created_at, \
                 updated_at, head, epoch, standing) VALUES ({key}, '{key}', '{key}', 'w', '', 'COMPLETED', {from}, \
                 {key}000, 0, 0, 0, 2);"
            )
        };
        let session = |id: &str, run: i64, (from, to): (i64, i64)| {
            format!(
                "INSERT INTO agent_sessions (id, execution_id, name, status, started_at, completed_at, duration, \
                 created_at, updated_at) VALUES ('{id}', {run}, 'a', 'COMPLETED', {from}, {to}, {to} - {from}, 0, 0);"
            )
        };
        let rows = [
            run(1, "NULL"),
            run(5, "'1'"),
            session("of the first", 1, (100, 200)),
            session("inherited", 5, (100, 200)),
            session("redone", 5, (150, 6_000)),
        ];
        connection.execute_batch(&rows.concat()).unwrap();
        assert!(migrate(&mut connection, &owners, Uuid::from_u128(2)).unwrap());
        let mut read = connection
            .prepare("SELECT id, inherited, started_at, duration FROM agent_sessions ORDER BY key")
            .unwrap();
        let rows = read.query_map((), |row| {
            Ok((row.get::<_, String>(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)))
        });
        let rows: Vec<(String, (i64, i64, i64))> =
            rows.unwrap().collect::<rusqlite::Result<_>>().unwrap();
        let expected = [
            ("of the first", (0, 100, 100)),
            ("inherited", (1, 100, 100)),
            ("redone", (0, 5_000, 1_000)),
        ];
        assert_eq!(rows, expected.map(|(id, row)| (id.to_owned(), row)));
    }

    #[test]
    fn a_newer_schema_is_never_made_an_older_one() {
        let folder = tempfile::tempdir().unwrap();
        let owners = Owners::new(folder.path().join("owners"));
        let mut connection = Connection::open(folder.path().join("x.db")).unwrap();
        migrate(&mut connection, &owners, Uuid::from_u128(1)).unwrap();
        connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
        let refused = migrate(&mut connection, &owners, Uuid::from_u128(2)).unwrap_err();
        assert!(format!("{refused:?}").contains("use the newer one"), "{refused:?}");
        assert_eq!(version(&connection).unwrap(), VERSION + 1);
    }
}
