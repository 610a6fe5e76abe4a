//! When a failed step is tried again.

use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::id::{Attempt, Seed};
use crate::path::ScopePath;
use crate::random::Randomness;
use crate::time::Millis;

/// How the delay grows from attempt to attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    /// Doubles: 1, 2, 4, 8 …
    Exponential,
    /// Grows by the same amount: 1, 2, 3, 4 …
    Linear,
    /// Stays: 1, 1, 1, 1 …
    Fixed,
}

/// A step's retry policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryPolicy {
    /// How many attempts the step has in all.
    pub max_attempts: u32,
    /// How the delay grows.
    pub backoff: Backoff,
    /// The delay after the first attempt.
    pub delay_ms: Millis,
    /// What the delay never exceeds.
    pub max_delay_ms: Millis,
    /// Whether the delay is drawn between its half and its whole, so that many runs do not try again at once.
    pub jitter: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            backoff: Backoff::Exponential,
            delay_ms: Millis::new(1_000),
            max_delay_ms: Millis::new(60_000),
            jitter: true,
        }
    }
}

impl RetryPolicy {
    /// One attempt and no other.
    #[must_use]
    pub fn once() -> Self {
        Self { max_attempts: 1, ..Self::default() }
    }

    /// Whether there is an attempt after this one.
    #[must_use]
    pub fn allows_after(&self, attempt: Attempt) -> bool {
        attempt.0 < self.max_attempts.min(bounds::STEP_ATTEMPTS)
    }

    /// How long to wait after the attempt in `scope` failed.
    #[must_use]
    pub fn delay_after(&self, scope: &ScopePath, seed: Seed) -> Millis {
        let failed = u64::from(scope.attempt().0);
        let base = self.delay_ms.get();
        let grown = match self.backoff {
            Backoff::Exponential => base.saturating_mul(
                1_u64.checked_shl(scope.attempt().0.saturating_sub(1)).unwrap_or(u64::MAX),
            ),
            Backoff::Linear => base.saturating_mul(failed),
            Backoff::Fixed => base,
        };
        let whole = grown.min(self.max_delay_ms.get());
        if !self.jitter {
            return Millis::new(whole);
        }
        let half = whole / 2;
        Millis::new(half + Randomness::after(seed, scope.as_str()).up_to(whole - half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(policy: RetryPolicy) -> Vec<u64> {
        (1..=5)
            .map(|attempt| {
                let scope = format!("/a#1@{attempt}").parse().unwrap();
                policy.delay_after(&scope, Seed(1)).get()
            })
            .collect()
    }

    fn policy(backoff: Backoff) -> RetryPolicy {
        RetryPolicy {
            backoff,
            delay_ms: Millis::new(100),
            max_delay_ms: Millis::new(450),
            jitter: false,
            ..RetryPolicy::default()
        }
    }

    #[test]
    fn delays_grow_as_the_policy_says() {
        assert_eq!(delays(policy(Backoff::Exponential)), [100, 200, 400, 450, 450]);
        assert_eq!(delays(policy(Backoff::Linear)), [100, 200, 300, 400, 450]);
        assert_eq!(delays(policy(Backoff::Fixed)), [100; 5]);
    }

    #[test]
    fn jitter_stays_within_the_upper_half_and_is_the_same_each_time() {
        let jittered = RetryPolicy { jitter: true, ..policy(Backoff::Exponential) };
        for (drawn, whole) in delays(jittered).into_iter().zip([100, 200, 400, 450, 450]) {
            assert!((whole / 2..=whole).contains(&drawn), "{drawn} of {whole}");
        }
        assert_eq!(delays(jittered), delays(jittered));
    }

    #[test]
    fn three_attempts_are_the_default_and_no_policy_is_endless() {
        let policy = RetryPolicy::default();
        assert!(policy.allows_after(Attempt(2)) && !policy.allows_after(Attempt(3)));
        let greedy = RetryPolicy { max_attempts: u32::MAX, ..policy };
        assert!(!greedy.allows_after(Attempt(bounds::STEP_ATTEMPTS)));
        assert!(!RetryPolicy::once().allows_after(Attempt::FIRST));
        let late = format!("/a#1@{}", u32::MAX).parse().unwrap();
        assert!(greedy.delay_after(&late, Seed(0)) <= greedy.max_delay_ms);
    }
}
