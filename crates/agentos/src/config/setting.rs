//! A value that knows where it came from.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use super::mistake::ConfigError;
use crate::terminal::Environment;

/// A value, and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    /// The value.
    pub(crate) value: T,
    /// Who said so.
    pub(crate) origin: Origin,
}

impl<T> Setting<T> {
    /// A value that nobody chose.
    pub(super) const fn default(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }

    /// A value from the command line.
    pub(super) const fn flag(value: T) -> Self {
        Self { value, origin: Origin::Flag }
    }

    /// A value from a variable.
    pub(super) const fn variable(value: T, name: &'static str) -> Self {
        Self { value, origin: Origin::Environment(name) }
    }
}

/// Who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody.
    Default,
    /// A line of the user's file.
    User {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// A line of the repository's file.
    Repository {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// A variable.
    Environment(&'static str),
    /// The command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User { path, line } => write!(f, "user config {}:{line}", path.display()),
            Self::Repository { path, line } => {
                write!(f, "repository config {}:{line}", path.display())
            }
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag => f.write_str("flag"),
        }
    }
}

/// One line of a listing: `key = value  (origin)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// `section.key`
    pub(crate) key: &'static str,
    /// As it would be written in a file.
    pub(crate) value: String,
    /// Who said so.
    pub(crate) origin: Origin,
}

impl Row {
    pub(super) fn of<T: Clone + Into<toml::Value>>(
        key: &'static str,
        setting: &Setting<T>,
    ) -> Self {
        let value: toml::Value = setting.value.clone().into();
        Self { key, value: value.to_string(), origin: setting.origin.clone() }
    }
}

/// What a variable says, if it is set and not empty.
pub(super) fn said<'a>(
    environment: &'a Environment,
    name: &'static str,
) -> Result<Option<&'a str>, ConfigError> {
    let Some(value) = environment.get(OsStr::new(name)).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    value.to_str().map(Some).ok_or_else(|| ConfigError::Variable {
        name,
        value: value.to_string_lossy().into_owned(),
        what: "is not text",
    })
}
