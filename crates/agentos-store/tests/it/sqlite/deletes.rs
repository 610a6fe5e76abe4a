//! What goes with what, in the database itself: projects, definitions, runs, steps, sessions.

use agentos_store::conformance::block_on;
use agentos_store::place::Place;
use agentos_store::records::{Project, RecordError, Records as _};
use agentos_store::run::CreateError;
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use agentos_store::tail::TailCursor;
use rusqlite::Connection;
use serde_json::json;
use uuid::Uuid;

use super::fixture::{SqliteFixture, open};
use super::given::{Held, entry, new_run, run_id};
use super::records::{definition, project};

/// Two projects with a definition and two runs each; every table has something of each.
fn filled(fixture: &SqliteFixture) -> SqliteStore {
    let store = open(&fixture.path());
    for number in [1_u128, 2] {
        block_on(store.put_project(project(number))).unwrap();
        block_on(store.put_definition(definition(number, number, "h"))).unwrap();
        for run in [number * 10, number * 10 + 1] {
            let place = Place {
                project: Some(Uuid::from_u128(number)),
                definition: Some(Uuid::from_u128(number + 100)),
                ..Place::default()
            };
            let mut held = Held::create_at(&store, run, place);
            held.commit(
                2_000,
                [
                    json!({ "kind": "operation.ordered", "operation": "/agent:a#1", "number": 1, "args": {} }),
                    json!({ "kind": "operation.ordered", "operation": "/artifact:f#1", "number": 2, "args": {} }),
                    json!({ "kind": "operation.ended", "operation": "/artifact:f#1",
                            "result": { "status": "ok", "value": { "x": "y".repeat(5_000) } } }),
                    json!({ "kind": "comment.added", "operation": "/comment:c#1", "on": "run", "message": "m" }),
                ]
                .iter()
                .map(entry)
                .collect(),
            );
            held.end(3_000);
        }
    }
    store
}

fn raw(fixture: &SqliteFixture) -> Connection {
    let connection = Connection::open(fixture.path()).unwrap();
    connection.pragma_update(None, "foreign_keys", true).unwrap();
    connection
}

fn count(connection: &Connection, table: &str) -> i64 {
    connection.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0)).unwrap()
}

const OF_RUNS: [&str; 7] = [
    "workflow_runs",
    "run_log",
    "workflow_steps",
    "workflow_comments",
    "workflow_artifacts",
    "agent_sessions",
    "blobs",
];

#[test]
fn a_project_takes_its_runs_and_all_of_theirs_with_it() {
    let fixture = SqliteFixture::new();
    let store = filled(&fixture);
    let connection = raw(&fixture);
    let before: Vec<i64> = OF_RUNS.iter().map(|table| count(&connection, table)).collect();
    assert!(before.iter().all(|rows| *rows > 0), "{before:?}");
    block_on(store.delete_project(Uuid::from_u128(1))).unwrap();
    let after: Vec<i64> = OF_RUNS.iter().map(|table| count(&connection, table)).collect();
    assert_eq!(after, before.iter().map(|rows| rows / 2).collect::<Vec<_>>());
    assert_eq!(count(&connection, "workflow_definitions"), 1);
    // By hand, too: the rules are the database's.
    connection.execute("DELETE FROM projects", ()).unwrap();
    for table in OF_RUNS {
        assert_eq!(count(&connection, table), 0, "{table}");
    }
}

#[test]
fn a_definition_with_runs_stays() {
    let fixture = SqliteFixture::new();
    let store = filled(&fixture);
    let refused = block_on(store.delete_definition(Uuid::from_u128(101)));
    assert!(matches!(refused, Err(RecordError::InUse { .. })), "{refused:?}");
    assert!(raw(&fixture).execute("DELETE FROM workflow_definitions", ()).is_err());
    for run in [10, 11] {
        block_on(store.delete_run(run_id(run))).unwrap();
    }
    block_on(store.delete_definition(Uuid::from_u128(101))).unwrap();
    assert_eq!(count(&raw(&fixture), "workflow_definition_versions"), 1);
}

#[test]
fn a_step_takes_its_own_with_it_and_is_nobodys_current_step_any_more() {
    let fixture = SqliteFixture::new();
    let store = filled(&fixture);
    let current = block_on(store.run_detail(run_id(10))).unwrap().run.current_step;
    assert_eq!(current.unwrap().step_number, 1, "the agent never ended");
    let connection = raw(&fixture);
    let of_run = "execution_id = (SELECT key FROM workflow_runs WHERE id = ?1)";
    let id = run_id(10).to_string();
    connection.execute(&format!("DELETE FROM workflow_steps WHERE {of_run}"), [&id]).unwrap();
    let run = block_on(store.run_detail(run_id(10))).unwrap();
    assert_eq!(run.run.current_step, None);
    assert!(run.steps.is_empty() && run.artifacts.is_empty() && run.agent_sessions.is_empty());
    assert_eq!(run.comments.len(), 1, "that was on the run");
    let other = block_on(store.run_detail(run_id(11))).unwrap();
    assert_eq!((other.steps.len(), other.artifacts.len()), (2, 1));
}

#[test]
fn a_session_takes_its_artifacts_with_it() {
    let fixture = SqliteFixture::new();
    let _store = filled(&fixture);
    let connection = raw(&fixture);
    connection
        .execute(
            "UPDATE workflow_artifacts SET agent_session_id = \
             (SELECT key FROM agent_sessions s WHERE s.execution_id = workflow_artifacts.execution_id)",
            (),
        )
        .unwrap();
    connection.execute("DELETE FROM agent_sessions WHERE key = 1", ()).unwrap();
    assert_eq!(count(&connection, "workflow_artifacts"), 3);
}

#[test]
fn a_run_that_goes_on_is_not_deleted() {
    let fixture = SqliteFixture::new();
    let store = filled(&fixture);
    let place = Place { project: Some(Uuid::from_u128(2)), ..Place::default() };
    let _held = Held::create_at(&store, 50, place);
    assert!(matches!(block_on(store.delete_run(run_id(50))), Err(RecordError::InUse { .. })));
    let refused = block_on(store.delete_project(Uuid::from_u128(2)));
    assert!(matches!(refused, Err(RecordError::InUse { .. })), "{refused:?}");
}

#[test]
fn a_run_of_an_unknown_project_is_not_created() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let place = Place { project: Some(Uuid::from_u128(9)), ..Place::default() };
    let refused = block_on(store.create_run(new_run(1, place)));
    assert!(matches!(refused, Err(CreateError::NoSuchPlace { .. })), "{refused:?}");
}

#[test]
fn a_path_belongs_to_one_project() {
    let fixture = SqliteFixture::new();
    let store = filled(&fixture);
    let refused = block_on(store.put_project(Project { id: Uuid::from_u128(3), ..project(1) }));
    assert!(matches!(refused, Err(RecordError::InUse { .. })), "{refused:?}");
}

#[test]
fn a_reader_of_the_tail_misses_nothing_when_the_latest_run_is_deleted() {
    let fixture = SqliteFixture::new();
    let store = filled(&fixture);
    let seen = block_on(store.tail(TailCursor::start(), 100)).unwrap();
    assert_eq!(seen.events.len(), 12);
    block_on(store.delete_run(run_id(21))).unwrap();
    // Another process, which has never seen what is gone.
    let _held = Held::create(&open(&fixture.path()), 60);
    let next = block_on(store.tail(seen.next, 100)).unwrap();
    let runs: Vec<_> = next.events.iter().map(|event| event.run).collect();
    assert_eq!(runs, [run_id(60)]);
}

#[test]
fn a_project_whose_definition_runs_elsewhere_use_stays() {
    let fixture = SqliteFixture::new();
    let store = filled(&fixture);
    let place = Place {
        run_id: Some("build-zzzzzz".into()),
        definition: Some(Uuid::from_u128(101)),
        ..Place::default()
    };
    Held::create_at(&store, 70, place).end(4_000);
    let before = count(&raw(&fixture), "workflow_runs");
    let refused = block_on(store.delete_project(Uuid::from_u128(1)));
    let why = "run build-zzzzzz, which is not of this project, was made from its workflow `build`";
    let what = format!("project {}", Uuid::from_u128(1));
    assert_eq!(refused, Err(RecordError::InUse { what, why: why.into() }));
    assert_eq!(count(&raw(&fixture), "workflow_runs"), before);
    block_on(store.delete_run(run_id(70))).unwrap();
    block_on(store.delete_project(Uuid::from_u128(1))).unwrap();
}
