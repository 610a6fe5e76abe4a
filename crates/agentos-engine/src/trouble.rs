//! Runs that could not be driven: left alone for a while, longer each time.
//!
//! A workflow that can't be loaded or a log that can't be read stays so until somebody does something about it. Trying
//! again and again at once would burn the machine, and giving up for good would lose the run. While they rest, the store is
//! asked for the others: however many rest, they hide nobody.
//!
//! Pauses are lengths, so they are taken on a clock that nobody sets.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use agentos_core::id::RunId;
use agentos_store::due::Except;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5 * 60);

/// Who is left alone, and until when.
#[derive(Debug, Default)]
pub(crate) struct Troubled {
    /// How long each of them rests, or did last.
    pauses: HashMap<RunId, Duration>,
    resting: Except,
    awaken_at: BTreeSet<(Instant, RunId)>,
}

impl Troubled {
    /// A run could not be driven.
    pub(crate) fn add(&mut self, run: RunId, now: Instant) {
        let pause = self.pauses.get(&run).map_or(FIRST, |pause| (*pause * 2).min(LONGEST));
        self.pauses.insert(run, pause);
        if self.resting.insert(run) {
            self.awaken_at.insert((now + pause, run));
        }
    }

    /// Those who rest, once those whose rest is over are awake.
    pub(crate) fn resting(&mut self, now: Instant) -> &Except {
        while let Some((at, run)) = self.awaken_at.first().copied()
            && at <= now
        {
            self.awaken_at.pop_first();
            self.resting.remove(&run);
        }
        &self.resting
    }

    /// A run was driven again.
    pub(crate) fn remove(&mut self, run: RunId) {
        if self.pauses.remove(&run).is_some() && self.resting.remove(&run) {
            self.awaken_at.retain(|(_, resting)| *resting != run);
        }
    }

    /// How long until the next one is tried again.
    pub(crate) fn next(&self, now: Instant) -> Option<Duration> {
        self.awaken_at.first().map(|(at, _)| at.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn each_time_it_takes_longer_until_a_run_is_tried_again() {
        let (run, mut troubled) = (RunId(Uuid::nil()), Troubled::default());
        let mut now = Instant::now();
        for pause in [1, 2, 4].map(Duration::from_secs) {
            troubled.add(run, now);
            assert_eq!(troubled.next(now), Some(pause));
            let nearly = now + pause - Duration::from_millis(1);
            assert!(troubled.resting(nearly).contains(&run));
            now += pause;
            assert!(troubled.resting(now).is_empty() && troubled.next(now).is_none());
        }
        for _ in 0..20 {
            troubled.add(run, now);
            now += LONGEST;
            assert!(troubled.resting(now).is_empty());
        }
        troubled.add(run, now);
        assert_eq!(troubled.next(now), Some(LONGEST));
        troubled.remove(run);
        assert!(troubled.resting(now).is_empty());
        troubled.add(run, now);
        assert_eq!(troubled.next(now), Some(FIRST));
    }
}
