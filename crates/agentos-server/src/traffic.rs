//! What this process has answered so far: how many requests, how, and how long it took until an answer began.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::StatusCode;

/// The bounds that durations are counted by, in seconds.
pub(crate) const BOUNDS: [f64; 11] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Classes of statuses.
pub(crate) const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// What was answered so far.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    by_class: [AtomicU64; CLASSES.len()],
    up_to: [AtomicU64; BOUNDS.len()],
    micros: AtomicU64,
}

/// The same, as of one moment.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    pub(crate) by_class: [u64; CLASSES.len()],
    pub(crate) up_to: [u64; BOUNDS.len()],
    pub(crate) count: u64,
    pub(crate) seconds: f64,
}

impl Traffic {
    pub(crate) fn add(&self, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(count) = self.by_class.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let seconds = took.as_secs_f64();
        for (bound, count) in BOUNDS.iter().zip(&self.up_to) {
            if seconds <= *bound {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn answered(&self) -> Answered {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        // The buckets first: an answer that comes between is not counted in them before it is counted at all.
        let up_to = std::array::from_fn(|at| load(&self.up_to[at]));
        let by_class: [u64; CLASSES.len()] = std::array::from_fn(|at| load(&self.by_class[at]));
        let seconds = Duration::from_micros(load(&self.micros)).as_secs_f64();
        Answered { up_to, count: by_class.iter().sum(), by_class, seconds }
    }
}
