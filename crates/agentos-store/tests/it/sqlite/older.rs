//! Databases of the version before: looked at as they are, and migrated by the first process that writes.

use std::path::Path;
use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, RunStarted};
use agentos_core::id::{RunId, Seq};
use agentos_core::time::Timestamp;
use agentos_store::conformance::block_on;
use agentos_store::place::Place;
use agentos_store::records::Records as _;
use agentos_store::run::{History, NewRun};
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use agentos_store::unified::{Question, UnifiedView, Worktrees};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::fixture::{SqliteFixture, open};
use super::given::{Held, WORKING, name, new_run, run_id};
use super::rows::{detail, entries, retry};

/// Makes a database what the first version of the schema was.
fn make_older(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "ALTER TABLE workflow_steps DROP COLUMN superseded; \
             ALTER TABLE agent_sessions DROP COLUMN superseded; \
             ALTER TABLE agent_sessions DROP COLUMN inherited; PRAGMA user_version = 1;",
        )
        .unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).unwrap();
}

fn version(path: &Path) -> u32 {
    let connection = Connection::open(path).unwrap();
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// A run that has a session from another one.
fn fork_of(run: RunId) -> NewRun {
    let chunk = |first, at, list: &[Value]| Chunk::new(Seq(first), Timestamp(at), entries(list));
    let session = [
        json!({ "kind": "operation.ordered", "operation": "/agent:paid#1", "number": 1, "args": {} }),
        json!({ "kind": "operation.ended", "operation": "/agent:paid#1", "result": { "status": "ok",
                "value": { "cost_usd": 0.25 } } }),
    ];
    let rebased = json!({ "kind": "run.rebased", "away_ms": 5 });
    let rest = vec![chunk(1, 2_000, &session), chunk(3, 90_000, &[rebased])];
    let mut first = RunStarted::new(run_id(11), name("build"));
    first.forked_from = Some(run);
    NewRun {
        at: Timestamp(90_000),
        first: Entry::RunStarted(first),
        history: Some(History { began: Timestamp(1_000), rest, standing: WORKING }),
        ..new_run(11, Place::default())
    }
}

#[test]
fn an_older_database_is_read_as_it_is_and_migrated_by_the_first_writer() {
    let fixture = SqliteFixture::new();
    let path = fixture.path();
    let store = open(&path);
    let mut held = Held::create(&store, 10);
    held.commit(
        2_000,
        entries(&[
            json!({ "kind": "step.requested", "step": "/plan#1", "number": 1, "retry": retry() }),
            json!({ "kind": "attempt.started", "scope": "/plan#1@1" }),
            json!({ "kind": "operation.ordered", "operation": "/plan#1@1/agent:a#1", "args": { "cost_usd": 0.5 } }),
        ]),
    );
    let run = held.run;
    let fork = fork_of(run);
    let fork_run = fork.run;
    block_on(store.create_run(fork)).unwrap();
    let expected = detail(&store, run);
    let of_fork = detail(&store, fork_run).costs;
    assert_eq!((of_fork.cost_usd, of_fork.inherited_cost_usd), (None, Some(0.25)));
    drop((held, store));
    make_older(&path);
    let bytes = std::fs::read(&path).unwrap();
    let look = SqliteStore::open_to_look(&path).unwrap();
    let ask = |look: &SqliteStore| block_on(look.run_detail(run)).unwrap();
    let shown = ask(&look);
    assert_eq!(
        (shown.steps, shown.agent_sessions),
        (expected.steps.clone(), expected.agent_sessions.clone())
    );
    assert_eq!(
        block_on(look.figures()).unwrap().cost_usd,
        0.5,
        "what a fork inherits does not count"
    );
    let found = block_on(look.examine()).unwrap().findings;
    assert!(found.is_empty(), "{found:?}");
    let view = UnifiedView::open(std::slice::from_ref(&path), Worktrees::default());
    let sql = "SELECT s.name, s.superseded, g.inherited FROM workflow_steps s, agent_sessions g"
        .to_owned();
    let question = Question { sql, rows: 10, stop: Arc::default() };
    let answer = block_on(view.select(question)).unwrap();
    assert_eq!((answer.unreadable.len(), answer.rows.len()), (0, 4), "{answer:?}");
    drop(view);
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "looking changes nothing");
    assert_eq!(version(&path), 1);
    assert_eq!(block_on(look.run_detail(fork_run)).unwrap().costs, of_fork);

    let store = open(&path);
    assert_eq!(detail(&store, fork_run).costs, of_fork);
    assert_eq!(version(&path), 2);
    assert_eq!(detail(&store, run).steps, expected.steps);
    assert_eq!(ask(&look).steps, expected.steps, "who looks goes on looking");
    let mut held = Held::claim(&store, run);
    held.commit(
        3_000,
        entries(&[json!({ "kind": "source.switched", "definition": "2", "keeps_numbers": true })]),
    );
    assert!(ask(&look).steps[0].superseded, "and sees what is new");
}
