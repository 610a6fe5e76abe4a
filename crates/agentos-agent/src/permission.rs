//! What an agent may do without asking: nobody is there to answer.
//!
//! | mode | claude | codex | gemini |
//! |---|---|---|---|
//! | `readOnly` | `--permission-mode plan` | sandbox `read-only` | `--approval-mode plan` |
//! | `acceptEdits` (default) | `--permission-mode acceptEdits` | sandbox `workspace-write` | `--approval-mode auto_edit` |
//! | `full` | `--dangerously-skip-permissions` | no sandbox | `--approval-mode yolo` |
//!
//! Nothing ever gets more than was asked for: an agent that can't be limited as asked is refused.

use serde::{Deserialize, Serialize};

/// What an agent may do without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Permission {
    /// Look, and change nothing.
    #[serde(rename = "readOnly", alias = "read_only", alias = "plan")]
    ReadOnly,
    /// Change files of the workspace. Commands only where the agent has a sandbox for them, or where they are named.
    #[default]
    #[serde(rename = "acceptEdits", alias = "accept_edits", alias = "edit")]
    AcceptEdits,
    /// Everything that the user may do.
    #[serde(rename = "full", alias = "bypassPermissions", alias = "yolo")]
    Full,
}

impl Permission {
    /// Its name in workflows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnly",
            Self::AcceptEdits => "acceptEdits",
            Self::Full => "full",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::ReadOnly, Self::AcceptEdits, Self::Full]
            .into_iter()
            .find(|permission| permission.as_str() == name)
    }
}
