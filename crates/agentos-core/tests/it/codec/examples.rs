//! Examples of every kind of entry beside the text that each has in the log, for ever.

use agentos_core::entry::{
    Abandoned, Act, ActCause, AnswerTimes, CloseCause, CommentOn, Deed, Entry, Hold, HoldKind,
    Home, KeptAnswer, KeptBody, OperationResult, Parent, RunOutcome, RunStarted, ScopeClosing,
    StepOutcome,
};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, Seed, StepNumber, Try};
use agentos_core::retry::{Backoff, RetryPolicy};
use agentos_core::source::{BodyText, Site};
use agentos_core::time::{Millis, Timestamp};
use agentos_core::value::Value;
use serde_json::json;

use crate::support::fact::{key, name, op, requested_with, scope, step};

/// An entry and its text.
pub(crate) type Example = (Entry, &'static str);

fn failure(kind: FailureKind, detail: Option<Value>) -> Failure {
    Failure { kind, message: "it broke".to_owned(), detail }
}

fn run(last: u8) -> RunId {
    let text = format!("0192d4e0-0000-7000-8000-0000000000{last:02x}");
    RunId(text.parse().expect("a uuid"))
}

fn of_run_starts() -> Vec<Example> {
    let plain = RunStarted {
        run: run(0x2a),
        workflow: name("build all"),
        definition: "sha256:00ff".to_owned(),
        input: json!({ "b": [1, -2.5, null, true], "a": "ü\n" }),
        seed: Seed(u64::MAX),
        grace_ms: Millis::new(30_000),
        timeout_ms: None,
        deadline: None,
        parent: None,
        forked_from: None,
        home: Box::default(),
    };
    let full = RunStarted {
        input: Value::Null,
        timeout_ms: Some(Millis::new(1_000)),
        deadline: Some(Timestamp(1_700_000_000_000)),
        parent: Some(Parent { run: run(1), operation: op("/invoke:build#1") }),
        forked_from: Some(run(2)),
        home: Home {
            run_id: "build-abcdef".to_owned(),
            project_id: "p1".to_owned(),
            project_path: "/p".to_owned(),
            workspace_path: "/w".to_owned(),
            context_path: "/c".to_owned(),
            setup: "npm ci".to_owned(),
            depth: 2,
            agents: [("claude".to_owned(), "codex".to_owned())].into(),
            given_files: [("spec".to_owned(), "docs/spec.md".to_owned())].into(),
        }
        .into(),
        ..plain.clone()
    };
    vec![
        (
            Entry::RunStarted(full),
            r#"{"kind":"run.started","run":"0192d4e0-0000-7000-8000-00000000002a","workflow":"build all","definition":"sha256:00ff","input":null,"seed":18446744073709551615,"grace_ms":30000,"timeout_ms":1000,"deadline":1700000000000,"parent":{"run":"0192d4e0-0000-7000-8000-000000000001","operation":"/invoke:build#1"},"forked_from":"0192d4e0-0000-7000-8000-000000000002","home":{"run_id":"build-abcdef","project_id":"p1","project_path":"/p","workspace_path":"/w","context_path":"/c","setup":"npm ci","depth":2,"agents":{"claude":"codex"},"given_files":{"spec":"docs/spec.md"}}}"#,
        ),
        (
            Entry::RunStarted(plain),
            r#"{"kind":"run.started","run":"0192d4e0-0000-7000-8000-00000000002a","workflow":"build all","definition":"sha256:00ff","input":{"a":"ü\n","b":[1,-2.5,null,true]},"seed":18446744073709551615,"grace_ms":30000}"#,
        ),
    ]
}

fn of_runs() -> Vec<Example> {
    let left = Abandoned { operation: op("/shell:x#1"), r#try: Try(2), child: None };
    let child = Abandoned { operation: op("/invoke:build#1"), r#try: Try(1), child: Some(run(3)) };
    let kept = KeptAnswer {
        operation: op("/shell:x#1"),
        result: OperationResult::Ok { value: json!(1) },
        times: None,
    };
    let times = Some(AnswerTimes { asked_at: Timestamp(1_000), answered_at: Timestamp(3_000) });
    vec![
        (
            Entry::CancelRequested { key: key("k1"), reason: Some("enough".to_owned()) },
            r#"{"kind":"run.cancel_requested","key":"k1","reason":"enough"}"#,
        ),
        (
            Entry::CancelRequested { key: key(""), reason: None },
            r#"{"kind":"run.cancel_requested","key":""}"#,
        ),
        (
            Entry::RunFailing { failure: failure(FailureKind::Stalled, None) },
            r#"{"kind":"run.failing","failure":{"kind":"stalled","message":"it broke"}}"#,
        ),
        (
            Entry::RunResumed { away_ms: Millis::new(60_000) },
            r#"{"kind":"run.resumed","away_ms":60000}"#,
        ),
        (Entry::RunRebased { away_ms: Millis::new(5) }, r#"{"kind":"run.rebased","away_ms":5}"#),
        (
            Entry::SourceSwitched {
                definition: "sha256:01".into(),
                abandoned: vec![left, child],
                keeps_numbers: true,
            },
            r#"{"kind":"source.switched","definition":"sha256:01","abandoned":[{"operation":"/shell:x#1","try":2},{"operation":"/invoke:build#1","try":1,"child":"0192d4e0-0000-7000-8000-000000000003"}],"keeps_numbers":true}"#,
        ),
        (
            Entry::SourceSwitched {
                definition: String::new(),
                abandoned: Vec::new(),
                keeps_numbers: false,
            },
            r#"{"kind":"source.switched","definition":""}"#,
        ),
        (
            Entry::AnswersKept { answers: vec![kept.clone()] },
            r#"{"kind":"answers.kept","answers":[{"operation":"/shell:x#1","result":{"status":"ok","value":1}}]}"#,
        ),
        (
            Entry::AnswersKept { answers: vec![KeptAnswer { times, ..kept }] },
            r#"{"kind":"answers.kept","answers":[{"operation":"/shell:x#1","result":{"status":"ok","value":1},"times":{"asked_at":1000,"answered_at":3000}}]}"#,
        ),
        (
            Entry::AbandonedEnded { operation: op("/shell:x#1") },
            r#"{"kind":"operation.abandoned_ended","operation":"/shell:x#1"}"#,
        ),
    ]
}

fn of_run_ends() -> Vec<Example> {
    let failed = failure(FailureKind::Error, Some(json!({ "exit": 1 })));
    let timeout = failure(FailureKind::Timeout, None);
    [
        (
            RunOutcome::Completed { output: json!({ "ok": true }) },
            r#"{"kind":"run.ended","outcome":{"status":"completed","output":{"ok":true}}}"#,
        ),
        (
            RunOutcome::Failed { failure: failed },
            r#"{"kind":"run.ended","outcome":{"status":"failed","failure":{"kind":"error","message":"it broke","detail":{"exit":1}}}}"#,
        ),
        (
            RunOutcome::TimedOut { failure: timeout.clone() },
            r#"{"kind":"run.ended","outcome":{"status":"timed_out","failure":{"kind":"timeout","message":"it broke"}}}"#,
        ),
        (
            RunOutcome::Cancelled { failure: None },
            r#"{"kind":"run.ended","outcome":{"status":"cancelled"}}"#,
        ),
        (
            RunOutcome::Cancelled { failure: Some(timeout) },
            r#"{"kind":"run.ended","outcome":{"status":"cancelled","failure":{"kind":"timeout","message":"it broke"}}}"#,
        ),
    ]
    .map(|(outcome, text)| (Entry::RunEnded { outcome }, text))
    .into()
}

fn of_steps() -> Vec<Example> {
    let retry = RetryPolicy {
        max_attempts: 3,
        backoff: Backoff::Exponential,
        delay_ms: Millis::new(1_000),
        max_delay_ms: Millis::new(60_000),
        jitter: true,
    };
    let fixed = RetryPolicy { backoff: Backoff::Fixed, jitter: false, ..retry };
    let linear = RetryPolicy { backoff: Backoff::Linear, ..fixed };
    vec![
        (
            Entry::StepRequested {
                step: step("/a#1"),
                number: Some(StepNumber(1)),
                retry,
                timeout_ms: Some(Millis::new(5)),
                rolls_back: true,
                body: Some(BodyText { hash: "0a".into(), tied: Some(Site::new("a.ts:3")) }),
                site: Some(Site::new("a.ts:2")),
            },
            r#"{"kind":"step.requested","step":"/a#1","number":1,"retry":{"max_attempts":3,"backoff":"exponential","delay_ms":1000,"max_delay_ms":60000,"jitter":true},"timeout_ms":5,"rolls_back":true,"body":{"hash":"0a","tied":"a.ts:3"},"site":"a.ts:2"}"#,
        ),
        (
            Entry::BodyKept(kept_body(fixed)),
            r#"{"kind":"body.kept","step":"/a#1","body":{"hash":"0a"},"retry":{"max_attempts":3,"backoff":"fixed","delay_ms":1000,"max_delay_ms":60000,"jitter":false},"timeout_ms":5,"acts":[{"by":{"attempt":"/a#1@1"},"deed":{"deed":"asked","step":"/a#1@1/b#1","retry":{"max_attempts":3,"backoff":"fixed","delay_ms":1000,"max_delay_ms":60000,"jitter":false},"timeout_ms":7,"body":{"hash":"0b"}}},{"by":{"attempt":"/a#1@1"},"deed":{"deed":"ordered","operation":"/a#1@1/sleep:nap#1","args":{"ms":5},"due":9}},{"by":{"step":"/a#1@1/b#1"},"deed":{"deed":"wrote","operation":"/a#1@1/set:x#1","value":1}},{"by":{"step":"/a#1@1/b#1"},"deed":{"deed":"wrote","operation":"/a#1@1/set:x#2"}},{"by":{"operation":"/a#1@1/sleep:nap#1"},"deed":{"deed":"remarked","operation":"/a#1@1/comment:comment#1","on":"run","message":"hm","meta":[1]}},{"by":{"operation":"/a#1@1/sleep:nap#1"},"deed":{"deed":"ended","scope":"/a#1@1","outcome":{"status":"skipped","reason":"done"}}}]}"#,
        ),
        (
            requested_with("/~build%2Fall#2", None, fixed),
            r#"{"kind":"step.requested","step":"/~build%2Fall#2","retry":{"max_attempts":3,"backoff":"fixed","delay_ms":1000,"max_delay_ms":60000,"jitter":false}}"#,
        ),
        (
            requested_with("/~b#1", None, linear),
            r#"{"kind":"step.requested","step":"/~b#1","retry":{"max_attempts":3,"backoff":"linear","delay_ms":1000,"max_delay_ms":60000,"jitter":false}}"#,
        ),
        (
            Entry::BodyKept(KeptBody { acts: None, timeout_ms: None, ..kept_body(linear) }),
            r#"{"kind":"body.kept","step":"/a#1","body":{"hash":"0a"},"retry":{"max_attempts":3,"backoff":"linear","delay_ms":1000,"max_delay_ms":60000,"jitter":false}}"#,
        ),
        (
            Entry::AttemptStarted { scope: scope("/a#1@2"), counts_from: Some(Timestamp(7)) },
            r#"{"kind":"attempt.started","scope":"/a#1@2","counts_from":7}"#,
        ),
        (
            Entry::AttemptStarted { scope: scope("/a#1@1"), counts_from: None },
            r#"{"kind":"attempt.started","scope":"/a#1@1"}"#,
        ),
        (
            Entry::AttemptTimedOut { scope: scope("/a#1@1") },
            r#"{"kind":"attempt.timed_out","scope":"/a#1@1"}"#,
        ),
        (
            Entry::AttemptFailed {
                scope: scope("/a#1@1"),
                failure: failure(FailureKind::Error, None),
                retry_at: Timestamp(1_700_000_000_000),
            },
            r#"{"kind":"attempt.failed","scope":"/a#1@1","failure":{"kind":"error","message":"it broke"},"retry_at":1700000000000}"#,
        ),
    ]
}

fn of_step_ends() -> Vec<Example> {
    let failure = failure(FailureKind::NonRetryable, None);
    [
        (
            StepOutcome::Completed { output: Value::Null },
            r#"{"kind":"step.ended","step":"/a#1","outcome":{"status":"completed","output":null}}"#,
        ),
        (
            StepOutcome::Failed { failure },
            r#"{"kind":"step.ended","step":"/a#1","outcome":{"status":"failed","failure":{"kind":"non_retryable","message":"it broke"}}}"#,
        ),
        (
            StepOutcome::Skipped { reason: "nothing to do".to_owned() },
            r#"{"kind":"step.ended","step":"/a#1","outcome":{"status":"skipped","reason":"nothing to do"}}"#,
        ),
        (
            StepOutcome::Cancelled {},
            r#"{"kind":"step.ended","step":"/a#1","outcome":{"status":"cancelled"}}"#,
        ),
    ]
    .map(|(outcome, text)| (Entry::StepEnded { step: step("/a#1"), outcome }, text))
    .into()
}

fn of_scopes() -> Vec<Example> {
    let bare = |cause| {
        Entry::ScopeClosing(ScopeClosing {
            scope: scope(""),
            cause,
            operations: Vec::new(),
            steps: Vec::new(),
            grace_until: None,
        })
    };
    let full = ScopeClosing {
        scope: scope("/a#1@2"),
        cause: CloseCause::Finished,
        operations: vec![op("/a#1@2/shell:x#1"), op("/a#1@2/b#1@1/wait:go#1")],
        steps: vec![step("/a#1@2/b#1")],
        grace_until: Some(Timestamp(9_000)),
    };
    vec![
        (
            Entry::ScopeClosing(full),
            r#"{"kind":"scope.closing","scope":"/a#1@2","cause":"finished","operations":["/a#1@2/shell:x#1","/a#1@2/b#1@1/wait:go#1"],"steps":["/a#1@2/b#1"],"grace_until":9000}"#,
        ),
        (bare(CloseCause::Cancelled), r#"{"kind":"scope.closing","scope":"","cause":"cancelled"}"#),
        (bare(CloseCause::Expired), r#"{"kind":"scope.closing","scope":"","cause":"expired"}"#),
        (
            Entry::GraceExpired { scope: scope("/a#1@1") },
            r#"{"kind":"scope.grace_expired","scope":"/a#1@1"}"#,
        ),
    ]
}

fn kept_body(retry: RetryPolicy) -> KeptBody {
    let asked = Deed::Asked {
        step: step("/a#1@1/b#1"),
        retry,
        timeout_ms: Some(Millis::new(7)),
        body: Some(BodyText { hash: "0b".into(), tied: None }),
    };
    let nap = || op("/a#1@1/sleep:nap#1");
    let ordered =
        Deed::Ordered { operation: nap(), args: json!({ "ms": 5 }), due: Some(Timestamp(9)) };
    let wrote = Deed::Wrote { operation: op("/a#1@1/set:x#1"), value: Some(json!(1)) };
    let deleted = Deed::Wrote { operation: op("/a#1@1/set:x#2"), value: None };
    let remarked = Deed::Remarked {
        operation: op("/a#1@1/comment:comment#1"),
        on: CommentOn::Run,
        message: "hm".into(),
        meta: json!([1]),
    };
    let outcome = StepOutcome::Skipped { reason: "done".into() };
    let ended = Deed::Ended { scope: scope("/a#1@1"), outcome };
    let began = || ActCause::Attempt(scope("/a#1@1"));
    let stepped = || ActCause::Step(step("/a#1@1/b#1"));
    let slept = || ActCause::Operation(nap());
    let acts = [
        (began(), asked),
        (began(), ordered),
        (stepped(), wrote),
        (stepped(), deleted),
        (slept(), remarked),
        (slept(), ended),
    ];
    KeptBody {
        step: step("/a#1"),
        body: BodyText { hash: "0a".into(), tied: None },
        retry,
        timeout_ms: Some(Millis::new(5)),
        acts: Some(acts.map(|(by, deed)| Act { by, deed }).into()),
    }
}

fn of_holds() -> Vec<Example> {
    let shell = || op("/a#1@1/shell:npm%3A test#1");
    vec![
        (
            Entry::OperationHeld {
                operation: shell(),
                r#try: Try(1),
                hold: Hold {
                    kind: HoldKind::Approval,
                    message: "trust it?".into(),
                    subject: Some("00ff".into()),
                    until: None,
                    limit: None,
                },
            },
            r#"{"kind":"operation.held","operation":"/a#1@1/shell:npm%3A test#1","try":1,"hold":{"kind":"approval","message":"trust it?","subject":"00ff"}}"#,
        ),
        (
            Entry::OperationHeld {
                operation: shell(),
                r#try: Try(2),
                hold: Hold {
                    kind: HoldKind::Disk,
                    message: "full".into(),
                    subject: None,
                    until: Some(Timestamp(7)),
                    limit: None,
                },
            },
            r#"{"kind":"operation.held","operation":"/a#1@1/shell:npm%3A test#1","try":2,"hold":{"kind":"disk","message":"full","until":7}}"#,
        ),
        (
            Entry::OperationHeld {
                operation: shell(),
                r#try: Try(2),
                hold: Hold {
                    kind: HoldKind::Tool,
                    message: "killed".into(),
                    subject: None,
                    until: Some(Timestamp(7)),
                    limit: Some(20),
                },
            },
            r#"{"kind":"operation.held","operation":"/a#1@1/shell:npm%3A test#1","try":2,"hold":{"kind":"tool","message":"killed","until":7,"limit":20}}"#,
        ),
        (
            Entry::OperationReleased { operation: shell(), granted: Some("00ff".into()) },
            r#"{"kind":"operation.released","operation":"/a#1@1/shell:npm%3A test#1","granted":"00ff"}"#,
        ),
        (
            Entry::OperationReleased { operation: shell(), granted: None },
            r#"{"kind":"operation.released","operation":"/a#1@1/shell:npm%3A test#1"}"#,
        ),
    ]
}

fn of_operations() -> Vec<Example> {
    let shell = || op("/a#1@1/shell:npm%3A test#1");
    let nap = || op("/sleep:nap#1");
    vec![
        (
            Entry::OperationOrdered {
                operation: shell(),
                number: None,
                args: json!({ "command": "npm test" }),
                due: None,
                child: None,
                r#try: Try(1),
                site: Some(Site::new("lib/b.ts:7:1")),
            },
            r#"{"kind":"operation.ordered","operation":"/a#1@1/shell:npm%3A test#1","args":{"command":"npm test"},"site":"lib/b.ts:7:1"}"#,
        ),
        (
            Entry::OperationOrdered {
                operation: nap(),
                number: Some(StepNumber(2)),
                args: json!({ "ms": 5 }),
                due: Some(Timestamp(-5)),
                child: None,
                r#try: Try(1),
                site: None,
            },
            r#"{"kind":"operation.ordered","operation":"/sleep:nap#1","number":2,"args":{"ms":5},"due":-5}"#,
        ),
        (
            Entry::OperationOrdered {
                operation: op("/invoke:build#1"),
                number: Some(StepNumber(3)),
                args: Value::Null,
                due: None,
                child: Some(run(3)),
                r#try: Try(2),
                site: None,
            },
            r#"{"kind":"operation.ordered","operation":"/invoke:build#1","number":3,"args":null,"child":"0192d4e0-0000-7000-8000-000000000003","try":2}"#,
        ),
        (
            Entry::OperationStarted {
                operation: shell(),
                r#try: Try(1),
                detail: json!({ "pid": 4_711 }),
            },
            r#"{"kind":"operation.started","operation":"/a#1@1/shell:npm%3A test#1","try":1,"detail":{"pid":4711}}"#,
        ),
        (
            Entry::OperationInterrupted { operation: shell(), r#try: Try(1) },
            r#"{"kind":"operation.interrupted","operation":"/a#1@1/shell:npm%3A test#1","try":1}"#,
        ),
        (
            Entry::OperationRetried { operation: shell(), r#try: Try(2) },
            r#"{"kind":"operation.retried","operation":"/a#1@1/shell:npm%3A test#1","try":2}"#,
        ),
        (
            Entry::OperationCancelOrdered { operation: shell() },
            r#"{"kind":"operation.cancel_ordered","operation":"/a#1@1/shell:npm%3A test#1"}"#,
        ),
        (
            Entry::TimerFired { operation: nap() },
            r#"{"kind":"timer.fired","operation":"/sleep:nap#1"}"#,
        ),
    ]
}

fn of_operation_ends() -> Vec<Example> {
    let failure = failure(FailureKind::Limit, None);
    [
        (
            OperationResult::Ok { value: json!("done") },
            r#"{"kind":"operation.ended","operation":"/git:push#3","result":{"status":"ok","value":"done"}}"#,
        ),
        (
            OperationResult::Failed { failure },
            r#"{"kind":"operation.ended","operation":"/git:push#3","result":{"status":"failed","failure":{"kind":"limit","message":"it broke"}}}"#,
        ),
        (
            OperationResult::Cancelled {},
            r#"{"kind":"operation.ended","operation":"/git:push#3","result":{"status":"cancelled"}}"#,
        ),
    ]
    .map(|(result, text)| (Entry::OperationEnded { operation: op("/git:push#3"), result }, text))
    .into()
}

fn of_other_answers() -> Vec<Example> {
    let build = || op("/invoke:build#1");
    let ship = || op("/approve:ship#1");
    vec![
        (
            Entry::ChildEnded {
                key: key("child:3"),
                operation: build(),
                outcome: RunOutcome::Completed { output: json!(1) },
            },
            r#"{"kind":"child.ended","key":"child:3","operation":"/invoke:build#1","outcome":{"status":"completed","output":1}}"#,
        ),
        (
            Entry::ApprovalGiven {
                key: key("k"),
                operation: ship(),
                approved: true,
                by: "me".to_owned(),
                comment: Some("go".to_owned()),
            },
            r#"{"kind":"approval.given","key":"k","operation":"/approve:ship#1","approved":true,"by":"me","comment":"go"}"#,
        ),
        (
            Entry::ApprovalGiven {
                key: key("k"),
                operation: ship(),
                approved: false,
                by: String::new(),
                comment: None,
            },
            r#"{"kind":"approval.given","key":"k","operation":"/approve:ship#1","approved":false,"by":""}"#,
        ),
    ]
}

fn of_signals_and_notes() -> Vec<Example> {
    let wait = || op("/wait:go#1");
    vec![
        (
            Entry::SignalArrived { key: key("k"), name: name("go"), payload: Value::Null },
            r#"{"kind":"signal.arrived","key":"k","name":"go","payload":null}"#,
        ),
        (
            Entry::SignalOffered { key: key("k"), operation: wait() },
            r#"{"kind":"signal.offered","key":"k","operation":"/wait:go#1"}"#,
        ),
        (
            Entry::SignalConsumed { key: key("k"), operation: wait() },
            r#"{"kind":"signal.consumed","key":"k","operation":"/wait:go#1"}"#,
        ),
        (
            Entry::StateWritten { operation: op("/set:x#1"), value: Some(json!([1])) },
            r#"{"kind":"state.written","operation":"/set:x#1","value":[1]}"#,
        ),
        (
            Entry::StateWritten { operation: op("/set:x#2"), value: None },
            r#"{"kind":"state.written","operation":"/set:x#2"}"#,
        ),
        (
            Entry::CommentAdded {
                operation: op("/comment:comment#1"),
                on: CommentOn::Run,
                message: "well".to_owned(),
                meta: json!({ "by": "me" }),
            },
            r#"{"kind":"comment.added","operation":"/comment:comment#1","on":"run","message":"well","meta":{"by":"me"}}"#,
        ),
        (
            Entry::CommentAdded {
                operation: op("/comment:comment#2"),
                on: CommentOn::Step,
                message: String::new(),
                meta: Value::Null,
            },
            r#"{"kind":"comment.added","operation":"/comment:comment#2","on":"step","message":""}"#,
        ),
    ]
}

pub(crate) fn examples() -> Vec<Example> {
    let groups = [
        of_run_starts(),
        of_runs(),
        of_run_ends(),
        of_steps(),
        of_step_ends(),
        of_scopes(),
        of_operations(),
        of_holds(),
        of_operation_ends(),
        of_other_answers(),
        of_signals_and_notes(),
    ];
    groups.into_iter().flatten().collect()
}
