//! Rows of a run that goes on under another source, and of one that begins with a history.

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, RunStarted};
use agentos_core::id::Seq;
use agentos_core::time::Timestamp;
use agentos_store::conformance::block_on;
use agentos_store::place::Place;
use agentos_store::projection::{StepStatus, WaitKind, WorkflowStatus};
use agentos_store::records::{NewComment, Records as _, RunDetail, RunQuery};
use agentos_store::run::{History, NewRun};
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use serde_json::{Value, json};
use uuid::Uuid;

use super::fixture::{SqliteFixture, open};
use super::given::{Held, WORKING, name, new_run, recorded_logs, replay, run_id};
use super::records::{definition, project};
use super::rows::{blobs, detail, entries, retry};

/// A step with an agent's session, an artifact and a remark in it; `number` is the step's.
fn plan(number: u32) -> Vec<Value> {
    vec![
        json!({ "kind": "step.requested", "step": "/plan#1", "number": number, "retry": retry() }),
        json!({ "kind": "attempt.started", "scope": "/plan#1@1" }),
        json!({ "kind": "operation.ordered", "operation": "/plan#1@1/agent:think#1", "args": { "agent": "claude" } }),
        json!({ "kind": "operation.started", "operation": "/plan#1@1/agent:think#1", "try": 1,
                "detail": { "session_id": "s-1" } }),
        json!({ "kind": "operation.ordered", "operation": "/plan#1@1/artifact:report#1", "args": {} }),
        json!({ "kind": "operation.ended", "operation": "/plan#1@1/artifact:report#1", "result": { "status": "ok",
                "value": { "storage_path": "p", "session_id": "s-1" } } }),
        json!({ "kind": "comment.added", "operation": "/plan#1@1/comment:comment#1", "on": "step", "message": "m" }),
    ]
}

fn inserted() -> Vec<Value> {
    vec![
        json!({ "kind": "operation.ordered", "operation": "/shell:lint#1", "number": 1, "args": {} }),
        json!({ "kind": "operation.ended", "operation": "/shell:lint#1",
                "result": { "status": "ok", "value": 1 } }),
    ]
}

fn switched(definition: &str) -> Value {
    json!({ "kind": "source.switched", "definition": definition })
}

/// A switch under which steps keep their numbers, as switches are recorded today.
fn moved(definition: &str) -> Value {
    json!({ "kind": "source.switched", "definition": definition, "keeps_numbers": true })
}

fn started(run: agentos_core::id::RunId) -> Value {
    let mut started = serde_json::to_value(RunStarted::new(run, name("build"))).unwrap();
    started["kind"] = json!("run.started");
    started
}

/// What a person says about the first step.
fn remark_of_ada(run: agentos_core::id::RunId) -> NewComment {
    NewComment {
        id: Uuid::from_u128(1),
        run,
        step: Some(1),
        message: "why?".into(),
        metadata: None,
        author: "ada".into(),
        at: Timestamp(2_500),
    }
}

/// That the first step ends, with its session.
fn planned(output: &str) -> Vec<Value> {
    vec![
        json!({ "kind": "operation.ended", "operation": "/plan#1@1/agent:think#1", "result": { "status": "ok",
                "value": { "cost_usd": 0.5, "input_tokens": 7 } } }),
        json!({ "kind": "step.ended", "step": "/plan#1", "outcome": { "status": "completed", "output": output } }),
    ]
}

/// That what the first step asks for was answered before, and when, if that is told.
fn kept(times: Option<(i64, i64)>) -> Value {
    let results = [
        ("/plan#1@1/agent:think#1", json!({ "cost_usd": 0.5, "input_tokens": 7 })),
        ("/plan#1@1/artifact:report#1", json!({ "storage_path": "p", "session_id": "s-1" })),
    ];
    let answers = results.map(|(operation, value)| {
        let mut kept =
            json!({ "operation": operation, "result": { "status": "ok", "value": value } });
        if let Some((asked_at, answered_at)) = times {
            kept["times"] = json!({ "asked_at": asked_at, "answered_at": answered_at });
        }
        kept
    });
    json!({ "kind": "answers.kept", "answers": answers })
}

fn rebased() -> Value {
    json!({ "kind": "run.rebased", "away_ms": 0 })
}

/// When the first step and its session began and ended, and how long they took.
fn times(run: &RunDetail) -> [(Option<i64>, Option<i64>, Option<i64>); 2] {
    let at = |time: Option<Timestamp>| time.map(|at| at.0);
    let (step, session) = (&run.steps[0], &run.agent_sessions[0]);
    [
        (at(step.started_at), at(step.completed_at), step.duration),
        (at(session.started_at), at(session.completed_at), session.duration),
    ]
}

/// The ids of everything that has one, but for the step that was inserted.
fn ids(run: &RunDetail) -> Vec<Uuid> {
    let steps = run.steps.iter().filter(|step| step.name == "plan").map(|step| step.id);
    let comments = run.comments.iter().map(|comment| comment.id);
    let artifacts = run.artifacts.iter().map(|artifact| artifact.id);
    let sessions = run.agent_sessions.iter().map(|session| session.id);
    steps.chain(comments).chain(artifacts).chain(sessions).collect()
}

#[test]
fn what_is_the_same_under_another_source_keeps_its_id() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 10);
    held.commit(2_000, entries(&plan(1)));
    let before = detail(&store, held.run);
    held.commit(3_000, entries(&[switched("2")]));
    held.commit(1_000, entries(&[started(held.run)]));
    held.commit(2_000, entries(&[inserted(), plan(2)].concat()));
    let after = detail(&store, held.run);
    assert_eq!(after.steps.iter().map(|step| step.step_number).collect::<Vec<_>>(), [1, 2]);
    let known = ids(&before);
    assert_eq!(known.len(), 4);
    assert_eq!(ids(&after), known);
    assert_ne!(after.steps[0].id, after.steps[1].id);
    assert_eq!(after.artifacts[0].agent_session_id, Some(after.agent_sessions[0].id));
    block_on(store.rebuild(held.run)).unwrap();
    assert_eq!(detail(&store, held.run), after);
}

#[test]
fn a_run_under_another_source_is_shown_as_if_it_had_always_had_it() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 10);
    let large = "x".repeat(5_000);
    held.commit(
        2_000,
        entries(&[
            json!({ "kind": "step.requested", "step": "/old#1", "number": 1, "retry": retry() }),
            json!({ "kind": "attempt.started", "scope": "/old#1@1" }),
            json!({ "kind": "operation.ordered", "operation": "/old#1@1/shell:x#1", "args": {} }),
            json!({ "kind": "operation.ordered", "operation": "/old#1@1/agent:a#1", "args": {} }),
            json!({ "kind": "operation.ordered", "operation": "/agent:of_no_step#1", "args": {} }),
            json!({ "kind": "state.written", "operation": "/old#1@1/set:a#1", "value": large }),
            json!({ "kind": "comment.added", "operation": "/comment:comment#1", "on": "run", "message": "old",
                    "meta": large }),
            json!({ "kind": "operation.ordered", "operation": "/approve:sure#1", "number": 2, "args": large }),
        ]),
    );
    assert_eq!(detail(&store, held.run).agent_sessions.len(), 2);
    assert_eq!(blobs(&fixture), 3);
    held.commit(
        3_000,
        entries(&[json!({ "kind": "source.switched", "definition": "2",
                          "abandoned": [{ "operation": "/old#1@1/shell:x#1", "try": 1 }] })]),
    );
    let between = detail(&store, held.run);
    assert!(between.steps.is_empty() && between.comments.is_empty());
    assert!(between.agent_sessions.is_empty() && between.artifacts.is_empty());
    assert_eq!((between.run.current_step, between.run.state), (None, None));
    assert_eq!((between.run.waiting, between.run.status), (None, WorkflowStatus::Running));
    assert_eq!(blobs(&fixture), 0);

    held.commit(
        1_000,
        entries(&[
            started(held.run),
            json!({ "kind": "answers.kept", "answers": [{ "operation": "/shell:later#1",
                    "result": { "status": "ok", "value": 5 } }] }),
            json!({ "kind": "body.kept", "step": "/done#1", "body": { "hash": "h" }, "retry": retry(), "acts": [
                { "by": { "attempt": "/done#1@1" }, "deed": { "deed": "wrote", "operation": "/done#1@1/set:b#1",
                  "value": 1 } }] }),
            json!({ "kind": "step.requested", "step": "/done#1", "number": 1, "retry": retry() }),
            json!({ "kind": "attempt.started", "scope": "/done#1@1" }),
            json!({ "kind": "state.written", "operation": "/done#1@1/set:b#1", "value": 1 }),
            json!({ "kind": "step.ended", "step": "/done#1", "outcome": { "status": "completed", "output": 7 } }),
        ]),
    );
    held.commit(
        1_500,
        entries(&[
            json!({ "kind": "operation.ordered", "operation": "/wait:go#1", "number": 2, "args": {}, "due": 9_000 }),
            json!({ "kind": "comment.added", "operation": "/comment:comment#1", "on": "run", "message": "new" }),
        ]),
    );
    let run = detail(&store, held.run);
    let shown: Vec<_> = run.steps.iter().map(|step| (step.name.as_str(), step.status)).collect();
    assert_eq!(shown, [("done", StepStatus::Completed), ("wait: go", StepStatus::Running)]);
    assert_eq!(run.steps[0].output, Some(json!(7)));
    assert_eq!(run.steps[0].completed_at, Some(Timestamp(1_000)), "steps keep their times");
    assert_eq!(run.run.state, Some(json!({ "b": 1 })));
    let waiting = run.run.waiting.as_ref().unwrap();
    assert_eq!((waiting.kind, waiting.since.0), (WaitKind::Signal, 1_500));
    assert_eq!(waiting.until, Some(Timestamp(9_000)));
    let messages: Vec<&str> = run.comments.iter().map(|comment| comment.message.as_str()).collect();
    assert_eq!(messages, ["new"]);
    assert_eq!(run.run.current_step.as_ref().unwrap().step_number, 2);
    assert_eq!(run.run.started_at, Some(Timestamp(2_000)), "somebody drove it then");
    assert_eq!(run.run.updated_at, Timestamp(3_000), "and it was last changed at the switch");
    block_on(store.rebuild(held.run)).unwrap();
    assert_eq!(detail(&store, held.run), run);
}

#[test]
fn what_another_source_does_not_ask_for_stays_with_what_belongs_to_it() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 10);
    let large = "x".repeat(5_000);
    held.commit(2_000, entries(&plan(1)));
    held.commit(2_400, entries(&planned(&large)));
    held.commit(
        2_500,
        entries(&[
            json!({ "kind": "step.requested", "step": "/build#1", "number": 2, "retry": retry() }),
            json!({ "kind": "attempt.started", "scope": "/build#1@1" }),
            json!({ "kind": "operation.ordered", "operation": "/build#1@1/agent:code#1", "args": {} }),
            json!({ "kind": "state.written", "operation": "/build#1@1/set:a#1", "value": large }),
        ]),
    );
    let before = detail(&store, held.run);
    assert_eq!(blobs(&fixture), 2, "the output of a step, and the state");
    block_on(store.add_comment(remark_of_ada(held.run))).unwrap();
    held.commit(3_000, entries(&[moved("2")]));
    held.commit(1_000, entries(&[started(held.run), kept(None)]));
    let shown = |run: &RunDetail| -> Vec<(u32, String, StepStatus, bool)> {
        let steps = run.steps.iter();
        steps.map(|s| (s.step_number, s.name.clone(), s.status, s.superseded)).collect()
    };
    let away = detail(&store, held.run);
    let done = (1, "plan".to_owned(), StepStatus::Completed, true);
    let stopped = (2, "build".to_owned(), StepStatus::Cancelled, true);
    assert_eq!(shown(&away), [done.clone(), stopped.clone()]);
    assert_eq!(away.steps[0].output, before.steps[0].output);
    assert_eq!(away.steps[1].completed_at, Some(Timestamp(3_000)));
    assert_eq!((away.comments.len(), away.artifacts.len(), away.agent_sessions.len()), (2, 1, 2));
    assert!(away.comments.iter().all(|comment| comment.step_id == Some(away.steps[0].id)));
    assert!(away.agent_sessions.iter().all(|session| session.superseded));
    assert_eq!(away.costs.cost_usd, Some(0.5));
    assert_eq!((away.run.state, away.run.current_step), (None, None));
    assert_eq!(blobs(&fixture), 1, "the state is written anew");
    // A new step takes the next number; the first comes back, and is as it was.
    held.commit(
        3_500,
        entries(&[
            json!({ "kind": "step.requested", "step": "/new#1", "number": 3, "retry": retry() }),
            json!({ "kind": "attempt.started", "scope": "/new#1@1" }),
        ]),
    );
    held.commit(3_600, entries(&[plan(1), planned(&large)].concat()));
    let after = detail(&store, held.run);
    let back = (1, "plan".to_owned(), StepStatus::Completed, false);
    let new = (3, "new".to_owned(), StepStatus::Running, false);
    assert_eq!(shown(&after), [back, stopped, new]);
    assert_eq!(ids(&after)[..1], ids(&before)[..1]);
    assert_eq!(after.steps[0].output, before.steps[0].output);
    assert_eq!(
        (after.comments.len(), after.artifacts.len(), after.agent_sessions.len()),
        (2, 1, 2)
    );
    assert_eq!(after.artifacts[0].step_id, Some(after.steps[0].id));
    assert_eq!(after.agent_sessions[0].id, before.agent_sessions[0].id);
    assert!(!after.agent_sessions[0].superseded && after.agent_sessions[1].superseded);
    assert_eq!(after.costs.cost_usd, Some(0.5), "it counts once");
    assert_eq!(blobs(&fixture), 1, "values that were replaced are gone");
    block_on(store.rebuild(held.run)).unwrap();
    assert_eq!(detail(&store, held.run), after);
}

/// A run that has planned from 2,000 to 4,032 and was moved at 5,000 to a source that did not ask for that so far.
fn planned_and_moved(store: &SqliteStore, known: Option<(i64, i64)>) -> Held {
    let mut held = Held::create(store, 10);
    held.commit(2_000, entries(&plan(1)));
    held.commit(4_032, entries(&planned("done")));
    held.commit(5_000, entries(&[moved("2")]));
    held.commit(1_000, entries(&[started(held.run), kept(known)]));
    held.commit(5_000, entries(&[rebased()]));
    held
}

const AS_IT_WAS: [(Option<i64>, Option<i64>, Option<i64>); 2] =
    [(Some(2_000), Some(4_032), Some(2_032)); 2];

#[test]
fn what_was_done_before_keeps_its_times_wherever_it_is_asked_for_again() {
    // Logs of earlier versions do not say when an answer that is kept came in.
    for known in [None, Some((2_000, 4_032))] {
        let fixture = SqliteFixture::new();
        let store = open(&fixture.path());
        let mut held = planned_and_moved(&store, known);
        let before = detail(&store, held.run);
        assert_eq!((before.steps[0].superseded, times(&before)), (true, AS_IT_WAS));
        let again = [plan(1), planned("done")].concat();
        held.commit(9_000, entries(&again));
        let live = detail(&store, held.run);
        assert_eq!((live.steps[0].superseded, times(&live)), (false, AS_IT_WAS), "{known:?}");
        assert_eq!(live.steps[0].created_at, before.steps[0].created_at);
        // Another source asks for it again, over the history. It has its answer from the beginning.
        held.commit(10_000, entries(&[moved("3")]));
        held.commit(1_000, entries(&[started(held.run), kept(known)]));
        held.commit(9_000, entries(&again));
        held.commit(10_000, entries(&[rebased()]));
        let replayed = detail(&store, held.run);
        assert_eq!((replayed.steps[0].superseded, times(&replayed)), (false, AS_IT_WAS));
        // A third one asks for it later than it was asked for at first, but before it was answered.
        held.commit(11_000, entries(&[moved("4")]));
        held.commit(3_000, entries(&[vec![started(held.run)], plan(1)].concat()));
        held.commit(4_032, entries(&planned("done")));
        held.commit(11_000, entries(&[rebased()]));
        let later = detail(&store, held.run);
        assert_eq!((later.steps[0].superseded, times(&later)), (false, AS_IT_WAS));
        block_on(store.rebuild(held.run)).unwrap();
        assert_eq!(detail(&store, held.run), later);
    }
}

#[test]
fn what_was_stopped_and_is_asked_for_again_begins_anew() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 10);
    held.commit(2_000, entries(&plan(1)));
    let mut switch = moved("2");
    switch["abandoned"] = json!([{ "operation": "/plan#1@1/agent:think#1", "try": 1 }]);
    held.commit(5_000, entries(&[switch]));
    held.commit(1_000, entries(&[started(held.run)]));
    held.commit(5_000, entries(&[rebased()]));
    held.commit(9_000, entries(&plan(1)));
    held.commit(9_500, entries(&planned("done")));
    let anew = [(Some(9_000), Some(9_500), Some(500)); 2];
    assert_eq!(times(&detail(&store, held.run)), anew);
}

#[test]
fn what_a_fork_has_from_another_run_and_asks_for_late_has_the_times_of_that() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let chunk = |first, at, list: &[Value]| Chunk::new(Seq(first), Timestamp(at), entries(list));
    let rest = vec![
        chunk(1, 1_000, &[kept(Some((2_000, 4_032)))]),
        chunk(2, 90_000, &[json!({ "kind": "run.rebased", "away_ms": 5 })]),
    ];
    let history = History { began: Timestamp(1_000), rest, standing: WORKING };
    let mut first = RunStarted::new(run_id(10), name("build"));
    first.forked_from = Some(run_id(9));
    let new = NewRun {
        at: Timestamp(90_000),
        first: Entry::RunStarted(first),
        history: Some(history),
        ..new_run(10, Place::default())
    };
    let mut held = Held::start(&store, new);
    held.commit(95_000, entries(&[plan(1), planned("done")].concat()));
    let fork = detail(&store, run_id(10));
    assert_eq!((times(&fork), fork.agent_sessions[0].inherited), (AS_IT_WAS, true));
    block_on(store.rebuild(run_id(10))).unwrap();
    assert_eq!(detail(&store, run_id(10)), fork);
}

#[test]
fn what_is_remarked_after_the_switch_is_another_remark_unless_its_step_was_done_before() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let remark = |number: u32| {
        json!({ "kind": "comment.added", "operation": format!("/comment:comment#{number}"), "on": "run",
                "message": "checked: ok" })
    };
    let mut held = Held::create(&store, 10);
    held.commit(1_500, entries(&[remark(1)]));
    held.commit(2_000, entries(&plan(1)));
    held.commit(4_032, entries(&planned("done")));
    let said = |run: &RunDetail| -> Vec<(String, i64)> {
        run.comments.iter().map(|it| (it.message.clone(), it.created_at.0)).collect()
    };
    let expect = |remarks: &[(&str, i64)]| -> Vec<(String, i64)> {
        remarks.iter().map(|(text, at)| ((*text).to_owned(), *at)).collect()
    };
    held.commit(5_000, entries(&[moved("2")]));
    held.commit(1_000, entries(&[started(held.run), kept(None)]));
    held.commit(5_000, entries(&[rebased()]));
    held.commit(9_000, entries(&[vec![remark(1)], plan(1), planned("done")].concat()));
    let first = expect(&[("checked: ok", 1_500), ("m", 2_000), ("checked: ok", 9_000)]);
    assert_eq!(said(&detail(&store, held.run)), first);
    // What is said over the history is what was said then.
    held.commit(10_000, entries(&[moved("3")]));
    held.commit(1_000, entries(&[started(held.run), kept(None), remark(1)]));
    held.commit(10_000, entries(&[rebased()]));
    assert_eq!(said(&detail(&store, held.run)), first);
    held.commit(11_000, entries(&[remark(2)]));
    let run = detail(&store, held.run);
    assert_eq!(said(&run)[3..], expect(&[("checked: ok", 11_000)]));
    block_on(store.rebuild(held.run)).unwrap();
    assert_eq!(detail(&store, held.run), run);
}

#[test]
fn sessions_of_the_run_that_a_fork_was_made_of_are_inherited_and_count_once() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let session = |name: &str| {
        json!({ "kind": "operation.ordered", "operation": format!("/agent:{name}#1"), "args": {},
                "number": if name == "paid" { 1 } else { 2 } })
    };
    let ended = |name: &str| {
        json!({ "kind": "operation.ended", "operation": format!("/agent:{name}#1"), "result": { "status": "ok",
                "value": { "cost_usd": 0.25, "input_tokens": 10, "output_tokens": 1 } } })
    };
    let chunk = |first, at, list: &[Value]| Chunk::new(Seq(first), Timestamp(at), entries(list));
    let kept = json!({ "kind": "answers.kept", "answers": [{ "operation": "/agent:late#1", "result": { "status": "ok",
        "value": { "cost_usd": 0.25 } } }] });
    let rest = vec![
        chunk(1, 1_000, &[kept]),
        chunk(2, 2_000, &[session("paid"), ended("paid"), session("redone")]),
        chunk(5, 90_000, &[json!({ "kind": "run.rebased", "away_ms": 5 })]),
    ];
    let history = History { began: Timestamp(1_000), rest, standing: WORKING };
    let mut first = RunStarted::new(run_id(10), name("build"));
    first.forked_from = Some(run_id(9));
    let new = NewRun {
        at: Timestamp(90_000),
        first: Entry::RunStarted(first),
        history: Some(history),
        ..new_run(10, Place::default())
    };
    let mut held = Held::start(&store, new);
    let late = json!({ "kind": "operation.ordered", "operation": "/agent:late#1", "args": {}, "number": 3 });
    held.commit(95_000, entries(&[ended("redone"), late, ended("late")]));
    let fork = detail(&store, run_id(10));
    let sessions: Vec<(&str, bool, i64, Option<i64>)> = fork
        .agent_sessions
        .iter()
        .map(|s| (s.name.as_str(), s.inherited, s.started_at.map_or(0, |at| at.0), s.duration))
        .collect();
    assert_eq!(
        sessions,
        [
            ("paid", true, 2_000, Some(0)),
            ("redone", false, 90_000, Some(5_000)),
            ("late", true, 95_000, Some(0))
        ]
    );
    assert_eq!((fork.costs.cost_usd, fork.costs.inherited_cost_usd), (Some(0.25), Some(0.5)));
    let figures = block_on(store.figures()).unwrap();
    assert_eq!((figures.cost_usd, figures.tokens), (0.25, (10, 1, 0)));
    block_on(store.rebuild(run_id(10))).unwrap();
    assert_eq!(detail(&store, run_id(10)), fork);
    // Under another source they are what they were.
    held.commit(96_000, entries(&[moved("2")]));
    held.commit(90_000, entries(&[started(held.run), session("paid"), ended("paid")]));
    let after = detail(&store, run_id(10));
    let inherited: Vec<bool> = after.agent_sessions.iter().map(|s| s.inherited).collect();
    assert_eq!(inherited, [true, false, true]);
    assert_eq!(after.costs, fork.costs);
}

#[test]
fn a_recorded_switch_does_not_make_a_run_look_older() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let (_, log) = recorded_logs().into_iter().find(|(name, _)| name == "left-behind").unwrap();
    let run = detail(&store, replay(&store, &log[..4])).run;
    assert_eq!(run.updated_at, log[2].at);
}

#[test]
fn the_version_of_a_run_is_that_of_its_source() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    block_on(store.put_project(project(1))).unwrap();
    for hash in ["a", "b"] {
        block_on(store.put_definition(definition(1, 1, hash))).unwrap();
    }
    let place = Place {
        project: Some(Uuid::from_u128(1)),
        definition: Some(Uuid::from_u128(101)),
        definition_version: Some(1),
        ..Place::default()
    };
    let mut held = Held::create_at(&store, 10, place);
    for (hash, version) in [("b", Some(2)), ("nobody's", None), ("a", Some(1))] {
        held.commit(3_000, entries(&[switched(hash), started(held.run)]));
        let run = detail(&store, held.run).run;
        assert_eq!((run.definition_hash.as_str(), run.definition_version), (hash, version));
    }
}

#[test]
fn what_people_remark_stays_on_its_step() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 10);
    held.commit(2_000, entries(&plan(1)));
    block_on(store.add_comment(remark_of_ada(held.run))).unwrap();
    let of_ada = |run: &RunDetail| {
        let comment = run.comments.iter().find(|comment| comment.author.is_some()).unwrap();
        comment.step_id
    };
    let before = detail(&store, held.run);
    assert_eq!(of_ada(&before), Some(before.steps[0].id));
    block_on(store.rebuild(held.run)).unwrap();
    assert_eq!(detail(&store, held.run), before);

    held.commit(3_000, entries(&[switched("2"), started(held.run)]));
    assert_eq!(of_ada(&detail(&store, held.run)), None, "its step is not there");
    held.commit(3_000, entries(&[inserted(), plan(2)].concat()));
    let after = detail(&store, held.run);
    assert_eq!(of_ada(&after), Some(after.steps[1].id), "it is there again, as the second");
    assert_eq!(after.steps[1].id, before.steps[0].id);
}

#[test]
fn a_fork_begins_when_it_is_created() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut other = Held::create(&store, 1);
    other.commit(50_000, entries(&inserted()));
    let chunk = |first, at, list: &[Value]| Chunk::new(Seq(first), Timestamp(at), entries(list));
    let rest = vec![chunk(1, 2_000, &inserted()), chunk(3, 90_000, &plan(2))];
    let history = History { began: Timestamp(1_000), rest, standing: WORKING };
    let mut first = RunStarted::new(run_id(2), name("build"));
    first.forked_from = Some(run_id(9));
    let new = NewRun {
        at: Timestamp(90_000),
        first: Entry::RunStarted(first),
        history: Some(history),
        ..new_run(2, Place::default())
    };
    block_on(store.create_run(new)).unwrap();
    let fork = detail(&store, run_id(2));
    assert_eq!((fork.run.created_at.0, fork.run.started_at.unwrap().0), (90_000, 90_000));
    assert_eq!(fork.run.updated_at.0, 90_000);
    assert_eq!(fork.steps[0].started_at, Some(Timestamp(2_000)), "its work is older");
    let listed = |since| {
        let query = RunQuery { since, ..RunQuery::default() };
        let page = block_on(store.query_runs(query)).unwrap();
        page.runs.iter().map(|run| run.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(None), [run_id(2), run_id(1)]);
    assert_eq!(listed(Some(Timestamp(80_000))), [run_id(2)]);
    block_on(store.rebuild(run_id(2))).unwrap();
    assert_eq!(detail(&store, run_id(2)), fork);
    let log = block_on(store.load_log(run_id(2), Seq(0), 1)).unwrap();
    assert_eq!(log[0].at, Timestamp(1_000), "the log itself never goes back in time");
}
