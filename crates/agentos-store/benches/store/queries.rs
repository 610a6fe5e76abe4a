//! Queries at fifty thousand runs and a million steps, against the bare SQL for the same rows.

use std::path::Path;
use std::time::Instant;

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_store::conformance::block_on;
use agentos_store::due::Except;
use agentos_store::projection::WorkflowStatus;
use agentos_store::records::{Records as _, RunQuery};
use agentos_store::sqlite::{Options, SqliteStore};
use agentos_store::store::Store as _;
use rusqlite::Connection;
use uuid::Uuid;

use crate::report::Report;

const RUNS: u32 = 50_000;
const STEPS_PER_RUN: u32 = 20;
const TAKEN: &str = "00000000-0000-0000-0000-0000000075aa";

pub(crate) fn measure(rounds: usize, report: &mut Report) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("bench.db");
    let store =
        SqliteStore::open(&path, Options::quiet(Uuid::from_u128(5))).expect("the store opens");
    fill(&path);
    let bare = Connection::open(&path).expect("the file opens");
    bare.pragma_update(None, "cache_size", -16_384).expect("SQLite knows its pragmas");
    let run = RunId(TAKEN.parse().expect("an id"));
    let filtered = RunQuery { statuses: vec![WorkflowStatus::Failed], ..RunQuery::default() };
    for _round in 0..rounds {
        let mut pair = |name: &str, ours: &dyn Fn(), sql: &str| {
            report.add(&format!("{name}, ours"), "µs", timed(ours));
            report.add(&format!("{name}, bare SQL"), "µs", timed(&|| all_rows(&bare, sql)));
        };
        pair(
            "latest 50 runs",
            &|| drop(block_on(store.query_runs(RunQuery::default())).expect("runs are listed")),
            "SELECT r.*, s.* FROM workflow_runs r \
             LEFT JOIN workflow_steps s ON s.key = r.current_workflow_step_id \
             ORDER BY coalesce(r.started_at, 9223372036854775807) DESC, r.key DESC LIMIT 50",
        );
        pair(
            "failed runs, one page",
            &|| drop(block_on(store.query_runs(filtered.clone())).expect("runs are listed")),
            "SELECT r.*, s.* FROM workflow_runs r \
             LEFT JOIN workflow_steps s ON s.key = r.current_workflow_step_id WHERE r.status = 'FAILED' \
             ORDER BY coalesce(r.started_at, 9223372036854775807) DESC, r.key DESC LIMIT 50",
        );
        pair(
            "one run with its steps",
            &|| drop(block_on(store.run_detail(run)).expect("a run is shown")),
            "SELECT r.*, s.* FROM workflow_runs r \
             JOIN workflow_steps s ON s.execution_id = r.key \
             WHERE r.id = '00000000-0000-0000-0000-0000000075aa' ORDER BY s.step_number",
        );
        pair(
            "counts by status",
            &|| drop(block_on(store.count_runs()).expect("runs are counted")),
            "SELECT status, count(*) FROM workflow_runs GROUP BY status",
        );
        pair(
            "what is due",
            &|| drop(block_on(store.due(Timestamp(0), &Except::new(), 100)).expect("it is listed")),
            "SELECT key, wake_at FROM workflow_runs WHERE standing = 0 AND standing < 2",
        );
    }
    for name in [
        "latest 50 runs",
        "failed runs, one page",
        "one run with its steps",
        "counts by status",
        "what is due",
    ] {
        report.ratio(&format!("{name}, ours"), &format!("{name}, bare SQL"), "µs");
    }
}

#[expect(clippy::disallowed_methods, reason = "time is what is measured")]
fn timed(work: &dyn Fn()) -> f64 {
    const TIMES: u32 = 20;
    work();
    let began = Instant::now();
    for _time in 0..TIMES {
        work();
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES)
}

pub(crate) fn all_rows(connection: &Connection, sql: &str) {
    let mut statement = connection.prepare_cached(sql).expect("it is SQL");
    let columns = statement.column_count();
    let mut rows = statement.query(()).expect("it runs");
    while let Some(row) = rows.next().expect("there are rows") {
        for column in 0..columns {
            std::hint::black_box(row.get_ref(column).expect("it has this column"));
        }
    }
}

/// Rows as the store would have written them, without the logs behind them.
pub(crate) fn fill(path: &Path) {
    let connection = Connection::open(path).expect("the file opens");
    let sql = format!(
        "PRAGMA synchronous = off; BEGIN; \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {RUNS}) \
         INSERT INTO workflow_runs (key, id, run_id, workflow, definition_hash, status, started_at, input, \
             created_at, updated_at, worktree_id, work_dir, current_workflow_step_id, head, epoch, standing) \
         SELECT i, printf('00000000-0000-0000-0000-%012x', i), printf('bench-%06x', i), 'bench', 'h', \
             CASE i % 10 WHEN 0 THEN 'FAILED' WHEN 1 THEN 'RUNNING' ELSE 'COMPLETED' END, i * 1000, \
             '{{\"brief\":\"notes.md\"}}', i * 1000, i * 1000, 'main', '/code/project', i * {STEPS_PER_RUN}, 100, 1, \
             CASE i % 10 WHEN 0 THEN 3 WHEN 1 THEN 1 ELSE 2 END FROM n; \
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {steps} - 1) \
         INSERT INTO workflow_steps (key, id, execution_id, step_number, name, path, status, started_at, \
             completed_at, duration, output, created_at, updated_at) \
         SELECT i + 1, printf('00000000-0000-8000-0000-%012x', i), i / {STEPS_PER_RUN} + 1, \
             i % {STEPS_PER_RUN} + 1, 'implement', '/implement#1', 'COMPLETED', i, i + 5, 5, \
             '{{\"exitCode\":0,\"stdout\":\"ok\"}}', i, i FROM n; \
         COMMIT; PRAGMA wal_checkpoint(TRUNCATE);",
        steps = RUNS * STEPS_PER_RUN
    );
    connection.execute_batch(&sql).expect("the database is filled");
}
