//! Runs that could not be driven: left alone for a while, longer each time.
//!
//! A workflow that can't be loaded or a log that can't be read stays so until somebody does something about it. Trying
//! again and again at once would burn the machine, and giving up for good would lose the run.

use std::collections::HashMap;

use agentos_core::id::RunId;
use agentos_core::time::{Millis, Timestamp};

const FIRST_MS: u64 = 1_000;
const LONGEST_MS: u64 = 5 * 60 * 1_000;

/// Who is left alone, and until when.
#[derive(Debug, Default)]
pub(crate) struct Troubled {
    runs: HashMap<RunId, Trouble>,
}

#[derive(Debug)]
struct Trouble {
    until: Timestamp,
    pause_ms: u64,
}

impl Troubled {
    /// A run could not be driven.
    pub(crate) fn add(&mut self, run: RunId, now: Timestamp) {
        let known = self.runs.get(&run).map(|trouble| trouble.pause_ms.saturating_mul(2));
        let pause_ms = known.unwrap_or(FIRST_MS).min(LONGEST_MS);
        let until = now.after(Millis::new(pause_ms));
        self.runs.insert(run, Trouble { until, pause_ms });
    }

    /// Whether a run is left alone.
    pub(crate) fn rests(&self, run: RunId, now: Timestamp) -> bool {
        self.runs.get(&run).is_some_and(|trouble| trouble.until > now)
    }

    /// A run was driven again.
    pub(crate) fn remove(&mut self, run: RunId) {
        self.runs.remove(&run);
    }

    /// How many are left alone, or were.
    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    /// When the next one is tried again.
    pub(crate) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        self.runs.values().map(|trouble| trouble.until).filter(|until| *until > now).min()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn each_time_it_takes_longer_until_a_run_is_tried_again() {
        let (run, mut troubled) = (RunId(Uuid::nil()), Troubled::default());
        let mut now = Timestamp(0);
        for pause in [1_000, 2_000, 4_000] {
            troubled.add(run, now);
            assert!(troubled.rests(run, Timestamp(now.0 + pause - 1)));
            assert_eq!(troubled.next(now), Some(Timestamp(now.0 + pause)));
            now = Timestamp(now.0 + pause);
            assert!(!troubled.rests(run, now));
        }
        for _ in 0..20 {
            troubled.add(run, now);
        }
        assert_eq!(troubled.next(now), Some(Timestamp(now.0 + 300_000)));
        troubled.remove(run);
        troubled.add(run, now);
        assert_eq!(troubled.next(now), Some(Timestamp(now.0 + 1_000)));
    }
}
