//! `[output]`: how things are shown.

use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting, said};
use super::{ConfigError, Flags};
use crate::terminal::Environment;
use crate::terminal::paint::ColorChoice;

const VARIABLE: &str = "AGENTOS_OUTPUT_COLOR";

/// `[output]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Output {
    /// When output is coloured.
    pub(crate) color: Setting<ColorChoice>,
}

impl Output {
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![Row::of("output.color", &self.color)]
    }
}

impl From<ColorChoice> for toml::Value {
    fn from(choice: ColorChoice) -> Self {
        choice.as_str().into()
    }
}

/// `[output]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    color: Option<Spanned<ColorChoice>>,
}

/// `[output]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    color: Option<Setting<ColorChoice>>,
}

impl Layer {
    pub(super) fn of_flags(flags: Flags) -> Self {
        Self { color: flags.color.map(Setting::flag) }
    }

    /// Our own variable wins over those that all programs share, and those count as environment too: a repository does
    /// not overrule `NO_COLOR`.
    pub(super) fn of_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let Some(text) = said(environment, VARIABLE)? else {
            let shared = ColorChoice::asked_by(environment);
            return Ok(Self {
                color: shared.map(|(choice, name)| Setting::variable(choice, name)),
            });
        };
        let choice = ColorChoice::parse(text).ok_or_else(|| ConfigError::Variable {
            name: VARIABLE,
            value: text.to_owned(),
            what: "must be `auto`, `always` or `never`",
        })?;
        Ok(Self { color: Some(Setting::variable(choice, VARIABLE)) })
    }

    pub(super) fn of_file(written: Written, file: &File) -> Self {
        Self { color: written.color.map(|choice| file.setting(choice, |choice| choice)) }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self { color: self.color.or(below.color) }
    }

    pub(super) fn or_default(self) -> Output {
        Output { color: self.color.unwrap_or(Setting::default(ColorChoice::Auto)) }
    }
}
