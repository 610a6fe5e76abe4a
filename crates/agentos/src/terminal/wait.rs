//! What a run waits for, in words.

use agentos_core::time::Timestamp;
use agentos_store::projection::{StepStatus, WaitKind, Waiting};
use agentos_store::records::{RunRecord, StepRecord};

use super::duration;
use super::text::harmless;

/// `waits for approval since 3 m`, `next attempt in 4 s`
pub(crate) fn words(waiting: &Waiting, now: Timestamp) -> String {
    let left = waiting.until.map(|until| until.0.saturating_sub(now.0));
    let what = match waiting.kind {
        WaitKind::Timer => return soon("continues", left),
        WaitKind::Retry => {
            let why = waiting.why.as_ref().map(|why| format!(": {}", harmless(why)));
            return soon("next attempt", left) + &why.unwrap_or_default();
        }
        WaitKind::Approval => "approval",
        WaitKind::Signal => "a signal",
        WaitKind::Child => "another run",
        WaitKind::Slot => return held("a slot", waiting, now),
        WaitKind::Disk => return held("room on the disk", waiting, now),
    };
    let since = duration::coarse(now.0.saturating_sub(waiting.since.0));
    let most = left.map(|left| format!(", {} left", duration::coarse(left))).unwrap_or_default();
    format!("waits for {what} since {since}{most}")
}

/// `waits for a slot since 3 m: 2 of 2 runs of …`. When it is looked at again is of no interest.
fn held(what: &str, waiting: &Waiting, now: Timestamp) -> String {
    let since = duration::coarse(now.0.saturating_sub(waiting.since.0));
    let why = waiting.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("waits for {what} since {since}{}", harmless(&why))
}

fn soon(what: &str, left: Option<i64>) -> String {
    match left {
        Some(left) if left > 0 => format!("{what} in {}", duration::coarse(left)),
        Some(_) => format!("{what} now"),
        None => format!("{what} later"),
    }
}

/// Whether one of the steps says what the run waits for, so that the run itself need not.
pub(super) fn is_in_a_step(run: &RunRecord) -> bool {
    // Without a reason it is the step that is tried again, which says so itself.
    let is_of_step = |waiting: &Waiting| waiting.kind == WaitKind::Retry && waiting.why.is_none();
    let is_retry = run.waiting.as_ref().is_some_and(is_of_step);
    is_retry || run.current_step.as_ref().is_some_and(|step| is_in(run, step))
}

/// Whether it is this step that the run waits in: the one whose attempt just failed, or else the innermost open one.
pub(super) fn is_in(run: &RunRecord, step: &StepRecord) -> bool {
    let Some(waiting) = &run.waiting else { return false };
    match waiting.kind {
        WaitKind::Retry if waiting.why.is_none() => {
            step.status == StepStatus::Retrying && step.updated_at == waiting.since
        }
        _ => {
            step.status == StepStatus::Running
                && run.current_step.as_ref().is_some_and(|current| current.id == step.id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_says_for_what_and_how_long() {
        let at = |kind, until| {
            let waiting = Waiting::new(kind, Timestamp(0), until);
            words(&waiting, Timestamp(180_000))
        };
        assert_eq!(at(WaitKind::Approval, None), "waits for approval since 3 m");
        assert_eq!(
            at(WaitKind::Signal, Some(Timestamp(7_380_000))),
            "waits for a signal since 3 m, 2 h left"
        );
        assert_eq!(at(WaitKind::Retry, Some(Timestamp(184_000))), "next attempt in 4 s");
        assert_eq!(at(WaitKind::Timer, Some(Timestamp(180_000))), "continues now");
        assert_eq!(at(WaitKind::Retry, None), "next attempt later");
        let why = Some("1 of 1 runs of `a` in this repository at work: a-bcdefg".to_owned());
        let waiting = Waiting::new(WaitKind::Slot, Timestamp(0), Some(Timestamp(999_000)));
        assert_eq!(
            words(&Waiting { why, ..waiting }, Timestamp(180_000)),
            "waits for a slot since 3 m: 1 of 1 runs of `a` in this repository at work: a-bcdefg"
        );
    }
}
