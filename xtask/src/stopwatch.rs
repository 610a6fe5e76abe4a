//! Elapsed time, for people to read, and for the budget that a suite has in CI.
//!
//! The only place here that looks at a clock.

use std::time::{Duration, Instant};

/// Measures from the moment it is started.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "a development tool tells a person how long they waited; nothing is replayed here"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// `4.2s` or `3m 07s`: what fits in a column and reads at a glance.
pub(crate) fn shown(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    if seconds < 60 {
        format!("{:.1}s", elapsed.as_secs_f64())
    } else {
        format!("{}m {:02}s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_times_read_at_a_glance() {
        assert_eq!(shown(Duration::from_millis(4_240)), "4.2s");
        assert_eq!(shown(Duration::from_secs(187)), "3m 07s");
    }
}
