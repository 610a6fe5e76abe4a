//! What the tests of single scenarios share.

use std::rc::Rc;

use agentos_core::codec::{Cause, Chunk};
use agentos_core::entry::{Entry, Record, RunOutcome};
use agentos_core::rebase::{RebaseError, Rebased, switch};
use agentos_core::time::Timestamp;
use agentos_store::run::History;
use agentos_testing::script::{Node, Script};
use agentos_testing::simulation::{Driver, Ending, Plan, Report, Scenario, check};

/// Executes a scenario quietly, after it has survived every fault.
pub(crate) fn survives(scenario: &Scenario) -> Report {
    if let Err(mismatch) = check(scenario) {
        panic!("{}\n{mismatch}", scenario.program);
    }
    Driver::new(scenario, &Plan::quiet()).run()
}

pub(crate) fn outcome(report: &Report) -> &RunOutcome {
    match &report.ending {
        Ending::Ended(outcome) => outcome,
        other => panic!("the run did not end: {other:?}"),
    }
}

pub(crate) fn completes(report: &Report) {
    assert!(matches!(outcome(report), RunOutcome::Completed { .. }), "{:?}", report.ending);
}

pub(crate) fn position(report: &Report, event: &str) -> usize {
    let found = report.trace.iter().position(|seen| seen.starts_with(event));
    found.unwrap_or_else(|| panic!("`{event}` is not in {:#?}", report.trace))
}

pub(crate) fn saw(report: &Report, event: &str) -> bool {
    report.trace.iter().any(|seen| seen.starts_with(event))
}

pub(crate) fn entries<'a, T>(
    report: &'a Report,
    pick: impl Fn(&'a Entry) -> Option<T> + 'a,
) -> Vec<T> {
    report.log.iter().filter_map(|record| pick(&record.entry)).collect()
}

pub(crate) fn kinds(report: &Report) -> Vec<&'static str> {
    report.log.iter().map(|record| record.entry.kind()).collect()
}

/// The same scenario in worlds in which things that happen at once happen in different orders.
pub(crate) fn worlds(scenario: &Scenario) -> impl Iterator<Item = Scenario> {
    (0..12).map(|world| Scenario { seed: format!("world {world}"), ..scenario.clone() })
}

pub(crate) fn quiet(scenario: &Scenario) -> Report {
    Driver::new(scenario, &Plan::quiet()).run()
}

/// The log up to each of its commits.
pub(crate) fn prefixes(report: &Report) -> Vec<Vec<Record>> {
    let chunks = &report.chunks;
    let upto = (1..=chunks.len())
        .map(|end| chunks[..end].iter().cloned().flat_map(Chunk::into_records).collect());
    upto.collect()
}

/// The log of a run as it was when this happened first.
pub(crate) fn until(report: &Report, happens: impl Fn(&Entry) -> bool) -> Vec<Record> {
    let logs = prefixes(report);
    logs.into_iter()
        .find(|log| log.iter().any(|record| happens(&record.entry)))
        .expect("it happens")
}

pub(crate) fn ended(name: &'static str) -> impl Fn(&Entry) -> bool {
    move |entry| matches!(entry, Entry::OperationEnded { operation, .. } if operation.as_str().contains(name))
}

pub(crate) fn ordered(name: &'static str) -> impl Fn(&Entry) -> bool {
    move |entry| matches!(entry, Entry::OperationOrdered { operation, .. } if operation.as_str().contains(name))
}

/// The scenario in a world in which no command fails.
pub(crate) fn lucky(scenario: impl Into<Lucky>) -> Scenario {
    let Lucky(scenario) = scenario.into();
    let seeds = (0..500).map(|seed| Scenario { seed: format!("lucky {seed}"), ..scenario.clone() });
    let mut lucky =
        seeds.filter(|scenario| !quiet(scenario).trace.iter().any(|event| event.contains(" ! E")));
    lucky.next().expect("some world is kind")
}

pub(crate) struct Lucky(Scenario);

impl From<Node> for Lucky {
    fn from(program: Node) -> Self {
        Self(Scenario::new(program))
    }
}

impl From<Scenario> for Lucky {
    fn from(scenario: Scenario) -> Self {
        Self(scenario)
    }
}

/// The tries under which an operation was ordered.
pub(crate) fn tries_of(log: &[Record], id: &str) -> Vec<u32> {
    let ordered = log.iter().filter_map(|record| match &record.entry {
        Entry::OperationOrdered { operation, r#try, .. } if operation.as_str() == id => {
            Some(r#try.0)
        }
        _ => None,
    });
    ordered.collect()
}

/// Moves a log to another program, at this time.
pub(crate) fn switched_at(
    log: &[Record],
    program: &Node,
    now: i64,
) -> Result<Rebased, RebaseError> {
    let program = Rc::new(program.clone());
    switch(log, "1".into(), Timestamp(now), || Script::new(Rc::clone(&program)))
}

/// Moves a log to another program, a while later.
pub(crate) fn switched(log: &[Record], program: &Node) -> Result<Rebased, RebaseError> {
    switched_at(log, program, 100)
}

/// What a run has in its log after it was moved.
pub(crate) fn records(rebased: &Rebased) -> Vec<Record> {
    rebased.chunks.iter().cloned().flat_map(Chunk::into_records).collect()
}

/// Lets a switched run go on, with nothing else coming in.
pub(crate) fn go_on(
    scenario: &Scenario,
    program: &Node,
    log: &[Record],
    rebased: &Rebased,
) -> Report {
    let mut moved = Scenario { program: Rc::new(program.clone()), ..scenario.clone() };
    moved.mail.clear();
    let chunks = log.iter().cloned().chain(records(rebased)).skip(1).map(|record| {
        let chunk = Chunk::new(record.seq, record.at, vec![record.entry]);
        let causes = record.by.map(|by| Cause { from: 0, by });
        Chunk { causes: causes.into_iter().collect(), ..chunk }
    });
    let history = History { began: log[0].at, rest: chunks.collect(), standing: rebased.standing };
    let first = log[0].entry.clone();
    Driver::with_history(&moved, &Plan::quiet(), first, Some(history)).from_time(200).run()
}
