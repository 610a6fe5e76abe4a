//! `[run]`: how runs are driven.

use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting, said};
use super::{ConfigError, Flags};
use crate::terminal::Environment;

const VARIABLE: &str = "AGENTOS_RUN_CONCURRENCY";

/// Enough for every machine that drives processes, few enough to survive.
const CONCURRENCY: u32 = 100;

/// `[run]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    /// How many runs the background executor drives at once.
    pub(crate) concurrency: Setting<u32>,
}

impl Run {
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![Row::of("run.concurrency", &self.concurrency)]
    }
}

/// `[run]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    concurrency: Option<Spanned<Concurrency>>,
}

/// A number of runs.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "i64")]
struct Concurrency(u32);

impl TryFrom<i64> for Concurrency {
    type Error = &'static str;

    fn try_from(number: i64) -> Result<Self, &'static str> {
        let sane = u32::try_from(number).ok().filter(|number| (1..=10_000).contains(number));
        sane.map(Self).ok_or("must be between 1 and 10000")
    }
}

/// `[run]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    concurrency: Option<Setting<u32>>,
}

impl Layer {
    pub(super) fn of_flags(flags: Flags) -> Result<Self, ConfigError> {
        let number = flags.concurrency.map(|number| Concurrency::try_from(i64::from(number)));
        let wrong = |what| ConfigError::Flag { key: "run.concurrency", what };
        let number = number.transpose().map_err(wrong)?;
        Ok(Self { concurrency: number.map(|number| Setting::flag(number.0)) })
    }

    pub(super) fn of_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let Some(text) = said(environment, VARIABLE)? else { return Ok(Self::default()) };
        let number = text.trim().parse::<i64>().map_err(|_| "must be a whole number");
        let number = number.and_then(Concurrency::try_from);
        let wrong = |what| ConfigError::Variable { name: VARIABLE, value: text.to_owned(), what };
        let number = number.map_err(wrong)?;
        Ok(Self { concurrency: Some(Setting::variable(number.0, VARIABLE)) })
    }

    pub(super) fn of_file(written: Written, file: &File) -> Self {
        Self {
            concurrency: written.concurrency.map(|number| file.setting(number, |number| number.0)),
        }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self { concurrency: self.concurrency.or(below.concurrency) }
    }

    pub(super) fn or_default(self) -> Run {
        Run { concurrency: self.concurrency.unwrap_or(Setting::default(CONCURRENCY)) }
    }
}
