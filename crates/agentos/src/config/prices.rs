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
#[serde(transparent)]
pub(super) struct Written(BTreeMap<String, Price>);

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
