//! What tokens cost, for agents that do not say so themselves.
//!
//! Prices change and differ between contracts, so none are built in: a model without a price has an unknown cost, which is
//! better than a wrong one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::usage::Usage;

const MILLION: f64 = 1_000_000.0;

/// What a million tokens of one model cost, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Sent.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Sent and read from a cache; as [`Price::input`] if left out.
    pub cached: Option<f64>,
}

impl Price {
    /// What this much costs, in US dollars.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> f64 {
        let fresh = usage.input_tokens.saturating_sub(usage.cached_tokens);
        let cached = self.cached.unwrap_or(self.input);
        #[expect(clippy::cast_precision_loss, reason = "nobody pays for 2^53 tokens")]
        let dollars = |tokens: u64, price: f64| tokens as f64 * price / MILLION;
        dollars(fresh, self.input)
            + dollars(usage.cached_tokens, cached)
            + dollars(usage.output_tokens, self.output)
    }
}

/// Prices by model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Prices(pub BTreeMap<String, Price>);

impl Prices {
    /// The price of a model: that of its name, or of the longest beginning of it that has one (`gpt-5.5` for
    /// `gpt-5.5-2026-10-01`).
    #[must_use]
    pub fn of(&self, model: &str) -> Option<&Price> {
        let begins = |name: &str| {
            model.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let fitting = self.0.iter().filter(|(name, _)| begins(name));
        fitting.max_by_key(|(name, _)| name.len()).map(|(_, price)| price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_cost_less_and_unknown_models_are_unknown() {
        let price = Price { input: 3.0, output: 15.0, cached: Some(0.3) };
        let prices = Prices(BTreeMap::from([("m".to_owned(), price)]));
        let usage =
            Usage { input_tokens: 1_000_000, output_tokens: 100_000, cached_tokens: 500_000 };
        let cost = prices.of("m-2026").map(|price| price.of(&usage));
        assert_eq!(cost, Some(1.5 + 0.15 + 1.5));
        assert_eq!(prices.of("mm"), None);
    }

    #[test]
    fn whoever_counts_on_is_charged_the_difference() {
        let usage =
            |input_tokens, output_tokens| Usage { input_tokens, output_tokens, cached_tokens: 0 };
        assert_eq!(usage(450, 75).since(usage(300, 50)), usage(150, 25));
        assert_eq!(usage(150, 25).since(usage(300, 50)), usage(150, 25), "began anew");
    }
}
