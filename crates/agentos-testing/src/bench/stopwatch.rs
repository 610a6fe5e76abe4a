//! The only clock of this crate.
//!
//! It shows processor time where the system tells it: on a machine that others use as well, that is what the work
//! itself took. Nothing is decided by what it shows.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read as _, Seek as _};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

/// How often nothing is measured, to know what measuring takes.
const EMPTY_SAMPLES: usize = 101;

/// Where the time comes from.
#[derive(Debug)]
pub(super) struct Clock {
    begin: Instant,
    /// What the system has counted for this thread, in nanoseconds.
    counted: Option<File>,
}

impl Clock {
    /// The clock of this thread.
    pub(super) fn new() -> Self {
        let clock = Self { begin: now(), counted: File::open("/proc/thread-self/schedstat").ok() };
        let counted = clock.processor().and(clock.counted);
        Self { begin: clock.begin, counted }
    }

    /// Whether it shows processor time, not the time on the wall.
    pub(super) const fn is_processor(&self) -> bool {
        self.counted.is_some()
    }

    /// The processor time of this thread. Giving up the core for a moment makes the system count up to now: otherwise
    /// it counts in ticks of some milliseconds.
    fn processor(&self) -> Option<Duration> {
        thread::yield_now();
        let mut text = String::new();
        let mut file = self.counted.as_ref()?;
        file.rewind().ok()?;
        file.read_to_string(&mut text).ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    }

    /// The time on the wall since this clock was made.
    pub(super) fn wall(&self) -> Duration {
        self.begin.elapsed()
    }

    fn read(&self) -> Duration {
        self.processor().unwrap_or_else(|| self.wall())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a measurement looks at the clock; no run and no test depends on it"
)]
fn now() -> Instant {
    Instant::now()
}

/// Adds up the time of what is measured, and leaves out what is not.
#[derive(Debug, Clone)]
pub(super) struct Stopwatch {
    clock: Rc<Clock>,
    elapsed: Duration,
    /// What measuring nothing takes.
    empty: Duration,
}

impl Stopwatch {
    pub(super) fn new(clock: Rc<Clock>) -> Self {
        let mut watch = Self { clock, elapsed: Duration::ZERO, empty: Duration::ZERO };
        let mut empty = || {
            watch.time(|| ());
            watch.take()
        };
        let mut samples: Vec<Duration> = (0..EMPTY_SAMPLES).map(|_| empty()).collect();
        samples.sort();
        watch.empty = samples[EMPTY_SAMPLES / 2];
        watch
    }

    /// Measures one piece of work. What comes out is handed back, so that dropping it is not measured.
    pub(super) fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = self.clock.read();
        let done = black_box(work());
        self.elapsed += (self.clock.read() - start).saturating_sub(self.empty);
        done
    }

    /// What was measured since the last time.
    pub(super) fn take(&mut self) -> Duration {
        std::mem::take(&mut self.elapsed)
    }
}
