//! `[log]`: what we say about ourselves on stderr.

use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting, said};
use super::{ConfigError, Flags};
use crate::terminal::Environment;

const VARIABLE: &str = "AGENTOS_LOG";

/// `[log]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Log {
    /// A level, or levels by module. Checked where it is used: a wrong one is a warning.
    pub(crate) level: Setting<String>,
}

impl Log {
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![Row::of("log.level", &self.level)]
    }
}

/// `[log]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    level: Option<Spanned<String>>,
}

/// `[log]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    level: Option<Setting<String>>,
}

impl Layer {
    /// `-v` is about our own crates, whose names all begin alike.
    pub(super) fn of_flags(flags: Flags) -> Self {
        let level = match flags.verbosity {
            0 => return Self::default(),
            1 => "warn,agentos=info",
            2 => "warn,agentos=debug",
            _ => "warn,agentos=trace",
        };
        Self { level: Some(Setting::flag(level.to_owned())) }
    }

    pub(super) fn of_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let level = said(environment, VARIABLE)?;
        Ok(Self { level: level.map(|level| Setting::variable(level.to_owned(), VARIABLE)) })
    }

    pub(super) fn of_file(written: Written, file: &File) -> Self {
        Self { level: written.level.map(|level| file.setting(level, |level| level)) }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self { level: self.level.or(below.level) }
    }

    pub(super) fn or_default(self) -> Log {
        Log { level: self.level.unwrap_or_else(|| Setting::default("warn".to_owned())) }
    }
}
