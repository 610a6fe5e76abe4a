//! Switches to changed sources: whatever somebody edits, finished work stays finished and the run goes on.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use agentos_core::entry::{Entry, OperationResult, Record, RunOutcome, StepOutcome};
use agentos_core::rebase::{RebaseError, generation};

use super::driver::Driver;
use super::plan::{Fault, Plan};
use super::report::{Ending, Report};
use super::scenario::Scenario;
use crate::chance::Chance;
use crate::script::edited;

/// How many edits are tried on one scenario.
const EDITS: u32 = 6;

/// What became of the switches of one scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Edits {
    /// Executions of edited programs.
    pub schedules: u64,
    /// Executions in which the run was moved.
    pub made: u64,
    /// Switches that were refused.
    pub refused: u64,
    /// Bodies that were played.
    pub played: u64,
}

/// Moves a run to edited versions of its program, somewhere on its way.
///
/// # Errors
/// A sentence about the first switch that is wrong.
pub fn check_edits(scenario: &Scenario, points: u64) -> Result<Edits, String> {
    let mut chance = Chance::new(format!("edits {}", scenario.seed));
    let mut edits = Edits::default();
    let end = u32::try_from(points).unwrap_or(u32::MAX).max(1);
    for _ in 0..EDITS {
        let program = Rc::new(edited(&scenario.program, &mut chance));
        let moved = Scenario { edit: Some(Rc::clone(&program)), ..scenario.clone() };
        let at = u64::from(chance.below(end));
        let once = Plan::one(at, Fault::Switch);
        let later = at + 1 + u64::from(chance.below(8));
        let crashed = Plan::one(at, Fault::Switch).and(later, Fault::Crash);
        let twice = Plan::one(at, Fault::Switch).and(later, Fault::Switch);
        for plan in [once, crashed, twice] {
            let report = Driver::new(&moved, &plan).run();
            edits.schedules += 1;
            edits.played += check_moved(&report)
                .map_err(|error| format!("to `{program}` under {plan}: {error}"))?;
            edits.made += u64::from(report.refusals.is_empty());
            edits.refused += report.refusals.len() as u64;
        }
    }
    Ok(edits)
}

/// Whether a switch may be refused like this.
pub(super) fn is_refusal(error: &RebaseError) -> bool {
    matches!(
        error,
        RebaseError::Tied { .. }
            | RebaseError::OtherKind { .. }
            | RebaseError::Orphaned { .. }
            | RebaseError::Stuck(_)
            | RebaseError::Fails(_)
    )
}

/// What must hold of a run that was moved. How many bodies were played in it.
fn check_moved(report: &Report) -> Result<u64, String> {
    if let Some(violation) = report.violations.first() {
        return Err(violation.clone());
    }
    match &report.ending {
        Ending::Ended(_) | Ending::Parked => {}
        other => return Err(format!("{other:?}")),
    }
    let mut arrived = HashSet::new();
    let arrivals = generation(&report.log).iter().filter_map(|record| record.entry.message_key());
    if let Some(key) = arrivals.into_iter().find(|key| !arrived.insert(*key)) {
        return Err(format!("the message {key} came in twice"));
    }
    let lives: Vec<&[Record]> =
        report.log.split(|record| matches!(record.entry, Entry::SourceSwitched { .. })).collect();
    let mut played = 0;
    for (before, after) in lives.iter().zip(lives.iter().skip(1)) {
        let repeated = finished(before).into_iter().find(|id| report.starts.get(id) > Some(&1));
        if let Some(repeated) = repeated {
            return Err(format!("{repeated} had finished and was started again"));
        }
        played += check_bodies(before, after)?;
    }
    Ok(played)
}

/// Operations that had come to an end of their own.
fn finished(log: &[Record]) -> BTreeSet<String> {
    let ended = log.iter().filter_map(|record| match &record.entry {
        Entry::OperationEnded { operation, result } if *result != OperationResult::Cancelled {} => {
            Some(operation.to_string())
        }
        Entry::ChildEnded { operation, outcome, .. }
            if !matches!(outcome, RunOutcome::Cancelled { .. }) =>
        {
            Some(operation.to_string())
        }
        _ => None,
    });
    ended.collect()
}

/// A body that is played comes to the end that it had, unless what is around it ends first.
fn check_bodies(before: &[Record], after: &[Record]) -> Result<u64, String> {
    let outcomes = |log: &[Record]| -> BTreeMap<String, StepOutcome> {
        let ends = log.iter().filter_map(|record| match &record.entry {
            Entry::StepEnded { step, outcome } => Some((step.to_string(), outcome.clone())),
            _ => None,
        });
        ends.collect()
    };
    let (was, is) = (outcomes(before), outcomes(after));
    let mut played = 0;
    for record in after {
        if let Entry::BodyKept(kept) = &record.entry {
            let step = kept.step.to_string();
            // It may be asked for only later, or never.
            let Some(end) = is.get(&step) else { continue };
            if was.get(&step).is_some_and(|was| was != end) && *end != (StepOutcome::Cancelled {}) {
                return Err(format!("{step} ended as {end:?}, not as {:?}", was.get(&step)));
            }
            played += 1;
        }
    }
    Ok(played)
}
