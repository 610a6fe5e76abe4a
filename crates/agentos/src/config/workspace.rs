//! `[workspace]`: where runs work.

use std::path::PathBuf;

use agentos_workspace::workspace::Kind;
use agentos_workspace::workspace::policy::{Lfs, Policy, Submodules};
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
    /// A line for the shell that is executed in each of them first; empty: none.
    pub(crate) setup: Setting<String>,
    /// Which submodules are checked out in them.
    pub(crate) submodules: Setting<WhichSubmodules>,
    /// What becomes of files in git LFS.
    pub(crate) lfs: Setting<WhichLfs>,
    /// Whether `.envrc` is heeded.
    pub(crate) direnv: Setting<Whether>,
    /// Whether their files are kept as they were at each step.
    pub(crate) snapshots: Setting<Whether>,
}

impl Workspace {
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows = vec![
            Row::of("workspace.direnv", &self.direnv),
            Row::of("workspace.kind", &self.kind),
            Row::of("workspace.lfs", &self.lfs),
            Row::of("workspace.path", &self.path),
            Row::of("workspace.setup", &self.setup),
            Row::of("workspace.snapshots", &self.snapshots),
            Row::of("workspace.submodules", &self.submodules),
        ];
        rows.extend(self.keeping.rows());
        rows
    }

    /// Whether the environment that `.envrc` makes is wanted.
    pub(crate) fn has_direnv(&self) -> bool {
        self.direnv.value == Whether::Auto
    }

    /// Whether files are kept as they were at each step.
    pub(crate) fn has_snapshots(&self) -> bool {
        self.snapshots.value == Whether::Auto
    }

    /// How they are filled.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            submodules: self.submodules.value.0.clone(),
            lfs: self.lfs.value.0,
            min_free_disk: self.keeping.limits().min_free_disk,
        }
    }

    /// The folder for all workspaces, if somebody has said.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        Some(PathBuf::from(&self.path.value)).filter(|path| !path.as_os_str().is_empty())
    }
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Whether {
    /// Where it can be.
    Auto,
    /// It is not.
    Never,
}

impl From<Whether> for toml::Value {
    fn from(whether: Whether) -> Self {
        match whether {
            Whether::Auto => "auto".into(),
            Whether::Never => "never".into(),
        }
    }
}

/// `"none"`, `"all"`, or a list of paths.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "OneOrMany")]
pub(crate) struct WhichSubmodules(Submodules);

#[derive(Deserialize)]
#[serde(untagged, expecting = "must be `none`, `all`, or a list of paths")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl TryFrom<OneOrMany> for WhichSubmodules {
    type Error = &'static str;

    fn try_from(written: OneOrMany) -> Result<Self, &'static str> {
        match written {
            OneOrMany::Many(paths) => Ok(Self(Submodules::Listed(paths))),
            OneOrMany::One(text) if text == "none" => Ok(Self(Submodules::None)),
            OneOrMany::One(text) if text == "all" => Ok(Self(Submodules::All)),
            OneOrMany::One(_) => Err("must be `none`, `all`, or a list of paths"),
        }
    }
}

impl From<WhichSubmodules> for toml::Value {
    fn from(which: WhichSubmodules) -> Self {
        match which.0 {
            Submodules::None => "none".into(),
            Submodules::All => "all".into(),
            Submodules::Listed(paths) => paths.into(),
        }
    }
}

/// `"pull"`, `"skip"` or `"require"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct WhichLfs(Lfs);

impl TryFrom<String> for WhichLfs {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        match text.as_str() {
            "pull" => Ok(Self(Lfs::Pull)),
            "skip" => Ok(Self(Lfs::Skip)),
            "require" => Ok(Self(Lfs::Require)),
            _ => Err("must be `pull`, `skip` or `require`"),
        }
    }
}

impl From<WhichLfs> for toml::Value {
    fn from(which: WhichLfs) -> Self {
        match which.0 {
            Lfs::Pull => "pull".into(),
            Lfs::Skip => "skip".into(),
            Lfs::Require => "require".into(),
        }
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
    keep_backups: Option<Spanned<Age>>,
    reproducible: Option<Spanned<Vec<String>>>,
    setup: Option<Spanned<String>>,
    submodules: Option<Spanned<WhichSubmodules>>,
    lfs: Option<Spanned<WhichLfs>>,
    direnv: Option<Spanned<Whether>>,
    snapshots: Option<Spanned<Whether>>,
}

/// `[workspace]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    kind: Option<Setting<WantedKind>>,
    path: Option<Setting<String>>,
    keeping: keeping::Layer,
    setup: Option<Setting<String>>,
    submodules: Option<Setting<WhichSubmodules>>,
    lfs: Option<Setting<WhichLfs>>,
    direnv: Option<Setting<Whether>>,
    snapshots: Option<Setting<Whether>>,
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
                    keep_backups: written.keep_backups,
                    reproducible: written.reproducible,
                },
                file,
            ),
            setup: written.setup.map(|setup| file.setting(setup, |setup| setup)),
            submodules: written.submodules.map(|which| file.setting(which, |which| which)),
            lfs: written.lfs.map(|which| file.setting(which, |which| which)),
            direnv: written.direnv.map(|whether| file.setting(whether, |whether| whether)),
            snapshots: written.snapshots.map(|whether| file.setting(whether, |whether| whether)),
        }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self {
            kind: self.kind.or(below.kind),
            path: self.path.or(below.path),
            keeping: self.keeping.over(below.keeping),
            setup: self.setup.or(below.setup),
            submodules: self.submodules.or(below.submodules),
            lfs: self.lfs.or(below.lfs),
            direnv: self.direnv.or(below.direnv),
            snapshots: self.snapshots.or(below.snapshots),
        }
    }

    pub(super) fn or_default(self) -> Workspace {
        Workspace {
            kind: self.kind.unwrap_or(Setting::default(WantedKind::Auto)),
            path: self.path.unwrap_or(Setting::default(String::new())),
            keeping: self.keeping.or_default(),
            setup: self.setup.unwrap_or(Setting::default(String::new())),
            submodules: self
                .submodules
                .unwrap_or(Setting::default(WhichSubmodules(Submodules::None))),
            lfs: self.lfs.unwrap_or(Setting::default(WhichLfs(Lfs::Pull))),
            direnv: self.direnv.unwrap_or(Setting::default(Whether::Auto)),
            snapshots: self.snapshots.unwrap_or(Setting::default(Whether::Auto)),
        }
    }
}
