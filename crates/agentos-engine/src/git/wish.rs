//! A pull request as a workflow asks for it. Read from what was ordered, so nothing in here is taken for granted.

use std::time::Duration;

use agentos_core::failure::{Failure, FailureKind};
use agentos_workspace::version_control::bounds::EXCHANGE;
use serde::Deserialize;

/// Longest title, in bytes.
const TITLE_BYTES: usize = 1_000;

/// Longest body or template, in bytes.
const TEXT_BYTES: usize = 256 << 10;

/// Most labels, and most reviewers.
const NAMES: usize = 50;

/// Longest label or reviewer, in bytes.
const NAME_BYTES: usize = 200;

/// A pull request that is wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wish {
    pub(super) title: String,
    /// What the workflow says about it.
    #[serde(default)]
    pub(super) body: String,
    /// In the place of the project's template.
    #[serde(default)]
    pub(super) template: Option<String>,
    /// The branch that it is for; the remote's main one if nothing is said.
    #[serde(default)]
    pub(super) base: Option<String>,
    /// The branch with the work; the one that is checked out if nothing is said.
    #[serde(default)]
    pub(super) head: Option<String>,
    #[serde(default)]
    pub(super) remote: Option<String>,
    #[serde(default)]
    pub(super) draft: bool,
    #[serde(default)]
    pub(super) labels: Vec<String>,
    #[serde(default)]
    pub(super) reviewers: Vec<String>,
    #[serde(default)]
    pub(super) on_behind: OnBehind,
    /// For everything that it takes.
    #[serde(default)]
    pub(super) timeout_ms: Option<u64>,
}

/// What to do if the base has commits that the work does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnBehind {
    /// Say so, and open it.
    #[default]
    Continue,
    /// Make the work's commits again on top of them.
    Rebase,
    /// Open nothing.
    Fail,
}

impl Wish {
    pub(super) fn timeout(&self) -> Duration {
        self.timeout_ms.map_or(EXCHANGE, Duration::from_millis)
    }

    /// Whether it can be opened at all.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let no = |message: String| {
            Err(Failure::new(FailureKind::NonRetryable, format!("ctx.git.createPr: {message}")))
        };
        if self.title.trim().is_empty() || self.title.len() > TITLE_BYTES {
            return no(format!("a pull request needs a title of at most {TITLE_BYTES} bytes"));
        }
        if self.body.len() > TEXT_BYTES {
            return no(format!("a body has at most {TEXT_BYTES} bytes"));
        }
        if self.template.as_ref().is_some_and(|template| template.len() > TEXT_BYTES) {
            return no(format!("a template has at most {TEXT_BYTES} bytes"));
        }
        for (what, names) in [("labels", &self.labels), ("reviewers", &self.reviewers)] {
            let is_odd = |name: &String| {
                name.trim().is_empty()
                    || name.len() > NAME_BYTES
                    || name.contains(|letter: char| letter.is_control() || letter == ',')
            };
            if names.len() > NAMES || names.iter().any(is_odd) {
                return no(format!(
                    "there are at most {NAMES} {what}, each a word or a few, without commas"
                ));
            }
        }
        Ok(())
    }
}
