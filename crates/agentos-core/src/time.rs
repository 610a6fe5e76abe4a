//! Instants and spans, kept apart.
//!
//! The core has no clock: every instant comes in from the driver, which may be simulated.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bounds;

/// A moment, in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A span of time in milliseconds, never longer than [`bounds::DELAY_MS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Millis(u64);

impl Timestamp {
    /// The moment `span` after this one.
    #[must_use]
    pub const fn after(self, span: Millis) -> Self {
        Self(self.0.saturating_add_unsigned(span.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

impl Millis {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span; longer ones are cut to the bound.
    #[must_use]
    pub const fn new(ms: u64) -> Self {
        Self(if ms > bounds::DELAY_MS { bounds::DELAY_MS } else { ms })
    }

    /// The number of milliseconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether this is no time at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl From<u64> for Millis {
    fn from(ms: u64) -> Self {
        Self::new(ms)
    }
}

impl From<Millis> for u64 {
    fn from(span: Millis) -> Self {
        span.0
    }
}
