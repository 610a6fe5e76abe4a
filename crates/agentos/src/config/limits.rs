//! `[limits]`: how many runs are at work at once, over all processes of this user.
//!
//! How many of one agent's sessions there may be is said with the agent: `[agents.NAME] concurrency`.

use std::collections::BTreeMap;

use agentos_core::concurrency::MOST;
use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::file::File;
use super::setting::{Row, Setting, said};
use crate::terminal::Environment;

const RUNS: &str = "AGENTOS_LIMITS_RUNS";
const RUNS_PER_REPO: &str = "AGENTOS_LIMITS_RUNS_PER_REPO";

const WRONG: &str = "must be a whole number from 1 to 10000, or \"none\"";
const FOR_ALL: &str = "`limits.runs` is about all of your repositories, so none of them can set it: write it into your own \
                       configuration, or mean `limits.runs_per_repo`";

/// `[limits]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limits {
    /// How many runs, of all repositories.
    pub(crate) runs: Setting<Limit>,
    /// How many runs of each repository.
    pub(crate) runs_per_repo: Setting<Limit>,
    /// How many runs of a workflow, in the place of what it says itself.
    pub(crate) workflows: Setting<BTreeMap<String, Limit>>,
}

impl Limits {
    pub(super) fn rows(&self) -> Vec<Row> {
        let workflows = &self.workflows;
        let shown: toml::Table = workflows
            .value
            .iter()
            .map(|(name, limit)| (name.clone(), toml::Value::from(*limit)))
            .collect();
        vec![
            Row::of("limits.runs", &self.runs),
            Row::of("limits.runs_per_repo", &self.runs_per_repo),
            Row {
                key: "limits.workflows",
                value: toml::Value::Table(shown).to_string(),
                origin: workflows.origin.clone(),
            },
        ]
    }
}

/// How many there may be; any number, if nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(crate) struct Limit(pub(crate) Option<u32>);

impl TryFrom<toml::Value> for Limit {
    type Error = &'static str;

    fn try_from(value: toml::Value) -> Result<Self, &'static str> {
        match value {
            toml::Value::String(text) if text == "none" => Ok(Self(None)),
            toml::Value::Integer(number) => {
                let sane = u32::try_from(number).ok().filter(|number| (1..=MOST).contains(number));
                sane.map(|number| Self(Some(number))).ok_or(WRONG)
            }
            _ => Err(WRONG),
        }
    }
}

impl From<Limit> for toml::Value {
    fn from(Limit(limit): Limit) -> Self {
        limit.map_or_else(|| Self::String("none".to_owned()), |limit| Self::Integer(limit.into()))
    }
}

/// `[limits]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    runs: Option<Spanned<Limit>>,
    runs_per_repo: Option<Spanned<Limit>>,
    workflows: Option<Spanned<BTreeMap<String, Limit>>>,
}

/// `[limits]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    runs: Option<Setting<Limit>>,
    runs_per_repo: Option<Setting<Limit>>,
    workflows: Option<Setting<BTreeMap<String, Limit>>>,
}

impl Layer {
    pub(super) fn of_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            runs: variable(environment, RUNS)?,
            runs_per_repo: variable(environment, RUNS_PER_REPO)?,
            workflows: None,
        })
    }

    pub(super) fn of_file(written: Written, file: &File) -> Result<Self, ConfigError> {
        if let Some(runs) = &written.runs {
            file.refuse_of_repository(runs, FOR_ALL)?;
        }
        Ok(Self {
            runs: written.runs.map(|limit| file.setting(limit, |limit| limit)),
            runs_per_repo: written.runs_per_repo.map(|limit| file.setting(limit, |limit| limit)),
            workflows: written.workflows.map(|all| file.setting(all, |all| all)),
        })
    }

    /// Workflows that only the source below knows are limited too.
    pub(super) fn over(self, below: Self) -> Self {
        let workflows = match (self.workflows, below.workflows) {
            (Some(mut above), Some(below)) => {
                for (name, limit) in below.value {
                    above.value.entry(name).or_insert(limit);
                }
                Some(above)
            }
            (above, below) => above.or(below),
        };
        Self {
            runs: self.runs.or(below.runs),
            runs_per_repo: self.runs_per_repo.or(below.runs_per_repo),
            workflows,
        }
    }

    pub(super) fn or_default(self) -> Limits {
        let none = || Setting::default(Limit(None));
        Limits {
            runs: self.runs.unwrap_or_else(none),
            runs_per_repo: self.runs_per_repo.unwrap_or_else(none),
            workflows: self.workflows.unwrap_or(Setting::default(BTreeMap::new())),
        }
    }
}

fn variable(
    environment: &Environment,
    name: &'static str,
) -> Result<Option<Setting<Limit>>, ConfigError> {
    let Some(text) = said(environment, name)? else { return Ok(None) };
    let written = text.trim();
    let value = written.parse().map_or_else(|_| written.to_owned().into(), toml::Value::Integer);
    let wrong = |what| ConfigError::Variable { name, value: text.to_owned(), what };
    let limit = Limit::try_from(value).map_err(wrong)?;
    Ok(Some(Setting::variable(limit, name)))
}
