//! What must hold of a scenario, whatever strikes it.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use agentos_core::entry::{Entry, Record, RunStarted};
use agentos_core::rebase::generation;
use agentos_core::time::Timestamp;

use super::driver::Driver;
use super::edits::check_edits;
use super::forks::check_forks;
use super::plan::{Fault, Plan, Sabotage};
use super::report::{Ending, Report};
use super::rules::broken_rule;
use super::scenario::Scenario;
use crate::chance::Chance;

/// Something that must hold and does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Which rule; the same for all failures of one kind, so that shrinking keeps to it.
    pub rule: &'static str,
    /// Under which plan.
    pub plan: Plan,
    /// What was expected and what came.
    pub detail: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} under {}: {}", self.rule, self.plan, self.detail)
    }
}

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Check {
    /// Executions of the program.
    pub schedules: u64,
    /// Entries in the uninterrupted run's log.
    pub entries: u64,
    /// Switches to changed sources.
    pub switches: u64,
    /// Bodies that were played in them.
    pub played: u64,
}

/// How thoroughly a scenario is looked at.
const DOUBLE_FAULTS: u32 = 12;

/// Executes a scenario without a fault, then under every single crash and a choice of worse, and compares.
///
/// # Errors
/// The first [`Mismatch`].
pub fn check(scenario: &Scenario) -> Result<Check, Mismatch> {
    check_sabotaged(scenario, None)
}

/// As [`check`], with a driver that does something wrong.
///
/// # Errors
/// The first [`Mismatch`]: there should be one.
pub fn check_sabotaged(scenario: &Scenario, sabotage: Option<Sabotage>) -> Result<Check, Mismatch> {
    let quiet = Plan::quiet();
    let baseline = Driver::new(scenario, &quiet).run();
    check_report(&baseline, &quiet)?;
    let mut check = Check { schedules: 1, entries: baseline.log.len() as u64, ..Check::default() };
    if sabotage.is_none() {
        check = check_moves(scenario, &baseline, check)?;
    }
    for plan in plans(scenario, baseline.points) {
        let plan = plan.sabotaged(sabotage);
        check_plan(scenario, &baseline, &plan)?;
        check.schedules += 1;
    }
    Ok(check)
}

/// Forks the run, and moves it to other sources.
fn check_moves(scenario: &Scenario, baseline: &Report, check: Check) -> Result<Check, Mismatch> {
    let quiet = Plan::quiet();
    let forks = check_forks(scenario, baseline).map_err(|detail| Mismatch {
        rule: "a fork is wrong",
        plan: quiet.clone(),
        detail,
    })?;
    let edits = check_edits(scenario, baseline.points).map_err(|detail| Mismatch {
        rule: "a switch to a changed source is wrong",
        plan: quiet.clone(),
        detail,
    })?;
    Ok(Check {
        schedules: check.schedules + forks + edits.schedules,
        switches: edits.made,
        played: edits.played,
        ..check
    })
}

/// Every point with a crash, and each with some other fault; then choices of two and three in a row.
fn plans(scenario: &Scenario, points: u64) -> Vec<Plan> {
    let mut chance = Chance::new(format!("plans {}", scenario.seed));
    let mut plans: Vec<Plan> = (0..points).map(|point| Plan::one(point, Fault::Crash)).collect();
    plans.extend((0..points).map(|point| Plan::one(point, any_fault(&mut chance))));
    let end = u32::try_from(points).unwrap_or(u32::MAX);
    for _ in 0..DOUBLE_FAULTS {
        let first = u64::from(chance.below(end));
        // The second strikes while the run recovers from the first.
        let second = first + 1 + u64::from(chance.below(6));
        plans
            .push(Plan::one(first, exact_fault(&mut chance)).and(second, exact_fault(&mut chance)));
        let third = second + 1 + u64::from(chance.below(end));
        plans.push(
            Plan::one(first, any_fault(&mut chance))
                .and(second, any_fault(&mut chance))
                .and(third, any_fault(&mut chance)),
        );
    }
    plans.push(Plan::quiet().said_twice());
    plans.push(Plan::one(u64::from(chance.below(end)), Fault::Crash).said_twice());
    plans
}

fn exact_fault(chance: &mut Chance) -> Fault {
    match chance.below(8) {
        7 => Fault::Switch,
        0 => Fault::LostAcknowledgement,
        1 => Fault::LostCommit,
        2 => Fault::LateCommit(u64::from(1 + chance.below(4))),
        3 => Fault::Full,
        4 | 5 => Fault::Hang(u64::from(1 + chance.below(12))),
        _ => Fault::Crash,
    }
}

fn any_fault(chance: &mut Chance) -> Fault {
    match chance.below(11) {
        // A little, and by more than anything takes.
        10 => Fault::ClockSetBack(i64::from(*chance.pick(&[1, 3, 40]))),
        0 => Fault::CrashFor(i64::from(1 + chance.below(6))),
        // Long enough for the log to say that nobody was there.
        1 => Fault::CrashFor(100_000),
        2 => Fault::PowerCut(i64::from(chance.below(4))),
        _ => exact_fault(chance),
    }
}

/// Executes a scenario under one plan and compares it with the uninterrupted run.
///
/// # Errors
/// The first [`Mismatch`].
pub fn check_plan(scenario: &Scenario, baseline: &Report, plan: &Plan) -> Result<(), Mismatch> {
    let report = Driver::new(scenario, plan).run();
    check_report(&report, plan)?;
    if plan.is_exact() && has_one_order(baseline) {
        compare(baseline, &report, plan)
    } else {
        Ok(())
    }
}

/// Whether what comes in from other runs comes in alone. Runs that end at the same moment may do so in another order
/// after a crash, and whoever invoked them sees that.
fn has_one_order(report: &Report) -> bool {
    let logs = report.children.values().map(|(_, log)| log).chain([&report.log]);
    logs.into_iter().all(|log| {
        let outside = || log.iter().filter(|record| record.by.is_none());
        let ends = outside().filter(|record| matches!(record.entry, Entry::ChildEnded { .. }));
        ends.into_iter().all(|end| outside().filter(|other| other.at == end.at).count() == 1)
    })
}

/// What must hold of every single run.
fn check_report(report: &Report, plan: &Plan) -> Result<(), Mismatch> {
    let mismatch = |rule, detail| Err(Mismatch { rule, plan: plan.clone(), detail });
    if let Some(violation) = report.violations.first() {
        return mismatch("something happened that must never happen", violation.clone());
    }
    let logs = report.children.values().map(|(_, log)| log).chain([&report.log]);
    if let Some(broken) = logs.into_iter().find_map(|log| broken_rule(log)) {
        return mismatch("a log breaks a rule", broken);
    }
    match &report.ending {
        Ending::Refused(error) => return mismatch("the core refused to go on", error.to_string()),
        Ending::Endless => return mismatch("the run came to no end", last(&report.trace)),
        Ending::Stuck(error) => return mismatch("the run could not go on", error.clone()),
        Ending::Unmoved(error) => {
            return mismatch("the run could not be moved", error.to_string());
        }
        Ending::Ended(_) | Ending::Parked => {}
    }
    let repeated = report.starts.iter().find(|(_, starts)| **starts > 1);
    match repeated {
        Some((operation, starts)) if plan.is_exact() => {
            mismatch("an operation was repeated", format!("{operation} was started {starts} times"))
        }
        _ => Ok(()),
    }
}

fn compare(expected: &Report, found: &Report, plan: &Plan) -> Result<(), Mismatch> {
    let mismatch = |rule, detail| Err(Mismatch { rule, plan: plan.clone(), detail });
    // The program sees nothing of bodies that are played; the log has all they did.
    let plays = found.log.iter().any(|record| matches!(record.entry, Entry::BodyKept(_)));
    if let Some(place) = differing(&expected.trace, &found.trace).filter(|_| !plays) {
        return mismatch(
            "the program did something else",
            around(&expected.trace, &found.trace, place),
        );
    }
    let (was, is) = (facts(&expected.log), facts(&found.log));
    if let Some(place) = differing(&was, &is) {
        return mismatch("the log is another one", around(&was, &is, place));
    }
    if expected.children != found.children {
        return mismatch("the child runs are others", format!("{:?}", found.children.keys()));
    }
    if needed_starts(expected) != needed_starts(found) {
        return mismatch(
            "other effects were performed",
            format!("{:?}, not {:?}", found.starts, expected.starts),
        );
    }
    let (was, is) = (lines(expected), lines(found));
    if let Some(place) = differing(&was, &is) {
        return mismatch("the log file is another one", around(&was, &is, place));
    }
    if (&expected.ending, expected.finished_at) != (&found.ending, found.finished_at) {
        return mismatch(
            "the run ended otherwise",
            format!("{:?}, not {:?}", found.ending, expected.ending),
        );
    }
    Ok(())
}

/// What stands in the log file.
fn lines(report: &Report) -> Vec<(Timestamp, &str, &str)> {
    let lines = report.lines.iter();
    lines.map(|line| (line.at, line.scope.as_str(), line.message.as_str())).collect()
}

/// How often operations were started that nobody wanted stopped. Whether one that was taken back at once had started
/// before depends on where its turn was cut.
fn needed_starts(report: &Report) -> BTreeMap<&str, u32> {
    let stopped: HashSet<&str> = report
        .log
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::OperationCancelOrdered { operation } => Some(operation.as_str()),
            _ => None,
        })
        .collect();
    let starts = report.starts.iter().map(|(operation, starts)| (operation.as_str(), *starts));
    starts.filter(|(operation, _)| !stopped.contains(operation)).collect()
}

/// What a log says, wherever it stands and whatever the source's edition: a source switch moves it and leaves marks.
pub(super) fn facts(log: &[Record]) -> Vec<(Timestamp, Entry)> {
    let said = generation(log).iter().filter_map(|record| match &record.entry {
        Entry::BodyKept(_) | Entry::RunRebased { .. } => None,
        Entry::RunStarted(start) => {
            let start = RunStarted { definition: String::new(), ..start.clone() };
            Some((record.at, Entry::RunStarted(start)))
        }
        Entry::StepRequested { step, number, retry, timeout_ms, .. } => {
            let (step, number, retry) = (step.clone(), *number, *retry);
            let timeout_ms = *timeout_ms;
            let asked = Entry::StepRequested {
                step,
                number,
                retry,
                timeout_ms,
                rolls_back: false,
                body: None,
                site: None,
            };
            Some((record.at, asked))
        }
        other => Some((record.at, other.clone())),
    });
    said.collect()
}

fn differing<T: PartialEq>(expected: &[T], found: &[T]) -> Option<usize> {
    if expected == found {
        return None;
    }
    Some(expected.iter().zip(found).take_while(|(expected, found)| expected == found).count())
}

fn around<T: fmt::Debug>(expected: &[T], found: &[T], place: usize) -> String {
    let from = place.saturating_sub(3);
    let part = |of: &[T]| -> Vec<String> {
        of.iter().skip(from).take(6).map(|item| format!("{item:?}")).collect()
    };
    format!(
        "at {place}:\n    expected {}\n    found    {}",
        part(expected).join(", "),
        part(found).join(", ")
    )
}

fn last(trace: &[String]) -> String {
    trace.iter().rev().take(5).cloned().collect::<Vec<_>>().join(", ")
}
