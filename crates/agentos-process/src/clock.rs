//! The clocks of this crate: the time of day for people, and steady ones that can't be set.
//!
//! Limits of time hold for real processes, so here time is read and not injected. The steady clock stands still while
//! the machine is suspended: a command is not ended for a time in which it could not run.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A moment of the steady clock.
pub type Moment = Duration;

/// Milliseconds since 1970.
pub(crate) fn time_of_day_ms() -> u64 {
    millis(time_of_day())
}

/// The wall clock: the time since 1970.
#[must_use]
pub fn time_of_day() -> Duration {
    duration(clock_gettime(ClockId::Realtime))
}

/// The steady clock.
#[must_use]
pub fn moment() -> Moment {
    duration(clock_gettime(ClockId::Monotonic))
}

/// How long the machine runs, with the time that it was suspended.
#[must_use]
pub fn since_boot() -> Duration {
    duration(clock_gettime(ClockId::Boottime))
}

/// Lets time pass. Only for the rounds of a bounded wait whose end nobody tells of.
pub fn pause(length: Duration) {
    let _all_of_it = rustix::thread::nanosleep(&timespec(length));
}

/// As the system wants it.
pub(crate) fn timespec(length: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(length.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(length.subsec_nanos()),
    }
}

/// Whole milliseconds.
pub(crate) fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

fn duration(time: Timespec) -> Duration {
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanos)
}
