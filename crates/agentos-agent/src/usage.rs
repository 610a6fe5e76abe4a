//! What a session has used, in tokens.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens, counted alike for every agent: `input` has everything that was sent, `cached` is the part of it that was read
/// from a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Sent to the model.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
    /// Of those sent, read from a cache.
    pub cached_tokens: u64,
}

impl Usage {
    /// Sent and written.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// What came on top of `earlier`, of two totals. Whoever counts less than before has begun to count anew.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        let grew = self.input_tokens >= earlier.input_tokens
            && self.output_tokens >= earlier.output_tokens
            && self.cached_tokens >= earlier.cached_tokens;
        if !grew {
            return self;
        }
        Self {
            input_tokens: self.input_tokens - earlier.input_tokens,
            output_tokens: self.output_tokens - earlier.output_tokens,
            cached_tokens: self.cached_tokens - earlier.cached_tokens,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(more.cached_tokens);
    }
}

/// What a session had used before it was resumed: some agents count on from there.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Baseline {
    /// Tokens.
    pub usage: Usage,
    /// US dollars.
    pub cost_usd: f64,
    /// Whether the tokens of a part of it are unknown.
    pub is_short: bool,
}
