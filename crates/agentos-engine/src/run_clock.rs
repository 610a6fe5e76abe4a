//! The time of a run, where the wall clock can be set back.
//!
//! What is recorded as now follows the wall clock. A log's time never goes back, and a wait does not become longer: so a run that
//! has seen a time which the wall clock does not show any more goes on from there (it is *ahead*), on the steady clock, which
//! can't be set.
//! It stays ahead while this process drives it, or until the wall clock has come so far. What begins later goes by the wall clock.
//!
//! A parked run has no clock. Whether it was left before the wall clock was set back is told by the time of its last entry, among
//! the periods of the wall clock that this engine has seen.

use std::cell::Cell;
use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;

use crate::clock::Reading;

/// Clocks that are put right by less are not said to be set back.
const SET_BACK_US: i64 = 100_000;

/// How many past periods are remembered: what was left before is taken to be from the oldest of them.
const PERIODS: usize = 64;

/// Whether a clock that shows so much less was set back.
pub(crate) const fn is_set_back(by_us: i64) -> bool {
    by_us > SET_BACK_US
}

/// The clock of one run in the hands of this process.
#[derive(Debug)]
pub(crate) struct RunClock {
    /// How far it is ahead of the steady clock.
    offset_us: Cell<i64>,
}

impl RunClock {
    /// A clock that is ahead of the wall clock by so much.
    pub(crate) const fn new(reading: Reading, ahead_us: i64) -> Self {
        Self { offset_us: Cell::new(reading.offset_us().saturating_add(ahead_us)) }
    }

    /// The time of the run.
    pub(crate) fn now(&self, reading: Reading) -> Timestamp {
        let offset_us = self.offset_us.get().max(reading.offset_us());
        self.offset_us.set(offset_us);
        Timestamp(reading.steady_us.saturating_add(offset_us).div_euclid(1_000))
    }

    /// How far it is ahead of the wall clock.
    pub(crate) fn ahead_us(&self, reading: Reading) -> i64 {
        self.offset_us.get().saturating_sub(reading.offset_us()).max(0)
    }

    /// What the wall clock shows when it is so late for the run.
    pub(crate) fn to_wall_clock(&self, reading: Reading, at: Timestamp) -> Timestamp {
        let left = at.0.saturating_sub(self.now(reading).0);
        Timestamp(reading.now().0.saturating_add(left))
    }

    /// How late it is for the run when the wall clock shows this.
    pub(crate) fn to_run_time(&self, reading: Reading, at: Timestamp) -> Timestamp {
        let left = at.0.saturating_sub(reading.now().0);
        Timestamp(self.now(reading).0.saturating_add(left))
    }
}

/// A time in which the wall clock was not set back.
#[derive(Debug)]
struct Period {
    /// What the wall clock showed in it: at the earliest, and at the latest.
    begun_us: i64,
    until_us: i64,
    /// How far the wall clock was ahead of the steady clock, at the most.
    offset_us: i64,
}

/// What an engine has seen of the wall clock.
#[derive(Debug)]
pub(crate) struct WallClockHistory {
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    last: Reading,
    present: Period,
    /// Those before, the oldest first.
    past: VecDeque<Period>,
    /// Runs that were parked in the present one.
    parked: HashSet<RunId>,
}

impl WallClockHistory {
    pub(crate) fn new(last: Reading) -> Self {
        let (begun_us, until_us) = (i64::MIN, i64::MAX);
        let present = Period { begun_us, until_us, offset_us: last.offset_us() };
        let (past, parked) = (VecDeque::new(), HashSet::new());
        Self { seen: Mutex::new(Seen { last, present, past, parked }) }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // Nothing in there is ever half done.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far a run may be ahead of the wall clock at the most.
    pub(crate) fn most_ahead_us(&self, reading: Reading) -> i64 {
        let mut seen = self.seen();
        seen.note(reading);
        let most = seen.past.iter().map(|period| period.offset_us).max();
        let most = most.map_or(0, |most| most.saturating_sub(reading.offset_us()).max(0));
        if most == 0 {
            // The wall clock has come as far as it was.
            seen.past.clear();
            seen.parked.clear();
        }
        most
    }

    /// How far a run is ahead of the wall clock whose last entry has this time.
    pub(crate) fn ahead_us(&self, reading: Reading, last_at: Timestamp) -> i64 {
        let mut seen = self.seen();
        seen.note(reading);
        let last_us = last_at.0.saturating_mul(1_000);
        // Times of entries are whole milliseconds.
        let has = |period: &Period| {
            period.begun_us.saturating_sub(1_000) <= last_us && last_us <= period.until_us
        };
        if has(&seen.present) && last_us <= reading.wall_us {
            return 0;
        }
        let number = seen.past.iter().rposition(has).unwrap_or(0);
        let most = seen.past.range(number..).map(|period| period.offset_us).max();
        most.map_or(0, |most| most.saturating_sub(reading.offset_us()).max(0))
    }

    /// Notes that a run is parked which goes by the wall clock, or by a clock of its own.
    pub(crate) fn park(&self, run: RunId, is_ahead: bool) {
        let mut seen = self.seen();
        if is_ahead {
            seen.parked.remove(&run);
        } else if !seen.past.is_empty() {
            seen.parked.insert(run);
        }
    }

    /// Runs that were parked since the wall clock was last set back, and go by it.
    pub(crate) fn parked(&self) -> HashSet<RunId> {
        self.seen().parked.clone()
    }
}

impl Seen {
    fn note(&mut self, reading: Reading) {
        let offset_us = reading.offset_us();
        if is_set_back(self.present.offset_us.saturating_sub(offset_us)) {
            // It was set back since the last reading.
            let begun_us = offset_us.saturating_add(self.last.steady_us);
            let new = Period { begun_us, until_us: i64::MAX, offset_us };
            let mut old = std::mem::replace(&mut self.present, new);
            old.until_us = old.offset_us.saturating_add(reading.steady_us);
            self.past.push_back(old);
            if self.past.len() > PERIODS {
                self.past.pop_front();
            }
            self.parked.clear();
        }
        self.present.offset_us = self.present.offset_us.max(offset_us);
        self.last = reading;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    const fn reading(wall: i64, steady: i64) -> Reading {
        Reading { wall_us: wall * SECOND, steady_us: steady * SECOND }
    }

    #[test]
    fn a_run_goes_on_where_the_wall_clock_goes_back_and_follows_it_where_it_goes_forward() {
        let clock = RunClock::new(reading(5_000, 100), 0);
        assert_eq!(clock.now(reading(1_000, 150)), Timestamp(5_050_000), "set back");
        assert_eq!(clock.ahead_us(reading(1_010, 160)), 4_050 * SECOND);
        assert_eq!(
            clock.to_wall_clock(reading(1_010, 160), Timestamp(5_061_000)),
            Timestamp(1_011_000)
        );
        assert_eq!(clock.now(reading(9_000, 170)), Timestamp(9_000_000), "set forward");
        assert_eq!(clock.ahead_us(reading(9_010, 180)), 0);
    }

    #[test]
    fn only_what_was_left_before_the_wall_clock_was_set_back_is_ahead() {
        let history = WallClockHistory::new(reading(100_000, 0));
        assert_eq!(history.most_ahead_us(reading(100_010, 10)), 0);
        let now = reading(20_000, 20);
        assert_eq!(history.most_ahead_us(now), 80_020 * SECOND);
        let ahead = |now, seconds: i64| history.ahead_us(now, Timestamp(seconds * 1_000));
        assert_eq!(ahead(now, 100_015), 80_020 * SECOND, "just before");
        assert_eq!(ahead(now, 500), 80_020 * SECOND, "long before");
        assert_eq!(ahead(now, 20_000), 0, "since then");
        // It is set back once more.
        let later = reading(10_000, 40);
        assert_eq!(ahead(later, 10_000), 0);
        assert_eq!(ahead(later, 20_010), 10_020 * SECOND);
        assert_eq!(ahead(later, 100_015), 90_040 * SECOND);
        assert_eq!(history.most_ahead_us(reading(200_000, 50)), 0, "it has caught up");
        assert_eq!(ahead(reading(200_000, 50), 100_015), 0);
    }
}
