//! What each index costs and what it serves: the same query and the same writes, with it and without.
//!
//! The first list is what the schema has beyond keys; the second what one might expect and it does not have.

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;

use crate::queries::{all_rows, fill};
use crate::report::Report;

/// An index, the query that it is for, and the kind of row that pays for it.
struct Candidate {
    name: &'static str,
    create: &'static str,
    query: &'static str,
    pays: Pays,
}

#[derive(Clone, Copy)]
enum Pays {
    Run,
    Step,
    /// A comment, a session, an artifact and a value that stands apart.
    Children,
}

const CANDIDATES: [Candidate; 18] = [
    Candidate {
        name: "workflow_runs_by_start",
        create: "CREATE INDEX workflow_runs_by_start ON workflow_runs (coalesce(started_at, 9223372036854775807), id)",
        query: "SELECT key FROM workflow_runs ORDER BY coalesce(started_at, 9223372036854775807) DESC, id DESC LIMIT 50",
        pays: Pays::Run,
    },
    Candidate {
        name: "workflow_runs_by_status",
        create: "CREATE INDEX workflow_runs_by_status ON workflow_runs (status, coalesce(started_at, 9223372036854775807), id)",
        query: "SELECT key FROM workflow_runs WHERE status = 'FAILED' \
                ORDER BY coalesce(started_at, 9223372036854775807) DESC, id DESC LIMIT 50",
        pays: Pays::Run,
    },
    Candidate {
        name: "workflow_runs_of_project",
        create: "CREATE INDEX workflow_runs_of_project ON workflow_runs (project_id, status) WHERE project_id IS NOT NULL",
        query: "SELECT key FROM workflow_runs WHERE project_id = 1",
        pays: Pays::Run,
    },
    Candidate {
        name: "not kept: runs (branch_name)",
        create: "CREATE INDEX extra ON workflow_runs (branch_name) WHERE branch_name IS NOT NULL",
        query: "SELECT key FROM workflow_runs WHERE branch_name = 'agentos/x'",
        pays: Pays::Run,
    },
    Candidate {
        name: "workflow_runs_open",
        create: "CREATE INDEX workflow_runs_open ON workflow_runs (standing, wake_at) WHERE standing < 2",
        query: "SELECT key FROM workflow_runs WHERE standing = 0 AND standing < 2",
        pays: Pays::Run,
    },
    Candidate {
        name: "workflow_steps_of_run",
        create: "CREATE UNIQUE INDEX workflow_steps_of_run ON workflow_steps (execution_id, step_number)",
        query: "SELECT key FROM workflow_steps WHERE execution_id = 30000 ORDER BY step_number",
        pays: Pays::Step,
    },
    Candidate {
        name: "not kept: steps (execution_id, status)",
        create: "CREATE INDEX extra ON workflow_steps (execution_id, status)",
        query: "SELECT key FROM workflow_steps WHERE execution_id = 30000 AND status = 'FAILED'",
        pays: Pays::Step,
    },
    Candidate {
        name: "not kept: steps (name, status)",
        create: "CREATE INDEX extra ON workflow_steps (name, status)",
        query: "SELECT key FROM workflow_steps WHERE name = 'review' AND status = 'FAILED' LIMIT 50",
        pays: Pays::Step,
    },
    Candidate {
        name: "not kept: runs (current_workflow_step_id)",
        create: "CREATE INDEX extra ON workflow_runs (current_workflow_step_id)",
        query: "SELECT key FROM workflow_runs WHERE current_workflow_step_id = 600000",
        pays: Pays::Step,
    },
    Candidate {
        name: "workflow_runs_of_definition",
        create: "CREATE INDEX workflow_runs_of_definition ON workflow_runs (workflow_def_id, status) \
                 WHERE workflow_def_id IS NOT NULL",
        query: "SELECT count(*) FROM workflow_runs WHERE workflow_def_id = 1",
        pays: Pays::Run,
    },
    Candidate {
        name: "workflow_comments_of_run",
        create: "CREATE INDEX workflow_comments_of_run ON workflow_comments (execution_id, created_at)",
        query: "SELECT key FROM workflow_comments WHERE execution_id = 30000 ORDER BY created_at, key",
        pays: Pays::Children,
    },
    Candidate {
        name: "workflow_comments_of_step",
        create: "CREATE INDEX workflow_comments_of_step ON workflow_comments (step_id) WHERE step_id IS NOT NULL",
        query: "SELECT key FROM workflow_comments WHERE step_id = 600000",
        pays: Pays::Children,
    },
    Candidate {
        name: "workflow_artifacts_of_run",
        create: "CREATE INDEX workflow_artifacts_of_run ON workflow_artifacts (execution_id, type)",
        query: "SELECT key FROM workflow_artifacts WHERE execution_id = 30000 ORDER BY key",
        pays: Pays::Children,
    },
    Candidate {
        name: "workflow_artifacts_of_step",
        create: "CREATE INDEX workflow_artifacts_of_step ON workflow_artifacts (step_id) WHERE step_id IS NOT NULL",
        query: "SELECT key FROM workflow_artifacts WHERE step_id = 600000",
        pays: Pays::Children,
    },
    Candidate {
        name: "workflow_artifacts_of_session",
        create: "CREATE INDEX workflow_artifacts_of_session ON workflow_artifacts (agent_session_id) \
                 WHERE agent_session_id IS NOT NULL",
        query: "SELECT key FROM workflow_artifacts WHERE agent_session_id = 120000",
        pays: Pays::Children,
    },
    Candidate {
        name: "agent_sessions_of_run",
        create: "CREATE INDEX agent_sessions_of_run ON agent_sessions (execution_id)",
        query: "SELECT key FROM agent_sessions WHERE execution_id = 30000 ORDER BY key",
        pays: Pays::Children,
    },
    Candidate {
        name: "agent_sessions_of_step",
        create: "CREATE INDEX agent_sessions_of_step ON agent_sessions (workflow_step_id) \
                 WHERE workflow_step_id IS NOT NULL",
        query: "SELECT key FROM agent_sessions WHERE workflow_step_id = 600000",
        pays: Pays::Children,
    },
    Candidate {
        name: "blobs_of_run",
        create: "CREATE INDEX blobs_of_run ON blobs (run)",
        query: "SELECT key FROM blobs WHERE run = 30000",
        pays: Pays::Children,
    },
];

/// A project and a definition, and for every fifth step a comment, a session, an artifact and a value that stands apart.
const BESIDES: &str = "PRAGMA synchronous = off; BEGIN; \
    INSERT INTO projects VALUES (1, 'p', 'p', '/p', 1, 1); \
    INSERT INTO workflow_definitions (key, id, project_id, name, version, created_at, updated_at) \
        VALUES (1, 'd', 1, 'bench', 1, 1, 1); \
    INSERT INTO workflow_comments (key, id, execution_id, step_id, message, created_at) \
        SELECT key / 5, id, execution_id, key, 'a remark', created_at FROM workflow_steps WHERE key % 5 = 0; \
    INSERT INTO agent_sessions (key, id, execution_id, workflow_step_id, name, status, created_at, updated_at) \
        SELECT key / 5, id, execution_id, key, 'think', 'COMPLETED', 1, 1 FROM workflow_steps WHERE key % 5 = 0; \
    INSERT INTO workflow_artifacts (key, id, execution_id, step_id, agent_session_id, name, type, storage_path, \
        created_at) SELECT key / 5, id, execution_id, key, key / 5, 'report', 'TEST_REPORT', 'out.xml', 1 \
        FROM workflow_steps WHERE key % 5 = 0; \
    INSERT INTO blobs (key, run, value) SELECT key / 5, execution_id, hex(zeroblob(600)) FROM workflow_steps \
        WHERE key % 5 = 0; \
    COMMIT; PRAGMA wal_checkpoint(TRUNCATE);";

pub(crate) fn measure(rounds: usize, report: &mut Report) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("bench.db");
    let options = agentos_store::sqlite::Options::quiet(uuid::Uuid::from_u128(5));
    drop(agentos_store::sqlite::SqliteStore::open(&path, options).expect("the store opens"));
    fill(&path);
    let connection = open(&path);
    connection.execute_batch(BESIDES).expect("there is something of everything");
    for candidate in CANDIDATES {
        let name = candidate.name;
        let kept = name.strip_prefix("not kept: ").is_none();
        let drop_it =
            if kept { format!("DROP INDEX {name}") } else { "DROP INDEX extra".to_owned() };
        if !kept {
            connection.execute_batch(candidate.create).expect("an index is made");
        }
        for _round in 0..rounds {
            sample(&connection, &candidate, "with", report);
        }
        connection.execute_batch(&drop_it).expect("an index is dropped");
        for _round in 0..rounds {
            sample(&connection, &candidate, "without", report);
        }
        if kept {
            connection.execute_batch(candidate.create).expect("an index is made");
        }
    }
}

fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("the file opens");
    connection.pragma_update(None, "cache_size", -65_536).expect("SQLite knows its pragmas");
    connection
}

fn sample(connection: &Connection, candidate: &Candidate, how: &str, report: &mut Report) {
    let name = candidate.name;
    report.add(
        &format!("{name}: query {how}"),
        "µs",
        timed(3, || all_rows(connection, candidate.query)),
    );
    let writes = match candidate.pays {
        Pays::Run => write_runs,
        Pays::Step => write_steps,
        Pays::Children => write_children,
    };
    report.add(&format!("{name}: write {how}"), "µs", writes(connection));
}

#[expect(clippy::disallowed_methods, reason = "time is what is measured")]
fn timed(times: u32, mut work: impl FnMut()) -> f64 {
    let began = Instant::now();
    (0..times).for_each(|_| work());
    began.elapsed().as_secs_f64() * 1e6 / f64::from(times)
}

/// A step as it is lived: asked for, then current, then ended. Undone afterwards.
fn write_steps(connection: &Connection) -> f64 {
    const COUNT: u32 = 3_000;
    connection.execute_batch("BEGIN").expect("it begins");
    let mut number = 0;
    let took = timed(COUNT, || {
        number += 1;
        let key = 2_000_000 + number;
        let run = 1 + number % 128;
        let written = connection
            .prepare_cached(
                "INSERT INTO workflow_steps (key, id, execution_id, step_number, name, path, status, created_at, \
                 updated_at) VALUES (?1, 'an id of thirty-six characters or so', ?2, ?3, 'review', '/review#1', \
                 'RUNNING', 1, 1)",
            )
            .and_then(|mut sql| sql.execute((key, run, 1_000 + number)))
            .and_then(|_| {
                connection
                    .prepare_cached("UPDATE workflow_runs SET current_workflow_step_id = ?2 WHERE key = ?1")?
                    .execute((run, key))
            })
            .and_then(|_| {
                connection
                    .prepare_cached("UPDATE workflow_steps SET status = 'COMPLETED', output = '{}' WHERE key = ?1")?
                    .execute([key])
            });
        written.expect("a step is written");
    });
    connection.execute_batch("ROLLBACK").expect("it is undone");
    took
}

/// What a step may leave besides its row. Undone afterwards.
fn write_children(connection: &Connection) -> f64 {
    const COUNT: u32 = 2_000;
    const INSERTS: [&str; 4] = [
        "INSERT INTO workflow_comments (key, id, execution_id, step_id, message, created_at) \
         VALUES (?1, ?3, ?2, ?2 * 20, 'a remark', ?1)",
        "INSERT INTO agent_sessions (key, id, execution_id, workflow_step_id, name, status, created_at, updated_at) \
         VALUES (?1, ?3, ?2, ?2 * 20, 'think', 'RUNNING', 1, 1)",
        "INSERT INTO workflow_artifacts (key, id, execution_id, step_id, agent_session_id, name, type, storage_path, \
         created_at) VALUES (?1, ?3, ?2, ?2 * 20, ?1, 'report', 'TEST_REPORT', 'out.xml', 1)",
        "INSERT INTO blobs (key, run, value) VALUES (?1, ?2, hex(zeroblob(600)) || ?3)",
    ];
    connection.execute_batch("BEGIN").expect("it begins");
    let mut number = 0;
    let took = timed(COUNT, || {
        number += 1;
        let key = 2_000_000 + number;
        for insert in INSERTS {
            let written = connection
                .prepare_cached(insert)
                .and_then(|mut sql| sql.execute((key, 1 + number % 128, format!("a row {key}"))));
            written.expect("a row is written");
        }
    });
    connection.execute_batch("ROLLBACK").expect("it is undone");
    took
}

/// A run as it is lived: created, started, ended. Undone afterwards.
fn write_runs(connection: &Connection) -> f64 {
    const COUNT: u32 = 2_000;
    connection.execute_batch("BEGIN").expect("it begins");
    let mut number = 0;
    let took = timed(COUNT, || {
        number += 1;
        let key = 2_000_000 + number;
        let written = connection
            .prepare_cached(
                "INSERT INTO workflow_runs (key, id, run_id, workflow, definition_hash, status, project_id, \
                 workflow_def_id, branch_name, created_at, updated_at, head, epoch, standing) VALUES (?1, ?2, ?2, \
                 'bench', 'h', 'PENDING', 1, 1, ?2, 1, 1, 1, 0, 0)",
            )
            .and_then(|mut sql| sql.execute((key, format!("run {key}"))))
            .and_then(|_| {
                connection
                    .prepare_cached("UPDATE workflow_runs SET status = 'RUNNING', started_at = ?1 WHERE key = ?1")?
                    .execute([key])
            })
            .and_then(|_| {
                connection
                    .prepare_cached("UPDATE workflow_runs SET status = 'COMPLETED', standing = 2 WHERE key = ?1")?
                    .execute([key])
            });
        written.expect("a run is written");
    });
    connection.execute_batch("ROLLBACK").expect("it is undone");
    took
}
