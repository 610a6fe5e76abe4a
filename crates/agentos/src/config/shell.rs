//! `[shell]`: what commands find in their environment.

use std::collections::BTreeMap;

use agentos_process::secret::is_secret_name;
use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting};

/// `[shell]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shell {
    /// Variables with their values.
    pub(crate) env: Setting<BTreeMap<String, String>>,
    /// Variables that are handed on from our own environment.
    pub(crate) pass: Setting<Vec<String>>,
}

impl Shell {
    pub(super) fn rows(&self) -> Vec<Row> {
        let shown = self.env.value.iter().map(|(name, value)| {
            let value = if is_secret_name(name) { "***" } else { value.as_str() };
            (name.clone(), value.to_owned())
        });
        let env =
            Setting { value: shown.collect::<BTreeMap<_, _>>(), origin: self.env.origin.clone() };
        vec![Row::of("shell.env", &env), Row::of("shell.pass", &self.pass)]
    }
}

/// `[shell]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    env: Option<Spanned<BTreeMap<String, String>>>,
    pass: Option<Spanned<Vec<String>>>,
}

/// `[shell]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    env: Option<Setting<BTreeMap<String, String>>>,
    pass: Option<Setting<Vec<String>>>,
}

impl Layer {
    pub(super) fn of_file(written: Written, file: &File) -> Self {
        Self {
            env: written.env.map(|env| file.setting(env, |env| env)),
            pass: written.pass.map(|pass| file.setting(pass, |pass| pass)),
        }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self { env: self.env.or(below.env), pass: self.pass.or(below.pass) }
    }

    pub(super) fn or_default(self) -> Shell {
        Shell {
            env: self.env.unwrap_or(Setting::default(BTreeMap::new())),
            pass: self.pass.unwrap_or(Setting::default(Vec::new())),
        }
    }
}
