//! What comes into a run from outside.
//!
//! Messages wait in the store until the run's owner turns them into entries; the commit that does so removes them.
//! Reading alone takes nothing, so a crash in between loses nothing.

use serde::{Deserialize, Serialize};

use crate::entry::RunOutcome;
use crate::id::InboxKey;
use crate::name::Name;
use crate::path::OperationId;
use crate::value::Value;

/// A message for a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Its unique key.
    pub key: InboxKey,
    /// What it says.
    pub body: MessageBody,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum MessageBody {
    /// An event for the run's waits.
    Signal {
        /// The name that waits ask for.
        name: Name,
        /// What it carries.
        payload: Value,
    },
    /// A decision on a question that the run has asked.
    Approval {
        /// The question.
        operation: OperationId,
        /// Yes or no.
        approved: bool,
        /// Who.
        by: String,
        /// What they said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// The end of a child run.
    ChildEnded {
        /// The invocation.
        operation: OperationId,
        /// How it ended.
        outcome: RunOutcome,
    },
    /// The wish that the run end.
    Cancel {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}
