//! Time, injected: the engine has no other clock.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentos_core::time::Timestamp;
use agentos_process::clock::since_boot;
use tokio::sync::oneshot;

/// A wait for a point in time.
pub type Until = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where time comes from.
pub trait Clock: Send + Sync + 'static {
    /// The time by the wall clock.
    fn now(&self) -> Timestamp;

    /// Waits until the clock shows that time.
    fn sleep_until(&self, at: Timestamp) -> Until;
}

/// The machine's clock. It follows the wall clock and never goes back: when that is set back, it goes on from where it was,
/// for as long as this process lives. Otherwise every wait would become longer by as much.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// How far the wall clock has ever been ahead of the clock that nobody sets, in microseconds.
static AHEAD_US: AtomicI64 = AtomicI64::new(i64::MIN);

/// After at most so long a sleeper looks at the clock again: it may have been set forward, and the machine may have been
/// suspended, which does not count for timers of the runtime.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "the one place where the time comes from")]
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Read after the wall clock, so that what comes out is never ahead of it.
        let steady = since_boot();
        Timestamp(steadied(&AHEAD_US, micros(wall), micros(steady)) / 1_000)
    }

    fn sleep_until(&self, at: Timestamp) -> Until {
        let clock = *self;
        Box::pin(async move {
            loop {
                let left = at.0.saturating_sub(clock.now().0);
                if left <= 0 {
                    return;
                }
                let left = Duration::from_millis(left.unsigned_abs());
                tokio::time::sleep(left.min(LOOK_AGAIN)).await;
            }
        })
    }
}

fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}

/// The time that goes on where the wall clock goes back.
fn steadied(ahead: &AtomicI64, wall_us: i64, steady_us: i64) -> i64 {
    let now = wall_us.saturating_sub(steady_us);
    let most = ahead.fetch_max(now, Ordering::Relaxed).max(now);
    steady_us.saturating_add(most)
}

/// A clock in the hands of a test: moving it wakes whoever sleeps.
#[derive(Debug, Clone, Default)]
pub struct SimClock {
    state: Arc<Mutex<SimState>>,
}

#[derive(Debug, Default)]
struct SimState {
    now: i64,
    sleepers: BTreeMap<i64, Vec<oneshot::Sender<()>>>,
}

impl SimClock {
    /// A clock that stands at this time.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        let clock = Self::default();
        clock.state().now = now.0;
        clock
    }

    fn state(&self) -> MutexGuard<'_, SimState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the clock forward, and wakes everybody whose time has come.
    pub fn advance(&self, ms: i64) {
        let woken = {
            let mut state = self.state();
            state.now = state.now.saturating_add(ms);
            let later = state.now.saturating_add(1);
            let rest = state.sleepers.split_off(&later);
            std::mem::replace(&mut state.sleepers, rest)
        };
        for sleeper in woken.into_values().flatten() {
            // Whoever has gone away does not have to be woken.
            let _gone = sleeper.send(());
        }
    }

    /// When the next sleeper is to be woken.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        let mut state = self.state();
        state.sleepers.retain(|_, sleepers| {
            sleepers.retain(|sleeper| !sleeper.is_closed());
            !sleepers.is_empty()
        });
        state.sleepers.keys().next().copied().map(Timestamp)
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.state().now)
    }

    fn sleep_until(&self, at: Timestamp) -> Until {
        let mut state = self.state();
        if at.0 <= state.now {
            return Box::pin(std::future::ready(()));
        }
        let (wake, woken) = oneshot::channel();
        state.sleepers.entry(at.0).or_default().push(wake);
        Box::pin(async move {
            let _dropped = woken.await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_where_the_wall_clock_goes_back_and_follows_it_where_it_goes_forward() {
        let ahead = AtomicI64::new(i64::MIN);
        assert_eq!(steadied(&ahead, 5_000, 100), 5_000);
        assert_eq!(steadied(&ahead, 1_000, 150), 5_050, "set back");
        assert_eq!(steadied(&ahead, 1_010, 160), 5_060);
        assert_eq!(steadied(&ahead, 9_000, 170), 9_000, "set forward");
        assert_eq!(steadied(&ahead, 9_010, 180), 9_010);
    }

    #[tokio::test]
    async fn moving_the_clock_wakes_those_whose_time_has_come() {
        let clock = SimClock::at(Timestamp(10));
        let (soon, late) = (clock.sleep_until(Timestamp(15)), clock.sleep_until(Timestamp(30)));
        assert_eq!(clock.next_wake(), Some(Timestamp(15)));
        clock.advance(5);
        soon.await;
        assert_eq!((clock.now(), clock.next_wake()), (Timestamp(15), Some(Timestamp(30))));
        drop(late);
        assert_eq!(clock.next_wake(), None);
        clock.sleep_until(Timestamp(3)).await;
    }
}
