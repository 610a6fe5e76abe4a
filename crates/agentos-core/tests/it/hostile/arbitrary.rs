//! Entries out of nowhere. Their names are few, so that they meet each other and the recorded ones.
//!
//! Boxed, because a strategy that is made of so many others does not fit the stack of a test thread.

use agentos_core::entry::{
    Abandoned, Act, ActCause, AnswerTimes, CloseCause, CommentOn, Deed, Entry, Hold, HoldKind,
    Home, KeptAnswer, KeptBody, OperationResult, Parent, Record, RunOutcome, RunStarted,
    ScopeClosing, StepOutcome,
};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{Attempt, InboxKey, Occurrence, RunId, Seed, Seq, StepNumber, Try};
use agentos_core::name::Name;
use agentos_core::operation::OperationKind;
use agentos_core::path::{OperationId, ScopePath, StepPath};
use agentos_core::retry::{Backoff, RetryPolicy};
use agentos_core::source::{BodyText, Site};
use agentos_core::time::{Millis, Timestamp};
use agentos_core::value::Value;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

pub(super) fn any_name() -> impl Strategy<Value = Name> {
    prop_oneof![
        6 => select(vec!["a", "b", "c", "ev0", "ev1"]).prop_map(str::to_owned),
        1 => "\\PC{1,8}",
        1 => "[/#@:~%\\x00-\\x1f]{1,4}",
    ]
    .prop_map(|text| Name::new(text).expect("a short name"))
}

fn any_count() -> impl Strategy<Value = u32> {
    prop_oneof![20 => 1_u32..4, 1 => Just(u32::MAX), 1 => 1_u32..]
}

fn any_key() -> impl Strategy<Value = InboxKey> {
    prop_oneof![4 => "m[0-3]", 1 => ".{0,4}"].prop_map(InboxKey)
}

fn any_time() -> impl Strategy<Value = Timestamp> {
    prop_oneof![8 => 0_i64..30, 1 => any::<i64>()].prop_map(Timestamp)
}

pub(super) fn any_scope() -> impl Strategy<Value = ScopePath> {
    let attempts = vec((any_name(), any_count(), any_count(), any::<bool>()), 0..3);
    let shallow = attempts.prop_map(|attempts| {
        attempts.into_iter().fold(ScopePath::root(), |scope, (name, nth, attempt, phase)| {
            let step = match phase {
                true => scope.phase(&name, Occurrence(nth)),
                false => scope.step(&name, Occurrence(nth)),
            };
            step.attempt(Attempt(attempt))
        })
    });
    prop_oneof![3 => Just(ScopePath::root()), 4 => shallow]
}

fn any_step() -> impl Strategy<Value = StepPath> {
    (any_scope(), any_name(), any_count(), any::<bool>()).prop_map(|(scope, name, nth, phase)| {
        match phase {
            true => scope.phase(&name, Occurrence(nth)),
            false => scope.step(&name, Occurrence(nth)),
        }
    })
}

pub(super) fn any_operation() -> impl Strategy<Value = OperationId> {
    let kind = select(OperationKind::ALL.to_vec());
    (any_scope(), kind, any_name(), any_count())
        .prop_map(|(scope, kind, name, nth)| scope.operation(kind, &name, Occurrence(nth)))
}

pub(super) fn any_value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((".{0,4}", inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
    .boxed()
}

fn any_failure() -> impl Strategy<Value = Failure> {
    use FailureKind::*;
    let kinds = vec![Error, NonRetryable, Timeout, Cancelled, Closed, Limit, Interrupted, Stalled];
    (select(kinds), ".{0,8}", option::of(any_value())).prop_map(|(kind, message, detail)| Failure {
        kind,
        message,
        detail,
    })
}

fn any_retry() -> impl Strategy<Value = RetryPolicy> {
    let backoff = select(vec![Backoff::Exponential, Backoff::Linear, Backoff::Fixed]);
    (0_u32..4, backoff, any::<u64>(), any::<u64>(), any::<bool>()).prop_map(
        |(max_attempts, backoff, delay, most, jitter)| RetryPolicy {
            max_attempts,
            backoff,
            delay_ms: Millis::new(delay),
            max_delay_ms: Millis::new(most),
            jitter,
        },
    )
}

pub(super) fn any_result() -> impl Strategy<Value = OperationResult> {
    prop_oneof![
        any_value().prop_map(|value| OperationResult::Ok { value }),
        any_failure().prop_map(|failure| OperationResult::Failed { failure }),
        Just(OperationResult::Cancelled {}),
    ]
}

fn any_step_outcome() -> impl Strategy<Value = StepOutcome> {
    prop_oneof![
        any_value().prop_map(|output| StepOutcome::Completed { output }),
        any_failure().prop_map(|failure| StepOutcome::Failed { failure }),
        ".{0,8}".prop_map(|reason| StepOutcome::Skipped { reason }),
        Just(StepOutcome::Cancelled {}),
    ]
}

pub(super) fn any_run_outcome() -> impl Strategy<Value = RunOutcome> {
    prop_oneof![
        any_value().prop_map(|output| RunOutcome::Completed { output }),
        any_failure().prop_map(|failure| RunOutcome::Failed { failure }),
        any_failure().prop_map(|failure| RunOutcome::TimedOut { failure }),
        option::of(any_failure()).prop_map(|failure| RunOutcome::Cancelled { failure }),
    ]
}

fn any_run() -> impl Strategy<Value = RunId> {
    any::<u128>().prop_map(|run| RunId(uuid::Uuid::from_u128(run)))
}

fn any_start() -> BoxedStrategy<RunStarted> {
    let parent =
        (any_run(), any_operation()).prop_map(|(run, operation)| Parent { run, operation });
    let own = (any_run(), any_name(), ".{0,8}", any_value(), any::<u64>(), any::<u64>());
    let limits = (option::of(1_u64..40), option::of(any_time()));
    let home = (".{0,8}", ".{0,8}").prop_map(|(run_id, workspace_path)| Home {
        run_id,
        workspace_path,
        ..Home::default()
    });
    (own, limits, option::of(parent), option::of(any_run()), home)
        .prop_map(|(own, (timeout, deadline), parent, forked_from, home)| {
            let (run, workflow, definition, input, seed, grace) = own;
            RunStarted {
                run,
                workflow,
                definition,
                input,
                seed: Seed(seed),
                grace_ms: Millis::new(grace),
                timeout_ms: timeout.map(Millis::new),
                deadline,
                parent,
                forked_from,
                home: home.into(),
            }
        })
        .boxed()
}

fn any_run_entry() -> BoxedStrategy<Entry> {
    prop_oneof![
        any_start().prop_map(Entry::RunStarted),
        (any_key(), option::of(".{0,8}"))
            .prop_map(|(key, reason)| Entry::CancelRequested { key, reason }),
        any::<u64>().prop_map(|away| Entry::RunResumed { away_ms: Millis::new(away) }),
        any::<u64>().prop_map(|away| Entry::RunRebased { away_ms: Millis::new(away) }),
        any_failure().prop_map(|failure| Entry::RunFailing { failure }),
        any_run_outcome().prop_map(|outcome| Entry::RunEnded { outcome }),
    ]
    .boxed()
}

fn any_source_entry() -> BoxedStrategy<Entry> {
    let left = (any_operation(), any_count(), option::of(any_run()))
        .prop_map(|(operation, r#try, child)| Abandoned { operation, r#try: Try(r#try), child });
    let times = (any_time(), any_time())
        .prop_map(|(asked_at, answered_at)| AnswerTimes { asked_at, answered_at });
    let kept = (any_operation(), any_result(), option::of(times))
        .prop_map(|(operation, result, times)| KeptAnswer { operation, result, times });
    prop_oneof![
        (".{0,8}", vec(left, 0..3), any::<bool>()).prop_map(
            |(definition, abandoned, keeps_numbers)| Entry::SourceSwitched {
                definition,
                abandoned,
                keeps_numbers
            }
        ),
        vec(kept, 0..3).prop_map(|answers| Entry::AnswersKept { answers }),
        any_operation().prop_map(|operation| Entry::AbandonedEnded { operation }),
    ]
    .boxed()
}

fn any_step_entry() -> BoxedStrategy<Entry> {
    let numbers = option::of(any_count().prop_map(StepNumber));
    let timeouts = option::of(any::<u64>().prop_map(Millis::new));
    prop_oneof![
        (any_step(), numbers, any_retry(), timeouts.clone(), any::<bool>(), any_body(), any_site())
            .prop_map(|(step, number, retry, timeout_ms, rolls_back, body, site)| {
                Entry::StepRequested { step, number, retry, timeout_ms, rolls_back, body, site }
            }),
        (any_step(), any_retry(), timeouts, vec(any_act(), 0..4)).prop_map(
            |(step, retry, timeout_ms, acts)| Entry::BodyKept(KeptBody {
                step,
                body: BodyText { hash: "0a".into(), tied: None },
                retry,
                timeout_ms,
                acts: Some(acts)
            })
        ),
        any_scope().prop_map(|scope| Entry::AttemptStarted { scope, counts_from: None }),
        any_scope().prop_map(|scope| Entry::AttemptTimedOut { scope }),
        (any_scope(), any_failure(), any_time()).prop_map(|(scope, failure, retry_at)| {
            Entry::AttemptFailed { scope, failure, retry_at }
        }),
        (any_step(), any_step_outcome())
            .prop_map(|(step, outcome)| Entry::StepEnded { step, outcome }),
    ]
    .boxed()
}

fn any_site() -> BoxedStrategy<Option<Site>> {
    option::of(any::<String>().prop_map(Site::new)).boxed()
}

fn any_body() -> BoxedStrategy<Option<BodyText>> {
    let body = (any::<String>(), any_site()).prop_map(|(hash, tied)| BodyText { hash, tied });
    option::of(body).boxed()
}

fn any_act() -> BoxedStrategy<Act> {
    let by = prop_oneof![
        any_scope().prop_map(ActCause::Attempt),
        any_operation().prop_map(ActCause::Operation),
        any_step().prop_map(ActCause::Step),
    ];
    let deed = prop_oneof![
        (any_operation(), any_value(), option::of(any_time()))
            .prop_map(|(operation, args, due)| Deed::Ordered { operation, args, due }),
        (any_step(), any_retry(), any_body()).prop_map(|(step, retry, body)| Deed::Asked {
            step,
            retry,
            timeout_ms: None,
            body
        }),
        (any_operation(), option::of(any_value()))
            .prop_map(|(operation, value)| Deed::Wrote { operation, value }),
        (any_scope(), any_step_outcome())
            .prop_map(|(scope, outcome)| Deed::Ended { scope, outcome }),
    ];
    (by, deed).prop_map(|(by, deed)| Act { by, deed }).boxed()
}

fn any_scope_entry() -> BoxedStrategy<Entry> {
    let causes = select(vec![CloseCause::Finished, CloseCause::Cancelled, CloseCause::Expired]);
    let lists = (vec(any_operation(), 0..3), vec(any_step(), 0..3));
    prop_oneof![
        (any_scope(), causes, lists, option::of(any_time())).prop_map(
            |(scope, cause, (operations, steps), grace_until)| {
                let closing = ScopeClosing { scope, cause, operations, steps, grace_until };
                Entry::ScopeClosing(closing)
            }
        ),
        any_scope().prop_map(|scope| Entry::GraceExpired { scope }),
    ]
    .boxed()
}

fn any_operation_entry() -> BoxedStrategy<Entry> {
    let tries = || any_count().prop_map(Try);
    let children = (option::of(any_run()), tries());
    let numbers = option::of(any_count().prop_map(StepNumber));
    prop_oneof![
        (any_operation(), numbers, any_value(), option::of(any_time()), children).prop_map(
            |(operation, number, args, due, (child, r#try))| Entry::OperationOrdered {
                operation,
                number,
                args,
                due,
                child,
                r#try,
                site: None
            }
        ),
        (any_operation(), tries(), any_value()).prop_map(|(operation, r#try, detail)| {
            Entry::OperationStarted { operation, r#try, detail }
        }),
        (any_operation(), tries())
            .prop_map(|(operation, r#try)| Entry::OperationInterrupted { operation, r#try }),
        (any_operation(), tries())
            .prop_map(|(operation, r#try)| Entry::OperationRetried { operation, r#try }),
        (any_operation(), tries(), any_hold())
            .prop_map(|(operation, r#try, hold)| Entry::OperationHeld { operation, r#try, hold }),
        (any_operation(), option::of(".{0,4}"))
            .prop_map(|(operation, granted)| Entry::OperationReleased { operation, granted }),
        any_operation().prop_map(|operation| Entry::OperationCancelOrdered { operation }),
        (any_operation(), any_result())
            .prop_map(|(operation, result)| Entry::OperationEnded { operation, result }),
        (any_key(), any_operation(), any_run_outcome())
            .prop_map(|(key, operation, outcome)| Entry::ChildEnded { key, operation, outcome }),
        any_operation().prop_map(|operation| Entry::TimerFired { operation }),
    ]
    .boxed()
}

pub(crate) fn any_hold() -> BoxedStrategy<Hold> {
    let kinds = select(vec![HoldKind::Approval, HoldKind::Disk]);
    (kinds, ".{0,4}", option::of(".{0,4}"), option::of(any_time()), option::of(0..3_u32))
        .prop_map(|(kind, message, subject, until, limit)| Hold {
            kind,
            message,
            subject,
            until,
            limit,
        })
        .boxed()
}

fn any_other_entry() -> BoxedStrategy<Entry> {
    let comment_on = select(vec![CommentOn::Step, CommentOn::Run]);
    prop_oneof![
        (any_key(), any_name(), any_value())
            .prop_map(|(key, name, payload)| Entry::SignalArrived { key, name, payload }),
        (any_key(), any_operation(), any::<bool>(), ".{0,4}", option::of(".{0,4}")).prop_map(
            |(key, operation, approved, by, comment)| Entry::ApprovalGiven {
                key,
                operation,
                approved,
                by,
                comment
            }
        ),
        (any_key(), any_operation())
            .prop_map(|(key, operation)| Entry::SignalOffered { key, operation }),
        (any_key(), any_operation())
            .prop_map(|(key, operation)| Entry::SignalConsumed { key, operation }),
        (any_operation(), option::of(any_value()))
            .prop_map(|(operation, value)| Entry::StateWritten { operation, value }),
        (any_operation(), comment_on, ".{0,8}", any_value()).prop_map(
            |(operation, on, message, meta)| Entry::CommentAdded { operation, on, message, meta }
        ),
    ]
    .boxed()
}

/// Any entry at all.
pub(super) fn any_entry() -> BoxedStrategy<Entry> {
    prop_oneof![
        2 => any_run_entry(),
        1 => any_source_entry(),
        3 => any_step_entry(),
        2 => any_scope_entry(),
        5 => any_operation_entry(),
        3 => any_other_entry(),
    ]
    .boxed()
}

/// Any entry at any place.
pub(super) fn any_record() -> BoxedStrategy<Record> {
    let seq = prop_oneof![4 => 0_u64..8, 1 => any::<u64>()].prop_map(Seq);
    (seq, any_time(), any_entry()).prop_map(|(seq, at, entry)| Record::new(seq, at, entry)).boxed()
}
