//! Why an operation can't be begun yet.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// What a held operation waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The kind of thing.
    pub kind: HoldKind,
    /// What people are told or asked.
    pub message: String,
    /// What exactly an approval is given for, so that it counts for nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// When it is tried again by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// How often it waits for what has a limit; then it fails with the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The kinds of things that operations are held for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// A person's approval.
    Approval,
    /// Room on the disk.
    Disk,
    /// A slot: so many are at work already.
    Slot,
    /// A program that is needed before it can begin (git, jj): a signal has ended it again and again.
    Tool,
}
