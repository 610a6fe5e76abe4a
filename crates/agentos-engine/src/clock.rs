//! Time, injected: the engine has no other clock.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentos_core::time::Timestamp;
use agentos_process::clock::since_boot;
use tokio::sync::oneshot;

/// A wait for a point in time.
pub type Until = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What both clocks of a machine show at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The wall clock, in microseconds since 1970. It can be set.
    pub wall_us: i64,
    /// The steady clock, which can't be set, in microseconds since some moment before.
    pub steady_us: i64,
}

impl Reading {
    /// The time by the wall clock.
    #[must_use]
    pub const fn now(self) -> Timestamp {
        Timestamp(self.wall_us.div_euclid(1_000))
    }

    /// How far the wall clock is ahead of the other one. It changes only when the wall clock is set.
    pub(crate) const fn offset_us(self) -> i64 {
        self.wall_us.saturating_sub(self.steady_us)
    }
}

/// Where time comes from.
pub trait Clock: Send + Sync + 'static {
    /// Reads both clocks.
    fn read(&self) -> Reading;

    /// The time by the wall clock: what is recorded as now.
    fn now(&self) -> Timestamp {
        self.read().now()
    }

    /// Waits until the wall clock shows that time, but no longer than it had to go when the wait began: a wall clock that is set
    /// back prolongs no wait.
    fn sleep_until(&self, at: Timestamp) -> Until;
}

/// The clocks of the machine. The steady one goes on while the machine is suspended.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// After at most so long a sleeper looks at the clocks again: the wall clock may have been set forward, and the machine may have
/// been suspended, which does not count for timers of the runtime.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

impl Clock for SystemClock {
    fn read(&self) -> Reading {
        #[expect(clippy::disallowed_methods, reason = "the one place where the time comes from")]
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Read after the wall clock, so that a time that is made of it is never ahead of the wall clock.
        Reading { wall_us: micros(wall), steady_us: micros(since_boot()) }
    }

    fn sleep_until(&self, at: Timestamp) -> Until {
        let clock = *self;
        Box::pin(wait_until(at, move || clock.read(), tokio::time::sleep))
    }
}

/// Waits as [`Clock::sleep_until`] says, by these clocks and with a timer that sees neither of them jump.
async fn wait_until<F: Future<Output = ()>>(
    at: Timestamp,
    read: impl Fn() -> Reading,
    sleep: impl Fn(Duration) -> F,
) {
    let wall_us = at.0.saturating_mul(1_000);
    let steady_us = wall_us.saturating_sub(read().offset_us());
    loop {
        let now = read();
        let left = steady_us.saturating_sub(now.steady_us);
        let left = left.min(wall_us.saturating_sub(now.wall_us));
        if left <= 0 {
            return;
        }
        sleep(Duration::from_micros(left.unsigned_abs()).min(LOOK_AGAIN)).await;
    }
}

fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}

/// A clock in the hands of a test: moving it wakes whoever sleeps.
#[derive(Debug, Clone, Default)]
pub struct SimClock {
    state: Arc<Mutex<SimState>>,
}

#[derive(Debug, Default)]
struct SimState {
    now: i64,
    /// The steady clock.
    steady: i64,
    /// By when they wake on the steady clock.
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
            state.steady = state.steady.saturating_add(ms);
            let later = state.steady.saturating_add(1);
            let rest = state.sleepers.split_off(&later);
            std::mem::replace(&mut state.sleepers, rest)
        };
        for sleeper in woken.into_values().flatten() {
            // Whoever has gone away does not have to be woken.
            let _gone = sleeper.send(());
        }
    }

    /// Sets the wall clock back. No sleeper is woken by that.
    pub fn set_back(&self, ms: i64) {
        let mut state = self.state();
        state.now = state.now.saturating_sub(ms);
    }

    /// When the next sleeper is to be woken, by the wall clock.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        let mut state = self.state();
        state.sleepers.retain(|_, sleepers| {
            sleepers.retain(|sleeper| !sleeper.is_closed());
            !sleepers.is_empty()
        });
        let next = state.sleepers.keys().next();
        next.map(|at| Timestamp(at.saturating_sub(state.steady).saturating_add(state.now)))
    }
}

impl Clock for SimClock {
    fn read(&self) -> Reading {
        let state = self.state();
        let [wall_us, steady_us] = [state.now, state.steady].map(|ms| ms.saturating_mul(1_000));
        Reading { wall_us, steady_us }
    }

    fn sleep_until(&self, at: Timestamp) -> Until {
        let mut state = self.state();
        if at.0 <= state.now {
            return Box::pin(std::future::ready(()));
        }
        let (wake, woken) = oneshot::channel();
        let at = at.0.saturating_sub(state.now).saturating_add(state.steady);
        state.sleepers.entry(at).or_default().push(wake);
        Box::pin(async move {
            let _dropped = woken.await;
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

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

    /// How long the timer was set for while an hour was waited, in seconds: each time, up to the end of the wait. While the
    /// third of them ran, the clocks jumped forward by so many seconds.
    async fn timers_of_an_hour(jump_wall: i64, jump_steady: i64) -> Vec<u64> {
        let start = Reading { wall_us: 5_000_000_000, steady_us: 7_000_000 };
        let (clocks, timers) = (Cell::new(start), RefCell::new(Vec::new()));
        let sleep = |length: Duration| {
            timers.borrow_mut().push(length.as_secs());
            let jumps = i64::from(timers.borrow().len() == 3) * 1_000_000;
            let Reading { wall_us, steady_us } = clocks.get();
            clocks.set(Reading {
                wall_us: wall_us + micros(length) + jumps * jump_wall,
                steady_us: steady_us + micros(length) + jumps * jump_steady,
            });
            std::future::ready(())
        };
        wait_until(Timestamp(start.now().0 + 3_600_000), || clocks.get(), sleep).await;
        timers.into_inner()
    }

    #[tokio::test]
    async fn a_wait_sees_within_half_a_minute_that_the_clocks_have_jumped_forward() {
        let set_forward = timers_of_an_hour(86_400, 0).await;
        assert_eq!(set_forward, [30, 30, 30], "the wall clock was set");
        let suspended = timers_of_an_hour(86_400, 86_400).await;
        assert_eq!(suspended, [30, 30, 30], "the machine was suspended");
        let in_between = timers_of_an_hour(3_485, 3_485).await;
        assert_eq!(in_between, [30, 30, 30, 25], "it ends in time after the jump");
        let set_back = timers_of_an_hour(-86_400, 0).await;
        assert_eq!(set_back, [30; 120], "the wait is no longer than it was");
    }

    #[tokio::test]
    async fn a_clock_that_is_set_back_prolongs_no_wait() {
        let clock = SimClock::at(Timestamp(1_000));
        let wait = clock.sleep_until(Timestamp(1_010));
        clock.set_back(500);
        assert_eq!((clock.now(), clock.next_wake()), (Timestamp(500), Some(Timestamp(510))));
        clock.advance(10);
        wait.await;
        assert_eq!(clock.now(), Timestamp(510));
    }
}
