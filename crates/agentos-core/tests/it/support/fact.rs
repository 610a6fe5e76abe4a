//! Entries in short words.

use agentos_core::entry::{
    Abandoned, Act, ActCause, CloseCause, CommentOn, Deed, Entry, Hold, HoldKind, KeptAnswer,
    KeptBody, OperationResult, RunOutcome, RunStarted, ScopeClosing, StepOutcome,
};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{Attempt, InboxKey, RunId, Seed, StepNumber, Try};
use agentos_core::name::Name;
use agentos_core::path::{OperationId, ScopePath, StepPath};
use agentos_core::retry::{Backoff, RetryPolicy};
use agentos_core::source::BodyText;
use agentos_core::time::{Millis, Timestamp};
use agentos_core::value::Value;
use serde_json::json;
use uuid::Uuid;

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

pub(crate) fn key(text: &str) -> InboxKey {
    InboxKey(text.to_owned())
}

pub(crate) fn run(number: u8) -> RunId {
    RunId(Uuid::from_u128(number.into()))
}

pub(crate) fn op(text: &str) -> OperationId {
    text.parse().expect("the id of an operation")
}

pub(crate) fn scope(text: &str) -> ScopePath {
    text.parse().expect("the path of a scope")
}

pub(crate) fn step(text: &str) -> StepPath {
    text.parse().expect("the path of a step")
}

pub(crate) fn error(message: &str) -> Failure {
    Failure::new(FailureKind::Error, message)
}

/// Three attempts, 100 ms apart.
pub(crate) fn thrice() -> RetryPolicy {
    RetryPolicy {
        max_attempts: 3,
        backoff: Backoff::Fixed,
        delay_ms: Millis::new(100),
        max_delay_ms: Millis::new(100),
        jitter: false,
    }
}

pub(crate) fn run_started() -> Entry {
    Entry::RunStarted(start())
}

pub(crate) fn run_started_with_grace(grace_ms: u64) -> Entry {
    Entry::RunStarted(RunStarted { grace_ms: Millis::new(grace_ms), ..start() })
}

/// What the runs of these tests start with.
pub(crate) fn start() -> RunStarted {
    RunStarted {
        definition: "hash".to_owned(),
        input: json!({ "issue": 7 }),
        seed: Seed(42),
        grace_ms: Millis::new(1_000),
        ..RunStarted::new(run(7), name("build"))
    }
}

pub(crate) fn run_ended() -> Entry {
    Entry::RunEnded { outcome: RunOutcome::Completed { output: Value::Null } }
}

pub(crate) fn cancel(text: &str) -> Entry {
    Entry::CancelRequested { key: key(text), reason: None }
}

pub(crate) fn failing() -> Entry {
    Entry::RunFailing { failure: Failure::new(FailureKind::Stalled, "stalled") }
}

/// A step that has the row `number`, with three attempts.
pub(crate) fn requested(path: &str, number: u32) -> Entry {
    requested_with(path, Some(number), thrice())
}

pub(crate) fn requested_phase(path: &str) -> Entry {
    requested_with(path, None, RetryPolicy::once())
}

pub(crate) fn requested_with(path: &str, number: Option<u32>, retry: RetryPolicy) -> Entry {
    let number = number.map(StepNumber);
    Entry::StepRequested {
        step: step(path),
        number,
        retry,
        timeout_ms: None,
        rolls_back: false,
        body: None,
        site: None,
    }
}

/// A step whose attempts may take 50 each.
pub(crate) fn requested_within(path: &str, number: u32) -> Entry {
    let number = Some(StepNumber(number));
    let timeout_ms = Some(Millis::new(50));
    Entry::StepRequested {
        step: step(path),
        number,
        retry: thrice(),
        timeout_ms,
        rolls_back: false,
        body: None,
        site: None,
    }
}

pub(crate) fn timed_out(path: &str) -> Entry {
    Entry::AttemptTimedOut { scope: scope(path) }
}

pub(crate) fn attempt(path: &str) -> Entry {
    Entry::AttemptStarted { scope: scope(path), counts_from: None }
}

pub(crate) fn attempt_failed(path: &str, retry_at: i64) -> Entry {
    let retry_at = Timestamp(retry_at);
    Entry::AttemptFailed { scope: scope(path), failure: error("no luck"), retry_at }
}

pub(crate) fn step_ended(path: &str, outcome: StepOutcome) -> Entry {
    Entry::StepEnded { step: step(path), outcome }
}

pub(crate) fn completed() -> StepOutcome {
    StepOutcome::Completed { output: Value::Null }
}

pub(crate) fn closing(path: &str, cause: CloseCause) -> Entry {
    closing_all(path, cause, &[], &[])
}

/// A closing with a list of operations and one of steps, and until 500 to clean up.
pub(crate) fn closing_all(
    path: &str,
    cause: CloseCause,
    operations: &[&str],
    steps: &[&str],
) -> Entry {
    Entry::ScopeClosing(ScopeClosing {
        scope: scope(path),
        cause,
        operations: operations.iter().map(|text| op(text)).collect(),
        steps: steps.iter().map(|text| step(text)).collect(),
        grace_until: Some(Timestamp(500)),
    })
}

pub(crate) fn grace_expired(path: &str) -> Entry {
    Entry::GraceExpired { scope: scope(path) }
}

/// Something performed, inside of a step.
pub(crate) fn ordered(id: &str) -> Entry {
    order(id, None, Value::Null, None)
}

/// Something with a timer, inside of a step.
pub(crate) fn ordered_due(id: &str, due: i64) -> Entry {
    order(id, None, Value::Null, Some(Timestamp(due)))
}

/// Something performed outside of steps, which has the row `number`.
pub(crate) fn ordered_alone(id: &str, number: u32) -> Entry {
    ordered_with(id, number, Value::Null)
}

/// The same with arguments.
pub(crate) fn ordered_with(id: &str, number: u32, args: Value) -> Entry {
    order(id, Some(StepNumber(number)), args, None)
}

fn order(id: &str, number: Option<StepNumber>, args: Value, due: Option<Timestamp>) -> Entry {
    let r#try = Try::FIRST;
    Entry::OperationOrdered { operation: op(id), number, args, due, child: None, r#try, site: None }
}

/// Something with a child run, inside of a step.
pub(crate) fn ordered_child(id: &str) -> Entry {
    Entry::OperationOrdered {
        operation: op(id),
        number: None,
        args: Value::Null,
        due: None,
        child: Some(run(8)),
        r#try: Try::FIRST,
        site: None,
    }
}

pub(crate) fn child_ended(text: &str, id: &str) -> Entry {
    let outcome = RunOutcome::Completed { output: Value::Null };
    Entry::ChildEnded { key: key(text), operation: op(id), outcome }
}

pub(crate) fn approved(text: &str, id: &str) -> Entry {
    Entry::ApprovalGiven {
        key: key(text),
        operation: op(id),
        approved: true,
        by: "me".to_owned(),
        comment: None,
    }
}

/// Another source, which leaves these operations behind.
pub(crate) fn switched(left: &[&str]) -> Entry {
    let abandoned =
        left.iter().map(|id| Abandoned { operation: op(id), r#try: Try::FIRST, child: None });
    Entry::SourceSwitched {
        definition: "another".to_owned(),
        abandoned: abandoned.collect(),
        keeps_numbers: false,
    }
}

pub(crate) fn abandoned_ended(id: &str) -> Entry {
    Entry::AbandonedEnded { operation: op(id) }
}

pub(crate) fn kept(id: &str, result: OperationResult) -> Entry {
    Entry::AnswersKept { answers: vec![KeptAnswer { operation: op(id), result, times: None }] }
}

pub(crate) fn started(id: &str, r#try: u32) -> Entry {
    let detail = json!({ "pid": 4_711 });
    Entry::OperationStarted { operation: op(id), r#try: Try(r#try), detail }
}

pub(crate) fn interrupted(id: &str, r#try: u32) -> Entry {
    Entry::OperationInterrupted { operation: op(id), r#try: Try(r#try) }
}

pub(crate) fn retried(id: &str, r#try: u32) -> Entry {
    Entry::OperationRetried { operation: op(id), r#try: Try(r#try) }
}

pub(crate) fn held(id: &str, r#try: u32) -> Entry {
    let hold = Hold {
        kind: HoldKind::Approval,
        message: "may it begin?".to_owned(),
        subject: None,
        until: None,
        limit: None,
    };
    Entry::OperationHeld { operation: op(id), r#try: Try(r#try), hold }
}

pub(crate) fn released(id: &str) -> Entry {
    Entry::OperationReleased { operation: op(id), granted: None }
}

pub(crate) fn cancel_ordered(id: &str) -> Entry {
    Entry::OperationCancelOrdered { operation: op(id) }
}

pub(crate) fn ended(id: &str) -> Entry {
    ended_ok(id, Value::Null)
}

pub(crate) fn ended_ok(id: &str, value: Value) -> Entry {
    Entry::OperationEnded { operation: op(id), result: OperationResult::Ok { value } }
}

pub(crate) fn ended_cancelled(id: &str) -> Entry {
    Entry::OperationEnded { operation: op(id), result: OperationResult::Cancelled {} }
}

pub(crate) fn fired(id: &str) -> Entry {
    Entry::TimerFired { operation: op(id) }
}

pub(crate) fn arrived(text: &str, signal: &str) -> Entry {
    Entry::SignalArrived { key: key(text), name: name(signal), payload: json!(text) }
}

pub(crate) fn offered(text: &str, id: &str) -> Entry {
    Entry::SignalOffered { key: key(text), operation: op(id) }
}

pub(crate) fn consumed(text: &str, id: &str) -> Entry {
    Entry::SignalConsumed { key: key(text), operation: op(id) }
}

pub(crate) fn written(id: &str, value: Value) -> Entry {
    Entry::StateWritten { operation: op(id), value: Some(value) }
}

pub(crate) fn commented(id: &str) -> Entry {
    Entry::CommentAdded {
        operation: op(id),
        on: CommentOn::Step,
        message: "hm".to_owned(),
        meta: Value::Null,
    }
}

/// The end of a history.
pub(crate) fn rebased(away: u64) -> Entry {
    Entry::RunRebased { away_ms: Millis::new(away) }
}

/// A step whose body once wrote this.
pub(crate) fn body_kept(path: &str, write: &str) -> Entry {
    let deed = Deed::Wrote { operation: op(write), value: Some(Value::Null) };
    let by = ActCause::Attempt(step(path).attempt(Attempt::FIRST));
    Entry::BodyKept(KeptBody {
        step: step(path),
        body: BodyText { hash: "0a".to_owned(), tied: None },
        retry: thrice(),
        timeout_ms: None,
        acts: Some(vec![Act { by, deed }]),
    })
}
