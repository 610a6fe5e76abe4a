//! Forks and retries of recorded runs: they keep what they should, and live on by themselves.

use std::collections::BTreeSet;
use std::rc::Rc;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, Record, RunOutcome, RunStarted};
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::rebase::{Destination, Keep, Names, Rebase, RebaseError, generation};
use agentos_core::time::Timestamp;
use agentos_store::run::History;

use super::driver::Driver;
use super::edits::is_refusal;
use super::plan::{Fault, Plan};
use super::report::{Ending, Report, edition_of};
use super::scenario::Scenario;
use crate::chance::Chance;
use crate::script::{Node, Script, edited};

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
    program: Rc<Node>,
}

impl Fork {
    /// Makes a run out of a log.
    ///
    /// # Errors
    /// As [`Rebase::run`].
    pub fn new(scenario: &Scenario, log: &[Record], keep: Keep) -> Result<Self, RebaseError> {
        Self::under(&scenario.program, scenario, log, keep)
    }

    /// Makes a run out of a log, under another program.
    ///
    /// # Errors
    /// As [`Rebase::run`].
    pub fn under(
        program: &Rc<Node>,
        scenario: &Scenario,
        log: &[Record],
        keep: Keep,
    ) -> Result<Self, RebaseError> {
        let Some(Entry::RunStarted(start)) = generation(log).first().map(|record| &record.entry)
        else {
            return Err(RebaseError::Empty);
        };
        // Somebody forks it some time after it has ended.
        let at = log.last().map_or(0, |last| last.at.0 + LATER);
        let forked =
            Scenario { fork: scenario.fork + 1, program: Rc::clone(program), ..scenario.clone() };
        let start = RunStarted {
            run: forked.run(),
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
        let edition = edition_of(log);
        let rebased = rebase.run(|| Script::edition(Rc::clone(program), edition))?;
        let began = rebased.chunks.first().ok_or(RebaseError::Empty)?.at;
        let mut records = rebased.chunks.iter().cloned().flat_map(Chunk::into_records);
        let first = records.next().ok_or(RebaseError::Empty)?.entry;
        Ok(Self {
            first,
            kept: answered(&rebased.chunks),
            history: History { began, rest: rest(rebased.chunks), standing: rebased.standing },
            at,
            program: Rc::clone(program),
        })
    }

    /// Lets the run go on in a world that knows nothing of the one it came from.
    #[must_use]
    pub fn run(&self, scenario: &Scenario, plan: &Plan) -> Report {
        let alone = Scenario {
            mail: Vec::new(),
            fork: scenario.fork + 1,
            program: Rc::clone(&self.program),
            ..scenario.clone()
        };
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
    let mut chance = Chance::new(format!("forks {}", scenario.seed));
    let mut schedules = 0;
    for keep in keeps {
        let fork = Fork::new(scenario, &recorded.log, keep)
            .map_err(|error| format!("{keep:?} can't be made: {error}"))?;
        check_prefix(recorded, &fork, keep)?;
        schedules += check_edited(scenario, recorded, keep, &mut chance)?;
        for plan in [Plan::quiet(), Plan::one(1, Fault::Crash), Plan::one(4, Fault::Switch)] {
            let report = fork.run(scenario, &plan);
            schedules += 1;
            check_fork(&fork, &report)
                .map_err(|error| format!("{keep:?} under {plan}: {error}"))?;
        }
    }
    Ok(schedules)
}

/// Makes the same fork under an edited program.
fn check_edited(
    scenario: &Scenario,
    recorded: &Report,
    keep: Keep,
    chance: &mut Chance,
) -> Result<u64, String> {
    let program = Rc::new(edited(&scenario.program, chance));
    let wrong = |error: String| format!("{keep:?} to `{program}`: {error}");
    let fork = match Fork::under(&program, scenario, &recorded.log, keep) {
        Ok(fork) => fork,
        Err(error) if is_refusal(&error) => return Ok(0),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let report = fork.run(scenario, &Plan::quiet());
    check_fork(&fork, &report).map_err(wrong)?;
    Ok(1)
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
        Ending::Ended(_) => Ok(()),
        Ending::Parked if waits_for_somebody(&report.log) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// Whether something is open that only a message can answer.
fn waits_for_somebody(log: &[Record]) -> bool {
    let mut open: BTreeSet<&OperationId> = BTreeSet::new();
    for record in generation(log) {
        match &record.entry {
            Entry::OperationOrdered { operation, .. } => {
                open.insert(operation);
            }
            Entry::OperationEnded { operation, .. }
            | Entry::SignalConsumed { operation, .. }
            | Entry::TimerFired { operation } => {
                open.remove(operation);
            }
            _ => {}
        }
    }
    let by_message = [Some(OperationKind::Wait), Some(OperationKind::Approve)];
    open.into_iter().any(|operation| by_message.contains(&operation.kind()))
}

/// The entry without the child run that it names: what is not over is begun anew under another id.
fn childless(entry: &Entry) -> Entry {
    let mut entry = entry.clone();
    if let Entry::OperationOrdered { child, .. } = &mut entry {
        *child = None;
    }
    entry
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
        // What was under way in the old run is begun anew.
        if let Entry::OperationStarted { operation, .. }
        | Entry::OperationInterrupted { operation, .. }
        | Entry::OperationRetried { operation, .. } = entry
            && !fork.kept.contains(operation.as_str())
        {
            continue;
        }
        // Being told to end is not kept, and neither is anything that only followed from it.
        if matches!(
            entry,
            Entry::CancelRequested { .. } | Entry::RunFailing { .. } | Entry::GraceExpired { .. }
        ) {
            return Ok(());
        }
        let found = new.next();
        if found.map(|(at, entry)| (at, childless(entry))) != Some((at, childless(entry))) {
            return Err(format!(
                "fork before step {cut:?}: {found:?} instead of {:?}",
                (at, entry)
            ));
        }
    }
    Ok(())
}
