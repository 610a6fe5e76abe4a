//! What a session has used in all its rounds and tries, and whether that is more than it may.

use agentos_agent::price::Prices;
use agentos_agent::usage::Usage;
use serde::{Deserialize, Serialize};

use super::request::Budget;

/// What was used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Spent {
    pub(super) usage: Usage,
    /// What is known of its cost.
    cost_usd: f64,
    /// Whether a part of it has an unknown cost.
    is_unknown: bool,
    /// Whether a part of it has told nothing of its tokens, or not of all.
    #[serde(default)]
    is_short: bool,
}

impl Spent {
    /// One more round used so much.
    pub(super) fn with(mut self, usage: Usage, cost_usd: Option<f64>) -> Self {
        self.usage += usage;
        match cost_usd {
            Some(cost) => self.cost_usd += cost,
            None => self.is_unknown |= usage != Usage::default(),
        }
        self
    }

    /// What was told is not all that was used: neither its tokens nor its cost are known.
    pub(super) const fn short(mut self) -> Self {
        (self.is_short, self.is_unknown) = (true, true);
        self
    }

    /// Its tokens, if those of all parts are known.
    pub(super) fn tokens(&self) -> Option<Usage> {
        (!self.is_short).then_some(self.usage)
    }

    /// What it cost at least.
    pub(super) const fn known_usd(&self) -> f64 {
        self.cost_usd
    }

    /// What it cost, if that is known.
    pub(super) fn cost_usd(&self) -> Option<f64> {
        (!self.is_unknown && self.usage != Usage::default() || self.cost_usd > 0.0)
            .then_some(self.cost_usd)
            .filter(|_| !self.is_unknown)
    }
}

impl Budget {
    /// How it is over, in words.
    pub(super) fn exceeded(&self, spent: &Spent) -> Option<String> {
        let tokens = spent.usage.total();
        if let Some(most) = self.tokens.filter(|most| tokens > *most) {
            return Some(format!("it used {tokens} tokens of {most}"));
        }
        // A cost that is known in part is at least so much.
        let cost = spent.cost_usd;
        let most = self.usd.filter(|most| cost > *most)?;
        Some(format!("it used {cost:.4} US dollars of {most:.4}"))
    }
}

/// What a round cost: as the agent says, or by the price of its model.
pub(super) fn cost(
    prices: &Prices,
    said: Option<f64>,
    model: Option<&str>,
    usage: &Usage,
) -> Option<f64> {
    said.or_else(|| Some(prices.of(model?)?.of(usage)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_is_unknown_in_part_is_unknown_and_still_counts() {
        let usage = Usage { input_tokens: 10, output_tokens: 1, cached_tokens: 0 };
        let spent = Spent::default().with(usage, Some(0.5));
        assert_eq!(spent.cost_usd(), Some(0.5));
        let spent = spent.with(usage, None);
        assert_eq!((spent.cost_usd(), spent.usage.total()), (None, 22));
        let budget = Budget { tokens: Some(22), usd: Some(0.4) };
        assert!(budget.exceeded(&spent).is_some_and(|said| said.contains("dollars")));
        assert_eq!(Budget { tokens: Some(22), usd: None }.exceeded(&spent), None);
        assert_eq!(Spent::default().cost_usd(), None);
        assert_eq!(spent.tokens().map(|usage| usage.total()), Some(22));
        let spent = spent.short().with(usage, Some(0.1));
        assert_eq!((spent.cost_usd(), spent.tokens()), (None, None));
        assert_eq!(budget.exceeded(&spent).as_deref(), Some("it used 33 tokens of 22"));
    }
}
