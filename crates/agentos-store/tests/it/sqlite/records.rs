//! Rows for people: every column that is written is read back, and listings show what was asked for.

use agentos_core::time::Timestamp;
use agentos_store::conformance::block_on;
use agentos_store::list::{ListError, RunCursor, RunFilter};
use agentos_store::place::Place;
use agentos_store::projection::WorkflowStatus;
use agentos_store::records::{
    NewDefinition, Paging, Project, RecordError, Records as _, RunQuery, Sort, Workspace,
    WorkspaceState,
};
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use serde_json::json;
use uuid::Uuid;

use super::fixture::{SqliteFixture, open};
use super::given::{Held, note, run_id};

pub(super) fn project(number: u128) -> Project {
    Project {
        id: Uuid::from_u128(number),
        name: format!("project {number}"),
        path: format!("/code/{number}"),
        created_at: Timestamp(1),
        updated_at: Timestamp(2),
    }
}

pub(super) fn definition(number: u128, of: u128, hash: &str) -> NewDefinition {
    NewDefinition {
        id: Uuid::from_u128(number + 100),
        project: Uuid::from_u128(of),
        name: "build".into(),
        description: Some("builds".into()),
        file_path: Some(".agent/workflows/templates/build.ts".into()),
        config: json!({ "timeout": 5 }),
        is_active: true,
        hash: hash.into(),
        author_version: Some("1.2".into()),
        source: format!("export default {hash}"),
        at: Timestamp(7),
    }
}

fn place(project: u128, worktree: &str) -> Place {
    Place {
        project: Some(Uuid::from_u128(project)),
        definition: Some(Uuid::from_u128(project + 100)),
        definition_version: Some(3),
        run_id: None,
        worktree_id: Some(worktree.into()),
        work_dir: Some("/code".into()),
        workspace_dir: Some("/cache/w".into()),
        workspace_id: Some("w-1".into()),
        context_dir: Some("/cache/c".into()),
        branch_name: Some(format!("agentos/{worktree}")),
        log_file_path: Some(".agent/workflows/executions/x/logs/execution.log".into()),
    }
}

#[test]
pub(super) fn the_place_of_a_run_survives_every_update() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    block_on(store.put_project(project(1))).unwrap();
    block_on(store.put_definition(definition(1, 1, "a"))).unwrap();
    let place = Place { run_id: Some("build-aaaaaa".into()), ..place(1, "main") };
    let mut held = Held::create_at(&store, 1, place.clone());
    held.commit(2_000, vec![note("on")]);
    block_on(store.rebuild(held.run)).unwrap();
    let run = block_on(open(&fixture.path()).run_detail(held.run)).unwrap().run;
    assert_eq!((run.project_id, run.workflow_def_id), (place.project, place.definition));
    assert_eq!(
        (run.definition_version, run.run_id),
        (place.definition_version, "build-aaaaaa".into())
    );
    assert_eq!((run.worktree_id, run.work_dir), (place.worktree_id, place.work_dir));
    assert_eq!((run.workspace_dir, run.workspace_id), (place.workspace_dir, place.workspace_id));
    assert_eq!((run.context_dir, run.branch_name), (place.context_dir, place.branch_name));
    assert_eq!(run.log_file_path, place.log_file_path);
    assert_eq!(run.input, Some(json!({ "number": "1" })));
    assert_eq!(
        (run.workflow.as_str(), run.created_at, run.updated_at.0),
        ("build", Timestamp(1_000), 2_000)
    );
}

#[test]
fn projects_and_definitions_are_read_back() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    block_on(store.put_project(project(2))).unwrap();
    block_on(store.put_project(project(1))).unwrap();
    assert_eq!(block_on(store.projects()).unwrap(), [project(1), project(2)]);
    let versions =
        ["a", "b", "a"].map(|hash| block_on(store.put_definition(definition(1, 1, hash))).unwrap());
    assert_eq!(versions, [1, 2, 1], "a hash keeps its version");
    let found = block_on(store.definitions(Some(Uuid::from_u128(1)))).unwrap();
    let new = definition(1, 1, "a");
    assert_eq!((found[0].id, found[0].project_id, found[0].version), (new.id, new.project, 1));
    assert_eq!((&found[0].name, &found[0].description), (&new.name, &new.description));
    assert_eq!(
        (&found[0].file_path, found[0].config.as_ref()),
        (&new.file_path, Some(&new.config))
    );
    assert_eq!((found[0].is_active, found[0].created_at), (true, new.at));
    assert!(block_on(store.definitions(Some(Uuid::from_u128(2)))).unwrap().is_empty());
    let versions = block_on(store.definition_versions(new.id)).unwrap();
    assert_eq!((versions[0].version, versions[0].hash.as_str()), (2, "b"));
    assert_eq!(
        (versions[1].source.as_str(), versions[1].author_version.as_deref()),
        ("export default a", Some("1.2"))
    );
    let other = NewDefinition { name: "other".into(), ..definition(1, 1, "a") };
    let taken = block_on(store.put_definition(other));
    let why = "workflow `build` in /code/1 has it".to_owned();
    assert_eq!(taken, Err(RecordError::InUse { what: format!("the id {}", new.id), why }));
    let unknown = block_on(store.put_definition(definition(1, 9, "a")));
    assert!(matches!(unknown, Err(RecordError::NotFound { .. })), "{unknown:?}");
}

#[test]
fn a_definition_that_is_there_just_so_is_not_written_again() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    block_on(store.put_project(project(1))).unwrap();
    let other = rusqlite::Connection::open(fixture.path()).unwrap();
    let version = || other.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0));
    let mut commits = version().unwrap();
    let mut writes = |definition: NewDefinition| {
        block_on(store.put_definition(definition)).unwrap();
        let before = std::mem::replace(&mut commits, version().unwrap());
        before != commits
    };
    let known = || definition(1, 1, "a");
    assert!(writes(known()));
    assert!(!writes(NewDefinition { at: Timestamp(9), ..known() }), "it was found once more");
    for other in [
        NewDefinition { is_active: false, ..known() },
        NewDefinition { config: json!({ "timeout": 6 }), ..known() },
        NewDefinition { description: None, ..known() },
        NewDefinition { file_path: None, ..known() },
        definition(1, 1, "b"),
        known(),
    ] {
        assert!(writes(other.clone()), "{other:?}");
    }
}

#[test]
fn a_workspace_is_written_by_whoever_has_seen_it_last() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    block_on(store.put_project(project(1))).unwrap();
    let workspace = Workspace {
        id: "w-1".into(),
        project_id: Some(Uuid::from_u128(1)),
        kind: "worktree".into(),
        status: WorkspaceState::Creating,
        path: "/cache/w-1".into(),
        branch: Some("agentos/w-1".into()),
        base: Some("abc".into()),
        detail: Some(json!({ "size": 1 })),
        version: 1,
        created_at: Timestamp(1),
        updated_at: Timestamp(1),
    };
    assert_eq!(block_on(store.put_workspace(workspace.clone(), 0)), Ok(1));
    assert_eq!(block_on(store.workspaces()).unwrap(), std::slice::from_ref(&workspace));
    assert_eq!(block_on(store.workspace(&workspace.id)).unwrap().as_ref(), Some(&workspace));
    assert_eq!(block_on(store.workspace_at(&workspace.path)).unwrap().as_ref(), Some(&workspace));
    assert_eq!(block_on(store.workspace("nobody's")).unwrap(), None);
    assert_eq!(block_on(store.workspace_at("/nowhere")).unwrap(), None);
    let late = block_on(store.put_workspace(workspace.clone(), 0));
    assert_eq!(late, Err(RecordError::Outdated { what: "workspace w-1".into(), current: 1 }));
    for (expected, status) in (1..).zip(WorkspaceState::ALL) {
        let next = Workspace { status, ..workspace.clone() };
        assert_eq!(block_on(store.put_workspace(next, expected)), Ok(expected + 1));
        assert_eq!(block_on(store.workspaces()).unwrap()[0].status, status);
    }
    block_on(store.delete_project(Uuid::from_u128(1))).unwrap();
    assert_eq!(
        block_on(store.workspaces()).unwrap()[0].project_id,
        None,
        "the files are still there"
    );
    block_on(store.delete_workspace("w-1")).unwrap();
    assert!(block_on(store.workspaces()).unwrap().is_empty());
}

/// Runs 1 to 6: 1, 3 and 5 in project 1, the others in project 2; 1 to 4 have started, 1 and 2 have ended.
fn some_runs(store: &SqliteStore) {
    for number in [1, 2] {
        block_on(store.put_project(project(number))).unwrap();
        block_on(store.put_definition(definition(number, number, "a"))).unwrap();
    }
    for number in 1..=6_u128 {
        let place = place(2 - number % 2, if number <= 3 { "main" } else { "feature" });
        let mut held = Held::create_at(store, number, place);
        if number <= 4 {
            held.commit(2_000 + i64::try_from(number).unwrap(), vec![note("begins")]);
        }
        if number <= 2 {
            held.end(9_000);
        }
    }
}

fn shown(store: &SqliteStore, query: RunQuery) -> Vec<u128> {
    let listing = block_on(store.query_runs(query)).unwrap();
    listing.runs.iter().map(|run| run.id.0.as_u128()).collect()
}

#[test]
fn a_listing_shows_what_was_asked_for() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    some_runs(&store);
    let all = RunQuery::default;
    assert_eq!(shown(&store, all()), [6, 5, 4, 3, 2, 1], "what has not started is newest");
    assert_eq!(shown(&store, RunQuery { sort: Sort::OldestFirst, ..all() }), [1, 2, 3, 4, 5, 6]);
    let statuses = vec![WorkflowStatus::Pending, WorkflowStatus::Completed];
    assert_eq!(shown(&store, RunQuery { statuses, ..all() }), [6, 5, 2, 1]);
    let projects = vec![Uuid::from_u128(1)];
    assert_eq!(shown(&store, RunQuery { projects: projects.clone(), ..all() }), [5, 3, 1]);
    let several = [1, 2, 3].map(Uuid::from_u128).to_vec();
    assert_eq!(shown(&store, RunQuery { projects: several, ..all() }).len(), 6);
    assert_eq!(shown(&store, RunQuery { worktree: Some("feature".into()), ..all() }), [6, 5, 4]);
    assert_eq!(shown(&store, RunQuery { since: Some(Timestamp(2_003)), ..all() }), [6, 5, 4, 3]);
    assert_eq!(shown(&store, RunQuery { workflow: Some("build".into()), ..all() }).len(), 6);
    let workflow = Some(Uuid::from_u128(102).to_string());
    assert_eq!(shown(&store, RunQuery { workflow, ..all() }), [6, 4, 2]);
    assert_eq!(shown(&store, RunQuery { text: Some("FEATURE".into()), ..all() }), [6, 5, 4]);
    assert_eq!(shown(&store, RunQuery { text: Some("000000000005".into()), ..all() }), [5]);
    assert!(shown(&store, RunQuery { text: Some("%".into()), ..all() }).is_empty(), "no pattern");
    let both = RunQuery {
        projects,
        worktree: Some("main".into()),
        statuses: vec![WorkflowStatus::Running],
        ..all()
    };
    assert_eq!(shown(&store, both), [3]);
    let counts = block_on(store.count_runs()).unwrap();
    assert_eq!(
        counts.into_iter().collect::<Vec<_>>(),
        [
            (WorkflowStatus::Pending, 2),
            (WorkflowStatus::Running, 2),
            (WorkflowStatus::Completed, 2),
        ]
    );
}

#[test]
fn pages_show_every_run_once_whatever_is_added_meanwhile() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    some_runs(&store);
    for sort in [Sort::LatestFirst, Sort::OldestFirst] {
        let mut seen = Vec::new();
        let mut paging = Paging::Page(1);
        loop {
            let query =
                RunQuery { paging, limit: 2, sort, with_total: true, ..RunQuery::default() };
            let page = block_on(store.query_runs(query)).unwrap();
            seen.extend(page.runs.iter().map(|run| run.id.0.as_u128()).filter(|id| *id <= 6));
            assert!(page.total.unwrap() >= 6);
            let added = 100 + seen.len() as u128 + if sort == Sort::LatestFirst { 0 } else { 50 };
            drop(Held::create(&store, added));
            match page.next {
                Some(next) if seen.len() < 6 => paging = Paging::After(next),
                _ => break,
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 3, 4, 5, 6], "{sort:?}");
    }
    let second = RunQuery { paging: Paging::Page(2), limit: 4, ..RunQuery::default() };
    assert_eq!(shown(&store, second).len(), 4);
    let foreign = [
        "nobody's", "", "s", "s1", "s1.", "s.1", "s1.999", "s-1.-1", "s1.0", "s+1.+1", "s01.1",
        "r1",
    ];
    for cursor in foreign.map(|text| RunCursor(text.into())) {
        let query = RunQuery { paging: Paging::After(cursor.clone()), ..RunQuery::default() };
        assert_eq!(block_on(store.query_runs(query)), Err(ListError::Cursor { cursor }));
    }
    for cursor in ["r+1", "r01", "r999", "s1.1"].map(|text| RunCursor(text.into())) {
        let listed = block_on(store.list_runs(RunFilter::default(), Some(cursor.clone()), 1));
        assert_eq!(listed, Err(ListError::Cursor { cursor }));
    }
}

#[test]
fn a_run_is_found_by_any_of_its_names() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    for (number, name) in [(1, "build-abcdef"), (2, "build-abcxyz")] {
        let place = Place { run_id: Some(name.into()), ..Place::default() };
        drop(Held::create_at(&store, number << 100, place));
    }
    let first = run_id(1 << 100);
    for name in [first.to_string(), "build-abcdef".into(), "build-abcd".into(), "00000010".into()] {
        assert_eq!(block_on(store.find_run(&name)), Ok(first), "{name}");
    }
    let in_hex = run_id(0xabc << 100);
    let place = Place { run_id: Some("deploy-abcdef".into()), ..Place::default() };
    drop(Held::create_at(&store, in_hex.0.as_u128(), place));
    for name in [in_hex.to_string().to_uppercase(), "0000ABC0".into(), "0000abC".into()] {
        assert_eq!(block_on(store.find_run(&name)), Ok(in_hex), "{name}");
    }
    let both = block_on(store.find_run("build-abc"));
    assert!(
        matches!(both, Err(RecordError::Ambiguous { candidates, .. }) if candidates.len() == 2)
    );
    for name in ["", "c", "build-abcdefg", "%"] {
        let none = block_on(store.find_run(name));
        assert!(matches!(none, Err(RecordError::NotFound { .. })), "{name}: {none:?}");
    }
}

#[test]
fn a_run_whose_owner_is_dead_is_shown_as_interrupted() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let held = Held::create(&store, 1);
    assert!(!block_on(store.run_detail(held.run)).unwrap().run.interrupted);
    let run = held.run;
    drop(held);
    assert!(block_on(store.run_detail(run)).unwrap().run.interrupted);
}

#[test]
fn runs_get_names_of_their_own() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let taken = Place { run_id: Some("build-abcdef".into()), ..Place::default() };
    for number in 1..=20 {
        drop(Held::create_at(&store, number, taken.clone()));
    }
    let listing = block_on(store.query_runs(RunQuery::default())).unwrap();
    for run in &listing.runs {
        assert_eq!(run.run_id.len(), "build-abcdef".len());
        assert_eq!(block_on(store.find_run(&run.run_id)), Ok(run.id));
    }
}

#[test]
fn what_is_asked_often_is_found_by_an_index() {
    let fixture = SqliteFixture::new();
    let _store = open(&fixture.path());
    let connection = rusqlite::Connection::open(fixture.path()).unwrap();
    for (sql, index) in [
        (
            "SELECT key FROM workflow_runs r WHERE r.standing = 0 AND r.standing < 2",
            "workflow_runs_open",
        ),
        (
            "SELECT key FROM workflow_runs r WHERE r.standing = 1 AND r.messages > 0",
            "workflow_runs_heard",
        ),
        ("SELECT key FROM workflow_runs r WHERE r.project_id = 1", "workflow_runs_of_project"),
        (
            "SELECT key FROM workflow_runs r WHERE r.workflow_def_id = 1",
            "workflow_runs_of_definition",
        ),
        // However few are wanted: sorting would begin with reading them all.
        (
            "SELECT * FROM workflow_runs r \
             ORDER BY coalesce(r.started_at, 9223372036854775807) DESC, r.id DESC LIMIT 2",
            "workflow_runs_by_start",
        ),
        (
            "SELECT * FROM workflow_runs r WHERE r.status = 'FAILED' \
             ORDER BY coalesce(r.started_at, 9223372036854775807), r.id LIMIT 2",
            "workflow_runs_by_status",
        ),
        ("SELECT key FROM workflow_comments WHERE step_id = 1", "workflow_comments_of_step"),
        ("SELECT chunk FROM run_log WHERE run = 1 AND first >= 5 ORDER BY first", "run_log_of_run"),
    ] {
        let plan: Vec<String> = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap()
            .query_map((), |row| row.get(3))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(plan.iter().any(|line| line.contains(index)), "{sql}: {plan:?}");
        assert!(!plan.iter().any(|line| line.contains("TEMP B-TREE")), "{sql}: {plan:?}");
    }
}
