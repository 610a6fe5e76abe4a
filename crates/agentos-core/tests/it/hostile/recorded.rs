//! Logs as the simulation records them.

use std::sync::LazyLock;

use agentos_core::entry::Record;
use agentos_testing::script::Node;
use agentos_testing::simulation::{Driver, Plan, Scenario};

/// How many scenarios there are to choose from.
pub(super) const SEEDS: u64 = 48;

/// A program with the log of its run.
#[derive(Debug, Clone)]
pub(super) struct Recording {
    pub(super) program: Node,
    pub(super) turn_entries: usize,
    pub(super) log: Vec<Record>,
}

static RECORDINGS: LazyLock<Vec<Recording>> = LazyLock::new(|| (0..SEEDS).map(record).collect());

fn record(seed: u64) -> Recording {
    let scenario = Scenario::generate(seed);
    let log = Driver::new(&scenario, &Plan::quiet()).run().log;
    Recording { program: (*scenario.program).clone(), turn_entries: scenario.turn_entries, log }
}

pub(super) fn recording(seed: u64) -> Recording {
    RECORDINGS[usize::try_from(seed % SEEDS).expect("a small number")].clone()
}
