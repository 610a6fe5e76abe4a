//! Sums over runs.

use std::collections::BTreeMap;

use super::RunCounts;
use crate::projection::WaitKind;

/// How many runs a query shows, and what their agents have used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunTotals {
    /// Runs, by status.
    pub runs: RunCounts,
    /// Those that only wait, by what for.
    pub waiting: BTreeMap<WaitKind, u64>,
    /// Tokens that their agents have used.
    pub tokens: TokenTotals,
    /// What that cost, as far as it is known.
    pub cost_usd: f64,
}

impl RunTotals {
    /// Both together.
    pub(crate) fn add(&mut self, more: &Self) {
        for (status, count) in &more.runs {
            *self.runs.entry(*status).or_default() += count;
        }
        for (kind, count) in &more.waiting {
            *self.waiting.entry(*kind).or_default() += count;
        }
        self.tokens.input += more.tokens.input;
        self.tokens.output += more.tokens.output;
        self.tokens.cached += more.tokens.cached;
        self.cost_usd += more.cost_usd;
    }
}

/// Tokens of agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenTotals {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from a cache.
    pub cached: u64,
}
