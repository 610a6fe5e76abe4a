//! Names of workspaces: each is a folder and a branch too, so what fits neither is refused before anything is made.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Longest id, in characters.
pub const LONGEST: usize = 100;

/// What every branch of ours begins with.
pub(super) const BRANCHES: &str = "agentos/";

/// The id of a workspace: letters, digits, `-`, `_` and `.`, beginning with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkspaceId(String);

/// Why something is no id of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{shown}` is no id of a workspace: {why}")]
pub struct IdError {
    shown: String,
    why: &'static str,
}

impl WorkspaceId {
    /// The spelling.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The branch of a workspace of this id.
    #[must_use]
    pub fn branch(&self) -> String {
        format!("{BRANCHES}{}", self.0)
    }
}

impl FromStr for WorkspaceId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let is_plain =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let why = if text.is_empty() {
            "it is empty"
        } else if text.chars().count() > LONGEST {
            "it is longer than 100 characters"
        } else if !text.chars().all(is_plain) {
            "it may hold letters, digits, `-`, `_` and `.`"
        } else if !text.starts_with(|first: char| first.is_ascii_alphanumeric()) {
            "it has to begin with a letter or a digit"
        } else if text.contains("..") || text.ends_with('.') {
            "it may not hold `..`, nor end with `.`"
        } else if text.to_ascii_lowercase().ends_with(".lock") {
            "git keeps names that end with `.lock` for itself"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(IdError { shown: shown(text), why })
    }
}

/// Enough of it to be recognised, and nothing that a terminal would obey.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        shown.push('…');
    }
    shown
}

impl fmt::Display for WorkspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for WorkspaceId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<WorkspaceId> for String {
    fn from(id: WorkspaceId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_folder_and_a_branch_is_an_id() {
        for text in ["issue-abcdef", "7", "a.b_c-D", &"x".repeat(LONGEST)] {
            assert_eq!(text.parse::<WorkspaceId>().unwrap().as_str(), text);
        }
        assert_eq!("fix".parse::<WorkspaceId>().unwrap().branch(), "agentos/fix");
    }

    #[test]
    fn what_would_leave_its_folder_or_break_a_branch_is_refused() {
        let long = "x".repeat(300);
        let bad = [
            "", ".", "..", "../x", "a/b", "/abs", "a..b", "-rf", ".hidden", "a b", "a\nb", "ä",
            "x.lock", "X.LOCK", "end.", "a\0b", "a~b", "a^b", "a:b", &long,
        ];
        for text in bad {
            let refused = text.parse::<WorkspaceId>().unwrap_err().to_string();
            assert!(!refused.contains('\n') && refused.len() < 200, "{refused}");
        }
    }
}
