//! What must hold across deaths: a finished operation is never repeated.
//!
//! The log says what is finished, an outside file says how often it was done. Both are read after each death: what the log
//! had as finished by then is never done again, and nothing is done more often than it was ordered.

use std::collections::BTreeMap;

use agentos_core::entry::Entry;
use agentos_store::list::RunFilter;
use agentos_store::log::load_whole_log;
use agentos_store::store::Store as _;

use crate::support::House;

/// Everything that was seen to be finished, with how often it had been done by then.
#[derive(Default)]
pub(crate) struct Audit {
    finished: BTreeMap<String, u32>,
}

impl Audit {
    /// Compares log and world, between two lives or after the last.
    pub(crate) async fn check(&mut self, house: &House, when: &str) {
        let counts = house.ledger().counts();
        let done = |line: &str| counts.get(line).copied().unwrap_or(0);
        for (line, before) in &self.finished {
            assert_eq!(done(line), *before, "{line} was finished and is repeated {when}");
        }
        for (line, ordered) in ordered(house).await {
            assert!(done(&line) <= ordered.tries, "{line} was done too often {when}: {counts:?}");
            if ordered.is_finished {
                self.finished.insert(line.clone(), done(&line));
            }
        }
    }

    pub(crate) fn finished(&self) -> usize {
        self.finished.len()
    }
}

#[derive(Default)]
struct Ordered {
    /// How often it was ordered: once, and again after each interruption.
    tries: u32,
    is_finished: bool,
}

/// What the logs of all runs say of their operations, as the ledger names them.
async fn ordered(house: &House) -> BTreeMap<String, Ordered> {
    let store = house.look();
    let page = store.list_runs(RunFilter::default(), None, 100).await.expect("runs are listed");
    let mut all: BTreeMap<String, Ordered> = BTreeMap::new();
    for run in page.runs.into_iter().map(|listed| listed.run) {
        let log = load_whole_log(&store, run).await.expect("the log can be read");
        for entry in log.into_iter().flat_map(|chunk| chunk.entries) {
            match entry {
                Entry::OperationOrdered { operation, .. }
                | Entry::OperationRetried { operation, .. } => {
                    all.entry(format!("{run} {operation}")).or_default().tries += 1;
                }
                Entry::OperationEnded { operation, .. } => {
                    all.entry(format!("{run} {operation}")).or_default().is_finished = true;
                }
                _ => {}
            }
        }
    }
    all
}
