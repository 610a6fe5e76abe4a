//! Rows follow from the log: what a commit makes of them, and that they can be made again.

use agentos_core::codec::Chunk;
use agentos_core::entry::Entry;
use agentos_core::id::{RunId, Seq};
use agentos_store::conformance::block_on;
use agentos_store::log::load_whole_log;
use agentos_store::projection::{SessionStatus, StepStatus, WaitKind, WorkflowStatus};
use agentos_store::records::{NewComment, RecordError, Records as _, RunDetail};
use agentos_store::sqlite::SqliteStore;
use serde_json::{Value, json};
use uuid::Uuid;

use super::fixture::{SqliteFixture, open};
use super::given::{Held, entry, recorded_logs, replay};

pub(super) fn detail(store: &SqliteStore, run: RunId) -> RunDetail {
    block_on(store.run_detail(run)).unwrap()
}

#[test]
fn rows_made_again_are_the_rows_that_were_kept() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    for (name, log) in recorded_logs() {
        let run = replay(&store, &log);
        let kept = detail(&store, run);
        block_on(store.rebuild(run)).unwrap();
        assert_eq!(detail(&store, run), kept, "{name}");
        block_on(store.delete_run(run)).ok();
    }
}

#[test]
fn rows_do_not_depend_on_who_commits() {
    for (name, log) in recorded_logs() {
        let (alone, changing) = (SqliteFixture::new(), SqliteFixture::new());
        let store = open(&alone.path());
        let run = replay(&store, &log);
        // Every chunk by a process that has never seen the run before.
        let other = open(&changing.path());
        replay(&other, &log[..1]);
        for chunk in &log[1..] {
            let fresh = open(&changing.path());
            Held::claim(&fresh, run).commit(chunk.at.0, chunk.entries.clone());
        }
        assert_eq!(detail(&store, run).steps, detail(&other, run).steps, "{name}");
        assert_eq!(detail(&store, run).run.waiting, detail(&other, run).run.waiting, "{name}");
    }
}

#[test]
fn every_step_of_a_finished_run_has_ended() {
    for (name, log) in recorded_logs() {
        // The same run may have been recorded more than once.
        let fixture = SqliteFixture::new();
        let store = open(&fixture.path());
        let run = detail(&store, replay(&store, &log));
        let numbers: Vec<u32> = run.steps.iter().map(|step| step.step_number).collect();
        assert_eq!(numbers, (1..=run.steps.len() as u32).collect::<Vec<_>>(), "{name}");
        if run.run.completed_at.is_some() {
            for step in &run.steps {
                assert!(step.completed_at.is_some(), "{name}: {step:?}");
            }
        }
        let log = block_on(load_whole_log(&store, run.run.id)).unwrap();
        let entries: usize = log.iter().map(|chunk: &Chunk| chunk.entries.len()).sum();
        assert_eq!(run.run.seq, entries as u64);
    }
}

pub(super) fn retry() -> Value {
    json!({ "max_attempts": 3, "backoff": "fixed", "delay_ms": 10, "max_delay_ms": 10, "jitter": false })
}

pub(super) fn entries(list: &[Value]) -> Vec<Entry> {
    list.iter().map(entry).collect()
}

/// How many values stand apart from their rows.
pub(super) fn blobs(fixture: &SqliteFixture) -> i64 {
    let connection = rusqlite::Connection::open(fixture.path()).unwrap();
    connection.query_row("SELECT count(*) FROM blobs", (), |row| row.get(0)).unwrap()
}

#[test]
fn a_step_is_shown_through_its_attempts() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 7);
    let pending = detail(&store, held.run).run;
    assert_eq!((pending.status, pending.started_at), (WorkflowStatus::Pending, None));

    held.commit(
        2_000,
        entries(&[
            json!({ "kind": "step.requested", "step": "/test#1", "number": 1, "retry": retry() }),
            json!({ "kind": "attempt.started", "scope": "/test#1@1" }),
            json!({ "kind": "operation.ordered", "operation": "/test#1@1/shell:cargo#1", "args": {} }),
        ]),
    );
    let run = detail(&store, held.run);
    assert_eq!(run.run.status, WorkflowStatus::Running);
    let step = &run.steps[0];
    assert_eq!((step.status, step.attempt_number, step.max_attempts), (StepStatus::Running, 1, 3));
    assert_eq!(run.run.current_step.as_ref().unwrap().id, step.id);
    assert_eq!(run.run.waiting, None, "a command runs");

    let failure = json!({ "kind": "error", "message": "red" });
    held.commit(
        3_000,
        entries(&[
            json!({ "kind": "operation.ended", "operation": "/test#1@1/shell:cargo#1",
                    "result": { "status": "failed", "failure": failure } }),
            json!({ "kind": "attempt.failed", "scope": "/test#1@1", "failure": failure, "retry_at": 3_010 }),
        ]),
    );
    let run = detail(&store, held.run);
    assert_eq!(run.steps[0].status, StepStatus::Retrying);
    assert_eq!(run.steps[0].error, Some(failure));
    let waiting = run.run.waiting.unwrap();
    assert_eq!((waiting.kind, waiting.until.unwrap().0), (WaitKind::Retry, 3_010));

    held.commit(
        3_020,
        entries(&[
            json!({ "kind": "attempt.started", "scope": "/test#1@2" }),
            json!({ "kind": "state.written", "operation": "/test#1@2/set:green#1", "value": true }),
            json!({ "kind": "comment.added", "operation": "/test#1@2/comment:comment#1", "on": "step",
                    "message": "again" }),
            json!({ "kind": "step.ended", "step": "/test#1",
                    "outcome": { "status": "completed", "output": [1] } }),
        ]),
    );
    held.end(3_030);
    let run = detail(&store, held.run);
    let step = &run.steps[0];
    assert_eq!((step.status, step.attempt_number), (StepStatus::Completed, 2));
    assert_eq!((step.output.clone(), step.error.clone()), (Some(json!([1])), None));
    assert_eq!((step.started_at.unwrap().0, step.duration), (2_000, Some(1_020)));
    let log_file = format!(".agent/workflows/executions/{}/logs/step-1-test.log", held.run);
    assert_eq!(step.log_file_path, Some(log_file));
    assert_eq!(run.comments[0].step_id, Some(step.id));
    assert_eq!(run.run.state, Some(json!({ "green": true })));
    assert_eq!((run.run.status, run.run.output), (WorkflowStatus::Completed, Some(json!("done"))));
    assert_eq!((run.run.started_at.unwrap().0, run.run.duration), (2_000, Some(1_030)));
    assert_eq!(run.run.waiting, None);
}

#[test]
fn sessions_artifacts_and_branches_are_shown() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 8);
    held.commit(
        2_000,
        entries(&[
            json!({ "kind": "step.requested", "step": "/plan#1", "number": 1, "retry": retry() }),
            json!({ "kind": "attempt.started", "scope": "/plan#1@1" }),
            json!({ "kind": "operation.ordered", "operation": "/plan#1@1/agent:think#1",
                    "args": { "agent": "claude", "prompt": "…" } }),
            json!({ "kind": "operation.ordered", "operation": "/git:ensureBranch#1", "number": 2, "args": {} }),
            json!({ "kind": "operation.ordered", "operation": "/artifact:report#1", "number": 3,
                    "args": { "type": "TEST_REPORT", "file": "out.xml" } }),
        ]),
    );
    held.commit(
        2_500,
        entries(&[
            json!({ "kind": "operation.started", "operation": "/plan#1@1/agent:think#1", "try": 1,
                          "detail": { "session_id": "s-1", "model": "m" } }),
        ]),
    );
    let running = detail(&store, held.run);
    assert_eq!(running.agent_sessions[0].status, SessionStatus::Running);
    held.commit(
        4_000,
        entries(&[
            json!({ "kind": "operation.ended", "operation": "/plan#1@1/agent:think#1", "result": { "status": "ok",
                "value": { "input_tokens": 10, "output_tokens": 20, "cost_usd": 0.5, "exit_code": 0,
                           "session_file_path": "context/think.jsonl" } } }),
            json!({ "kind": "operation.ended", "operation": "/git:ensureBranch#1", "result": { "status": "ok",
                "value": { "branch": "agentos/x", "commit_sha": "abc", "pr_url": "http://pr" } } }),
            json!({ "kind": "operation.ended", "operation": "/artifact:report#1", "result": { "status": "ok",
                "value": { "storage_path": ".agent/out.xml", "size_bytes": 12, "mime_type": "text/xml" } } }),
        ]),
    );
    let run = detail(&store, held.run);
    let session = &run.agent_sessions[0];
    assert_eq!((session.name.as_str(), session.agent.as_deref()), ("think", Some("claude")));
    assert_eq!((session.session_id.as_deref(), session.model.as_deref()), (Some("s-1"), Some("m")));
    assert_eq!((session.input_tokens, session.output_tokens), (Some(10), Some(20)));
    assert_eq!(
        (session.cost_usd, session.exit_code, session.duration),
        (Some(0.5), Some(0), Some(2_000))
    );
    assert_eq!(session.session_file_path.as_deref(), Some("context/think.jsonl"));
    assert_eq!(
        (session.status, session.workflow_step_id),
        (SessionStatus::Completed, Some(run.steps[0].id))
    );
    let artifact = &run.artifacts[0];
    assert_eq!((artifact.name.as_str(), artifact.r#type.as_str()), ("report", "TEST_REPORT"));
    assert_eq!((artifact.storage_path.as_str(), artifact.size_bytes), (".agent/out.xml", Some(12)));
    assert_eq!(
        (artifact.step_id, artifact.storage_type.as_str()),
        (Some(run.steps[2].id), "FILESYSTEM")
    );
    assert_eq!(run.run.branch_name.as_deref(), Some("agentos/x"));
    assert_eq!(
        (run.run.commit_sha.as_deref(), run.run.pr_url.as_deref()),
        (Some("abc"), Some("http://pr"))
    );
    block_on(store.rebuild(held.run)).unwrap();
    assert_eq!(detail(&store, held.run), run);
}

#[test]
fn a_large_value_stands_apart_and_is_read_back() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 9);
    let large = Value::String("𝄞\u{0}é".repeat(100_000));
    held.commit(
        2_000,
        entries(&[
            json!({ "kind": "state.written", "operation": "/set:large#1", "value": large }),
            json!({ "kind": "operation.ordered", "operation": "/shell:x#1", "number": 1, "args": { "in": large } }),
            json!({ "kind": "operation.ended", "operation": "/shell:x#1",
                    "result": { "status": "ok", "value": large } }),
        ]),
    );
    held.commit(
        2_001,
        entries(&[
            json!({ "kind": "state.written", "operation": "/set:small#1", "value": "\u{0}" }),
        ]),
    );
    let run = detail(&store, held.run);
    assert_eq!(run.run.state, Some(json!({ "large": large, "small": "\u{0}" })));
    assert_eq!(run.steps[0].input, Some(json!({ "in": large })));
    assert_eq!(run.steps[0].output.as_ref(), Some(&large));
    block_on(store.rebuild(held.run)).unwrap();
    assert_eq!(detail(&store, held.run), run);
}

#[test]
fn what_people_remark_survives_making_the_rows_again() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 10);
    held.end(2_000);
    let remark = NewComment {
        id: Uuid::from_u128(1),
        run: held.run,
        step: None,
        message: "well done".into(),
        metadata: Some(json!({ "from": "review" })),
        author: "ada".into(),
        at: agentos_core::time::Timestamp(3_000),
    };
    block_on(store.add_comment(remark.clone())).unwrap();
    block_on(store.rebuild(held.run)).unwrap();
    let comments = detail(&store, held.run).comments;
    assert_eq!(comments[0].author.as_deref(), Some("ada"));
    assert_eq!(comments[0].metadata, remark.metadata);
    let nowhere = NewComment { id: Uuid::from_u128(2), step: Some(1), ..remark };
    assert!(block_on(store.add_comment(nowhere)).is_err());
    assert_eq!(held.head, Seq(2), "a remark is no entry");
}

#[test]
fn a_value_that_is_replaced_is_not_kept() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 11);
    let large = "x".repeat(5_000);
    let failure = json!({ "kind": "error", "message": large });
    held.commit(
        2_000,
        entries(&[
            json!({ "kind": "step.requested", "step": "/test#1", "number": 1, "retry": retry() }),
        ]),
    );
    for attempt in 1..=5 {
        let scope = format!("/test#1@{attempt}");
        held.commit(2_000, entries(&[json!({ "kind": "attempt.started", "scope": scope })]));
        assert_eq!(blobs(&fixture), i64::from(attempt > 1), "the state");
        held.commit(
            2_000,
            entries(&[
                json!({ "kind": "state.written", "operation": format!("{scope}/set:x#1"), "value": large }),
                json!({ "kind": "attempt.failed", "scope": scope, "failure": failure, "retry_at": 3_010 }),
            ]),
        );
        assert_eq!(blobs(&fixture), 2, "the state and the latest error");
    }
    assert_eq!(detail(&store, held.run).steps[0].error.as_ref(), Some(&failure));
    // Cancelled while it waited for the next attempt.
    let cancelled =
        json!({ "kind": "step.ended", "step": "/test#1", "outcome": { "status": "cancelled" } });
    held.commit(2_000, entries(&[cancelled]));
    assert_eq!(blobs(&fixture), 1, "the state");
    let run = detail(&store, held.run);
    assert_eq!(run.steps[0].error, None);
    block_on(store.rebuild(held.run)).unwrap();
    assert_eq!((detail(&store, held.run), blobs(&fixture)), (run, 1));
}

#[test]
fn a_wait_that_timed_out_is_not_waited_for_any_more() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 12);
    held.commit(
        2_000,
        entries(&[
            json!({ "kind": "operation.ordered", "operation": "/wait:go#1", "number": 1, "args": {}, "due": 3_000 }),
            json!({ "kind": "operation.ordered", "operation": "/sleep:nap#1", "number": 2, "args": {}, "due": 9_000 }),
        ]),
    );
    assert_eq!(detail(&store, held.run).run.waiting.unwrap().kind, WaitKind::Signal);
    held.commit(3_000, entries(&[json!({ "kind": "timer.fired", "operation": "/wait:go#1" })]));
    let run = detail(&store, held.run);
    assert_eq!(run.run.waiting.unwrap().kind, WaitKind::Timer, "only the nap is left");
    assert_eq!(run.run.current_step.unwrap().step_number, 2);
    let wait = &run.steps[0];
    assert_eq!((wait.status, wait.completed_at.unwrap().0), (StepStatus::Failed, 3_000));
    assert_eq!(wait.error.as_ref().unwrap()["kind"], "timeout");
}

#[test]
fn nothing_takes_less_than_no_time_when_the_clock_goes_back() {
    for (early, late) in [(4_000, 5_000), (i64::MIN, i64::MAX)] {
        let fixture = SqliteFixture::new();
        let store = open(&fixture.path());
        let mut held = Held::create(&store, 13);
        held.commit(
            late,
            entries(&[
                json!({ "kind": "operation.ordered", "operation": "/agent:a#1", "number": 1, "args": {} }),
            ]),
        );
        held.commit(
            early,
            entries(&[json!({ "kind": "operation.ended", "operation": "/agent:a#1",
                              "result": { "status": "ok", "value": 1 } })]),
        );
        held.end(early);
        let run = detail(&store, held.run);
        assert_eq!((run.run.duration, run.run.updated_at.0), (Some(0), late));
        let (step, session) = (&run.steps[0], &run.agent_sessions[0]);
        assert_eq!((step.duration, step.updated_at.0), (Some(0), late));
        assert_eq!((session.duration, session.updated_at.0), (Some(0), late));
    }
}

#[test]
fn the_longest_time_that_there_is_can_be_written_down() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut new = super::given::new_run(14, agentos_store::place::Place::default());
    new.at.0 = i64::MIN;
    let mut held = Held::start(&store, new);
    let ordered =
        json!({ "kind": "operation.ordered", "operation": "/agent:a#1", "number": 1, "args": {} });
    held.commit(i64::MIN, entries(&[ordered]));
    let ended = json!({ "kind": "operation.ended", "operation": "/agent:a#1",
                        "result": { "status": "ok", "value": 1 } });
    held.commit(i64::MAX, entries(&[ended]));
    held.end(i64::MAX);
    let run = detail(&store, held.run);
    assert_eq!((run.run.duration, run.steps[0].duration), (Some(i64::MAX), Some(i64::MAX)));
}

#[test]
fn a_remark_made_twice_because_the_answer_was_lost_is_one() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let held = Held::create(&store, 15);
    let other = Held::create(&store, 16);
    let remark = NewComment {
        id: Uuid::from_u128(1),
        run: held.run,
        step: None,
        message: "once".into(),
        metadata: Some(json!("x".repeat(5_000))),
        author: "ada".into(),
        at: agentos_core::time::Timestamp(3_000),
    };
    for _time in 0..2 {
        block_on(store.add_comment(remark.clone())).unwrap();
    }
    assert_eq!((detail(&store, held.run).comments.len(), blobs(&fixture)), (1, 1));
    for changed in [
        NewComment { message: "twice".into(), ..remark.clone() },
        NewComment { run: other.run, ..remark },
    ] {
        let refused = block_on(store.add_comment(changed));
        assert!(matches!(refused, Err(RecordError::InUse { .. })), "{refused:?}");
    }
}

#[test]
fn a_step_whose_row_was_made_again_elsewhere_ends_in_the_new_row() {
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let requested =
        json!({ "kind": "step.requested", "step": "/test#1", "number": 1, "retry": retry() });
    let mut held = Held::create(&store, 17);
    held.commit(2_000, entries(std::slice::from_ref(&requested)));
    // So that the new row does not get the key of the old one.
    Held::create(&store, 18).commit(2_000, entries(&[requested]));
    block_on(open(&fixture.path()).rebuild(held.run)).unwrap();
    let ended = json!({ "kind": "step.ended", "step": "/test#1",
                        "outcome": { "status": "completed", "output": 1 } });
    held.commit(3_000, entries(&[ended]));
    assert_eq!(detail(&store, held.run).steps[0].status, StepStatus::Completed);
}
