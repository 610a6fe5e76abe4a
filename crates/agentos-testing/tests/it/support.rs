//! What the tests of single scenarios share.

use agentos_core::entry::{Entry, RunOutcome};
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
