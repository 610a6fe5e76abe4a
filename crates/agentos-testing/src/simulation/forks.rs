//! Forks and retries of recorded runs: they keep what they should, and live on by themselves.

use std::collections::BTreeSet;
use std::rc::Rc;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, Record, RunOutcome, RunStarted};
use agentos_core::rebase::{Destination, Keep, Names, Rebase, RebaseError, generation};
use agentos_core::time::Timestamp;
use agentos_store::run::History;

use super::driver::Driver;
use super::plan::{Fault, Plan};
use super::report::{Ending, Report};
use super::scenario::Scenario;
use crate::script::Script;

/// How long after a run's end it is forked.
const LATER: i64 = 500;

/// A run made out of another one's log.
pub struct Fork {
    /// Its first entry.
    pub first: Entry,
    /// What it has behind it.
    pub history: History,
    /// Operations whose answers it kept.
    pub kept: BTreeSet<String>,
    /// When it begins.
    pub at: i64,
}

impl Fork {
    /// Makes a run out of a log.
    ///
    /// # Errors
    /// As [`Rebase::run`].
    pub fn new(scenario: &Scenario, log: &[Record], keep: Keep) -> Result<Self, RebaseError> {
        let Some(Entry::RunStarted(start)) = generation(log).first().map(|record| &record.entry)
        else {
            return Err(RebaseError::Empty);
        };
        // Somebody forks it some time after it has ended.
        let at = log.last().map_or(0, |last| last.at.0 + LATER);
        let start = RunStarted {
            forked_from: Some(start.run),
            timeout_ms: None,
            deadline: None,
            ..start.clone()
        };
        let rebase = Rebase {
            log,
            start,
            keep,
            now: Timestamp(at),
            into: Destination::NewRun,
            old_names: Names::default(),
            new_names: Names::default(),
        };
        let program = || Script::new(Rc::clone(&scenario.program));
        let rebased = rebase.run(program)?;
        let mut records = rebased.chunks.iter().cloned().flat_map(Chunk::into_records);
        let first = records.next().ok_or(RebaseError::Empty)?.entry;
        Ok(Self {
            first,
            kept: answered(&rebased.chunks),
            history: History { rest: rest(rebased.chunks), standing: rebased.standing },
            at,
        })
    }

    /// Lets the run go on in a world that knows nothing of the one it came from.
    #[must_use]
    pub fn run(&self, scenario: &Scenario, plan: &Plan) -> Report {
        let alone = Scenario { mail: Vec::new(), ..scenario.clone() };
        let driver =
            Driver::with_history(&alone, plan, self.first.clone(), Some(self.history.clone()));
        driver.from_time(self.at).run()
    }
}

/// The chunks without the very first entry, which the store wants by itself.
fn rest(chunks: Vec<Chunk>) -> Vec<Chunk> {
    let mut rest = chunks;
    if let Some(beginning) = rest.first_mut() {
        beginning.entries.remove(0);
        beginning.first = beginning.first.next();
    }
    rest.retain(|chunk| !chunk.entries.is_empty());
    rest
}

fn answered(chunks: &[Chunk]) -> BTreeSet<String> {
    let entries = chunks.iter().flat_map(|chunk| &chunk.entries);
    entries
        .filter_map(|entry| match entry {
            Entry::OperationEnded { operation, .. } | Entry::ChildEnded { operation, .. } => {
                Some(operation.to_string())
            }
            _ => None,
        })
        .collect()
}

/// Forks a recorded run at each of its steps, and mends it if it failed.
///
/// # Errors
/// A sentence about the first fork that is wrong.
pub fn check_forks(scenario: &Scenario, recorded: &Report) -> Result<u64, String> {
    let numbers = generation(&recorded.log).iter().filter_map(|record| match &record.entry {
        Entry::StepRequested { number, .. } | Entry::OperationOrdered { number, .. } => *number,
        _ => None,
    });
    let mut keeps: Vec<Keep> = numbers.map(Keep::BeforeStep).collect();
    if matches!(&recorded.ending, Ending::Ended(outcome) if !matches!(outcome, RunOutcome::Completed { .. }))
    {
        keeps.push(Keep::Finished);
    }
    let mut schedules = 0;
    for keep in keeps {
        let fork = Fork::new(scenario, &recorded.log, keep)
            .map_err(|error| format!("{keep:?} can't be made: {error}"))?;
        check_prefix(recorded, &fork, keep)?;
        for plan in [Plan::quiet(), Plan::one(1, Fault::Crash), Plan::one(4, Fault::Switch)] {
            let report = fork.run(scenario, &plan);
            schedules += 1;
            check_fork(&fork, &report)
                .map_err(|error| format!("{keep:?} under {plan}: {error}"))?;
        }
    }
    Ok(schedules)
}

/// What must hold of every fork.
fn check_fork(fork: &Fork, report: &Report) -> Result<(), String> {
    if let Some(violation) = report.violations.first() {
        return Err(violation.clone());
    }
    if let Some(repeated) = report.starts.keys().find(|id| fork.kept.contains(*id)) {
        return Err(format!("{repeated} had finished and was started again"));
    }
    match &report.ending {
        Ending::Ended(_) | Ending::Parked => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// Up to its cut, a fork's log is the log that it was forked from.
fn check_prefix(recorded: &Report, fork: &Fork, keep: Keep) -> Result<(), String> {
    let Keep::BeforeStep(cut) = keep else {
        return Ok(());
    };
    let is_cut = |entry: &Entry| matches!(entry, Entry::StepRequested { number, .. } | Entry::OperationOrdered { number, .. } if *number == Some(cut));
    let old = generation(&recorded.log).iter().skip(1).map(|record| (record.at, &record.entry));
    let mut new = fork
        .history
        .rest
        .iter()
        .flat_map(|chunk| chunk.entries.iter().map(move |entry| (chunk.at, entry)));
    for (at, entry) in old.take_while(|(_, entry)| !is_cut(entry)) {
        // Being told to end is not kept, and neither is anything that only followed from it.
        if matches!(
            entry,
            Entry::CancelRequested { .. } | Entry::RunFailing { .. } | Entry::GraceExpired { .. }
        ) {
            return Ok(());
        }
        let found = new.next();
        if found != Some((at, entry)) {
            return Err(format!(
                "fork before step {cut:?}: {found:?} instead of {:?}",
                (at, entry)
            ));
        }
    }
    Ok(())
}
