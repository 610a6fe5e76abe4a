//! Everything that can be seen of a simulated run when it is over.

use std::collections::BTreeMap;

use agentos_core::codec::{Chunk, decode, encode};
use agentos_core::entry::{Entry, Record, RunOutcome, RunStarted};
use agentos_core::execution::{AdvanceError, Execution, Options};
use agentos_core::id::RunId;
use agentos_core::journal::Journal;
use agentos_core::rebase::{RebaseError, generation};
use agentos_core::time::Timestamp;
use agentos_core::turn::LogLine;

use super::scenario::Scenario;
use crate::script::{Script, Trace};

/// How a simulated run came to its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// It ended.
    Ended(RunOutcome),
    /// It waits for a signal that will never come.
    Parked,
    /// The core refused to go on.
    Refused(AdvanceError),
    /// Something else refused to go on.
    Stuck(String),
    /// It could not be moved to another source.
    Unmoved(RebaseError),
    /// It did not come to an end within the bounds of the simulation.
    Endless,
}

/// What can be seen of a simulated run, and of those it invoked.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// What its program does and sees when its log is executed again from the top.
    pub trace: Trace,
    /// Its log.
    pub log: Vec<Record>,
    /// The log, as it was committed.
    pub chunks: Vec<Chunk>,
    /// Traces and logs of the runs it invoked.
    pub children: BTreeMap<RunId, (Trace, Vec<Record>)>,
    /// How often each operation was started.
    pub starts: BTreeMap<String, u32>,
    /// Its log file.
    pub lines: Vec<LogLine>,
    /// The clock at its end.
    pub finished_at: i64,
    /// How many points the driver passed.
    pub points: u64,
    /// Switches to another source that were refused.
    pub refusals: Vec<RebaseError>,
    /// What must never happen and did.
    pub violations: Vec<String>,
}

/// Executes a finished log again, written down and read back. It must lead to the same place and decide nothing new.
pub(super) fn trace_of(
    scenario: &Scenario,
    log: &[Chunk],
    finished_at: i64,
) -> Result<Trace, String> {
    let read: Result<Vec<Chunk>, _> = log.iter().map(|chunk| decode(&encode(chunk))).collect();
    let read = read.map_err(|error| format!("the log can't be read back: {error}"))?;
    if read != log {
        return Err("the log is read back as another one".into());
    }
    let records: Vec<Record> = read.into_iter().flat_map(Chunk::into_records).collect();
    let program = program_of(scenario, &records);
    let journal =
        Journal::fold(records).map_err(|error| format!("the log does not fold: {error}"))?;
    // Whoever only looks back has not been missing.
    let options =
        Options { turn_entries: scenario.turn_entries, was_parked: true, ..Options::default() };
    let (execution, turn) = Execution::replay(program, journal, options, Timestamp(finished_at))
        .map_err(|error| format!("the log can't be executed again: {error}"))?;
    match turn.chunk.entries.first() {
        Some(entry) => Err(format!("executing the log again decided something new: {entry:?}")),
        None => Ok(execution.program().trace().take()),
    }
}

/// The program that a log is of.
pub(super) fn program_of(scenario: &Scenario, log: &[Record]) -> Script {
    let workflow = start_of(log).map_or_else(String::new, |start| start.workflow.to_string());
    let edition = edition_of(log);
    let is_first = start_of(log).is_some_and(|start| start.run == scenario.run());
    let program = if is_first { scenario.edition(edition) } else { scenario.program_of(&workflow) };
    Script::edition(program, edition)
}

/// The edition of the source that a log is executed with.
#[must_use]
pub fn edition_of(log: &[Record]) -> u32 {
    start_of(log).and_then(|start| start.definition.parse().ok()).unwrap_or(0)
}

fn start_of(log: &[Record]) -> Option<&RunStarted> {
    match generation(log).first().map(|record| &record.entry) {
        Some(Entry::RunStarted(start)) => Some(start),
        _ => None,
    }
}
