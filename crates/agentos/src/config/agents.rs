//! `[agents.NAME]`: coding agents, and how they are started.

use std::collections::BTreeMap;

use agentos_agent::configured::AgentSpec;
use agentos_process::secret::is_secret_name;
use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting};

/// `[agents.NAME]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Agents {
    /// By name.
    pub(crate) specs: Setting<BTreeMap<String, AgentSpec>>,
}

impl Agents {
    /// One row for all of them, if there are any.
    pub(super) fn rows(&self) -> Vec<Row> {
        if self.specs.value.is_empty() {
            return Vec::new();
        }
        let mut shown = self.specs.value.clone();
        for (name, value) in shown.values_mut().flat_map(|spec| &mut spec.env) {
            if is_secret_name(name) {
                "***".clone_into(value);
            }
        }
        // What was read as TOML can be written as such.
        let value = toml::Value::try_from(shown).unwrap_or(toml::Value::String("?".to_owned()));
        vec![Row { key: "agents", value: value.to_string(), origin: self.specs.origin.clone() }]
    }
}

/// `[agents.NAME]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, AgentSpec>")]
pub(super) struct Written(BTreeMap<String, AgentSpec>);

impl TryFrom<BTreeMap<String, AgentSpec>> for Written {
    type Error = String;

    fn try_from(specs: BTreeMap<String, AgentSpec>) -> Result<Self, String> {
        let mistake = specs.iter().find_map(|(name, spec)| Some((name, spec.mistake(name)?)));
        match mistake {
            Some((name, mistake)) => Err(format!("[agents.{name}]: {mistake}")),
            None => Ok(Self(specs)),
        }
    }
}

/// `[agents.NAME]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    specs: Option<Setting<BTreeMap<String, AgentSpec>>>,
}

impl Layer {
    pub(super) fn of_file(written: Option<Spanned<Written>>, file: &File) -> Self {
        Self { specs: written.map(|written| file.setting(written, |Written(specs)| specs)) }
    }

    /// Agents that only the source below knows are there too.
    pub(super) fn over(self, below: Self) -> Self {
        let specs = match (self.specs, below.specs) {
            (Some(mut above), Some(below)) => {
                for (name, spec) in below.value {
                    above.value.entry(name).or_insert(spec);
                }
                Some(above)
            }
            (above, below) => above.or(below),
        };
        Self { specs }
    }

    pub(super) fn or_default(self) -> Agents {
        Agents { specs: self.specs.unwrap_or(Setting::default(BTreeMap::new())) }
    }
}
