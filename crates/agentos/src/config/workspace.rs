//! `[workspace]`: where runs work.

use std::path::PathBuf;

use agentos_workspace::workspace::Kind;
use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::file::File;
use super::keeping::{self, Age, Keeping, Size};
use super::setting::{Row, Setting, said};
use crate::terminal::Environment;

const VARIABLE: &str = "AGENTOS_WORKSPACE_KIND";

/// What kind of workspace is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum WantedKind {
    /// What suits the repository.
    Auto,
    /// The checkout itself.
    None,
    /// This one.
    Own(Kind),
}

impl WantedKind {
    /// What may be written.
    pub(crate) const MUST: &'static str = "must be `auto`, `worktree`, `clone`, `jj` or `none`";

    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "none" => Some(Self::None),
            other => other.parse().ok().map(Self::Own),
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Own(kind) => kind.as_str(),
        }
    }
}

impl TryFrom<String> for WantedKind {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        Self::parse(&text).ok_or(Self::MUST)
    }
}

impl From<WantedKind> for toml::Value {
    fn from(kind: WantedKind) -> Self {
        kind.as_str().into()
    }
}

/// `[workspace]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Workspace {
    /// The kind of those that runs get.
    pub(crate) kind: Setting<WantedKind>,
    /// The folder for all of them; empty: in the user's cache.
    pub(crate) path: Setting<String>,
    /// What becomes of them.
    pub(crate) keeping: Keeping,
}

impl Workspace {
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows =
            vec![Row::of("workspace.kind", &self.kind), Row::of("workspace.path", &self.path)];
        rows.extend(self.keeping.rows());
        rows
    }

    /// The folder for all workspaces, if somebody has said.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        Some(PathBuf::from(&self.path.value)).filter(|path| !path.as_os_str().is_empty())
    }
}

/// `[workspace]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    kind: Option<Spanned<WantedKind>>,
    path: Option<Spanned<String>>,
    cleanup_on_complete: Option<Spanned<bool>>,
    max_size: Option<Spanned<Size>>,
    max_total_size: Option<Spanned<Size>>,
    max_age: Option<Spanned<Age>>,
    min_free_disk: Option<Spanned<Size>>,
    backup_max_size: Option<Spanned<Size>>,
    reproducible: Option<Spanned<Vec<String>>>,
}

/// `[workspace]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    kind: Option<Setting<WantedKind>>,
    path: Option<Setting<String>>,
    keeping: keeping::Layer,
}

impl Layer {
    pub(super) fn of_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let Some(text) = said(environment, VARIABLE)? else { return Ok(Self::default()) };
        let kind = WantedKind::parse(text).ok_or_else(|| ConfigError::Variable {
            name: VARIABLE,
            value: text.to_owned(),
            what: WantedKind::MUST,
        })?;
        Ok(Self { kind: Some(Setting::variable(kind, VARIABLE)), ..Self::default() })
    }

    pub(super) fn of_file(written: Written, file: &File) -> Self {
        Self {
            kind: written.kind.map(|kind| file.setting(kind, |kind| kind)),
            path: written.path.map(|path| file.setting(path, |path| path)),
            keeping: keeping::Layer::of_file(
                keeping::Written {
                    cleanup_on_complete: written.cleanup_on_complete,
                    max_size: written.max_size,
                    max_total_size: written.max_total_size,
                    max_age: written.max_age,
                    min_free_disk: written.min_free_disk,
                    backup_max_size: written.backup_max_size,
                    reproducible: written.reproducible,
                },
                file,
            ),
        }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self {
            kind: self.kind.or(below.kind),
            path: self.path.or(below.path),
            keeping: self.keeping.over(below.keeping),
        }
    }

    pub(super) fn or_default(self) -> Workspace {
        Workspace {
            kind: self.kind.unwrap_or(Setting::default(WantedKind::Auto)),
            path: self.path.unwrap_or(Setting::default(String::new())),
            keeping: self.keeping.or_default(),
        }
    }
}
