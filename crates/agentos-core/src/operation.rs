//! What a workflow can ask of the world, and how each kind of asking is treated.
//!
//! The core knows five ways of treating an operation; which command, agent or file is behind one is no concern of
//! it. Kind and name of every operation are defined, because they are part of its identity.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::json;
use thiserror::Error;

use crate::failure::{Failure, FailureKind};
use crate::name::Name;
use crate::path::OperationId;
use crate::source::Site;
use crate::time::Millis;
use crate::value::Value;

/// The kind of an operation: the call on `ctx` that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// A command in the workspace.
    Shell,
    /// A session of a coding agent.
    Agent,
    /// A git or jj call in the workspace.
    Git,
    /// A file call in the workspace.
    Files,
    /// A file kept with the run.
    Artifact,
    /// I/O of a workflow written in Rust.
    Effect,
    /// A child run.
    Invoke,
    /// A durable timer.
    Sleep,
    /// A wait for a signal.
    Wait,
    /// A question to a person.
    Approve,
    /// A write to the run's state.
    Set,
    /// A remark in the audit trail.
    Comment,
}

/// How the core treats a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// Performed in the world after the commit that orders it; has tries, can be stopped.
    Performed,
    /// A run of its own, created after the commit that orders it, that answers when it ends. Waiting for it is a wait.
    Invoked,
    /// Answered when its time has come.
    Timed,
    /// Answered by a signal, or by its timeout.
    Signalled,
    /// Recorded; nobody waits for it.
    Noted,
}

impl OperationKind {
    /// All kinds, for parsing and for tests that want to see each.
    pub const ALL: [Self; 12] = [
        Self::Shell,
        Self::Agent,
        Self::Git,
        Self::Files,
        Self::Artifact,
        Self::Effect,
        Self::Invoke,
        Self::Sleep,
        Self::Wait,
        Self::Approve,
        Self::Set,
        Self::Comment,
    ];

    /// How the core treats operations of this kind.
    #[must_use]
    pub const fn treatment(self) -> Treatment {
        match self {
            Self::Shell | Self::Agent | Self::Git | Self::Files | Self::Artifact | Self::Effect => {
                Treatment::Performed
            }
            Self::Invoke => Treatment::Invoked,
            Self::Sleep => Treatment::Timed,
            Self::Wait | Self::Approve => Treatment::Signalled,
            Self::Set | Self::Comment => Treatment::Noted,
        }
    }

    /// The spelling used in paths and in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Agent => "agent",
            Self::Git => "git",
            Self::Files => "files",
            Self::Artifact => "artifact",
            Self::Effect => "effect",
            Self::Invoke => "invoke",
            Self::Sleep => "sleep",
            Self::Wait => "wait",
            Self::Approve => "approve",
            Self::Set => "set",
            Self::Comment => "comment",
        }
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no kind of operation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a kind of operation")]
pub struct UnknownKind(String);

impl FromStr for OperationKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

/// The answer of an operation's own timer: a sleep is over, and whoever waits for somebody waits no longer.
pub(crate) fn answer_in_time(id: &OperationId, args: Option<&Value>) -> Result<Value, Failure> {
    let question = args.and_then(|args| args.get("question")).and_then(Value::as_str);
    let message = match (id.kind(), question) {
        (Some(OperationKind::Sleep), _) => return Ok(Value::Null),
        (Some(OperationKind::Approve), Some(question)) => {
            format!("nobody answered in time: {question}")
        }
        _ => format!("no signal came in time for `{id}`"),
    };
    Err(Failure::new(FailureKind::Timeout, message).bounded())
}

/// What program code asks for: an operation that will be answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub(crate) kind: OperationKind,
    pub(crate) name: Name,
    pub(crate) args: Value,
    pub(crate) timer: Option<Millis>,
    pub(crate) site: Option<Site>,
}

/// A kind that can't be asked for in this way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("`{0}` is not performed in the world")]
pub struct NotPerformed(pub OperationKind);

impl Request {
    /// Something performed in the world.
    ///
    /// # Errors
    /// [`NotPerformed`] for kinds that are timed, signalled or noted.
    pub fn perform(kind: OperationKind, name: Name, args: Value) -> Result<Self, NotPerformed> {
        match kind.treatment() {
            Treatment::Performed => Ok(Self { kind, name, args, timer: None, site: None }),
            _ => Err(NotPerformed(kind)),
        }
    }

    /// A child run of the workflow `name`.
    #[must_use]
    pub fn invoke(name: Name, args: Value) -> Self {
        Self { kind: OperationKind::Invoke, name, args, timer: None, site: None }
    }

    /// A durable sleep. One of no length is answered within the turn.
    #[must_use]
    pub fn sleep(name: Name, length: Millis) -> Self {
        Self {
            kind: OperationKind::Sleep,
            name,
            args: json!({ "ms": length }),
            timer: Some(length),
            site: None,
        }
    }

    /// A wait for the signal `name`, for ever or for a time.
    #[must_use]
    pub fn wait(name: Name, timeout: Option<Millis>) -> Self {
        Self {
            kind: OperationKind::Wait,
            name,
            args: json!({ "timeout_ms": timeout }),
            timer: timeout,
            site: None,
        }
    }

    /// A question to a person, open for ever or for a time.
    #[must_use]
    pub fn approve(name: Name, question: &str, timeout: Option<Millis>) -> Self {
        let args = json!({ "question": question, "timeout_ms": timeout });
        Self { kind: OperationKind::Approve, name, args, timer: timeout, site: None }
    }

    /// The same, with what whoever answers should know: a part of its arguments.
    #[must_use]
    pub fn about(mut self, key: &str, value: Value) -> Self {
        if let Some(args) = self.args.as_object_mut() {
            args.insert(key.to_owned(), value);
        }
        self
    }

    /// The same, asked for at this place in the source.
    #[must_use]
    pub fn at(mut self, site: Site) -> Self {
        self.site = Some(site);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_back_as_it_is_written() {
        for kind in OperationKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), json!(kind.as_str()));
        }
        assert_eq!("nope".parse::<OperationKind>(), Err(UnknownKind("nope".into())));
    }

    #[test]
    fn only_performed_kinds_are_performed() {
        for kind in OperationKind::ALL {
            let request = Request::perform(kind, Name::new("x").unwrap(), Value::Null);
            assert_eq!(request.is_ok(), kind.treatment() == Treatment::Performed, "{kind}");
        }
    }
}
