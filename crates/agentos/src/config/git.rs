//! `[git]`: how the work of runs is shown to others.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting};

/// `[git]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Git {
    /// The file with the template of pull requests, relative to the checkout; empty: the usual one, if it is there.
    pub(crate) pr_template: Setting<String>,
}

impl Git {
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![Row::of("git.pr_template", &self.pr_template)]
    }

    /// The file with the template, if somebody has said.
    pub(crate) fn template(&self) -> Option<PathBuf> {
        Some(PathBuf::from(&self.pr_template.value)).filter(|path| !path.as_os_str().is_empty())
    }
}

/// `[git]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    pr_template: Option<Spanned<Inside>>,
}

/// A path that does not leave the checkout: what is in the file is shown to everybody.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Inside(String);

impl TryFrom<String> for Inside {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let is_inside = Path::new(&text)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if is_inside { Ok(Self(text)) } else { Err("must be a path inside of the repository") }
    }
}

/// `[git]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    pr_template: Option<Setting<String>>,
}

impl Layer {
    pub(super) fn of_file(written: Written, file: &File) -> Self {
        Self { pr_template: written.pr_template.map(|path| file.setting(path, |path| path.0)) }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self { pr_template: self.pr_template.or(below.pr_template) }
    }

    pub(super) fn or_default(self) -> Git {
        Git { pr_template: self.pr_template.unwrap_or(Setting::default(String::new())) }
    }
}
