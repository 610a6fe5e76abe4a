//! `[prices."MODEL"]`: what a million tokens cost, for agents that do not say what a session cost.

use std::collections::BTreeMap;

use agentos_agent::price::{self, Price};
use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting};

/// `[prices]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prices {
    /// By model.
    pub(crate) table: Setting<price::Prices>,
}

impl Prices {
    /// One row for all of them, if there are any.
    pub(super) fn rows(&self) -> Vec<Row> {
        if self.table.value.0.is_empty() {
            return Vec::new();
        }
        let value = toml::Value::try_from(&self.table.value);
        let value = value.unwrap_or(toml::Value::String("?".to_owned()));
        vec![Row { key: "prices", value: value.to_string(), origin: self.table.origin.clone() }]
    }
}

/// `[prices]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, Price>")]
pub(super) struct Written(BTreeMap<String, Price>);

impl TryFrom<BTreeMap<String, Price>> for Written {
    type Error = String;

    fn try_from(table: BTreeMap<String, Price>) -> Result<Self, String> {
        let is_price = |price: f64| price >= 0.0 && price.is_finite();
        let wrong = table.iter().find(|(_, price)| {
            let Price { input, output, cached } = price;
            !(is_price(*input) && is_price(*output) && cached.is_none_or(is_price))
        });
        match wrong {
            Some((model, _)) => Err(format!("[prices.{model:?}]: a price is 0 or more")),
            None => Ok(Self(table)),
        }
    }
}

/// `[prices]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    table: Option<Setting<price::Prices>>,
}

impl Layer {
    pub(super) fn of_file(written: Option<Spanned<Written>>, file: &File) -> Self {
        let table = |Written(table)| price::Prices(table);
        Self { table: written.map(|written| file.setting(written, table)) }
    }

    /// Prices that only the source below knows are there too.
    pub(super) fn over(self, below: Self) -> Self {
        let table = match (self.table, below.table) {
            (Some(mut above), Some(below)) => {
                for (model, price) in below.value.0 {
                    above.value.0.entry(model).or_insert(price);
                }
                Some(above)
            }
            (above, below) => above.or(below),
        };
        Self { table }
    }

    pub(super) fn or_default(self) -> Prices {
        Prices { table: self.table.unwrap_or(Setting::default(price::Prices::default())) }
    }
}
