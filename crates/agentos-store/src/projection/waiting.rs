//! What a run waits for, while it only waits.

use agentos_core::entry::HoldKind;
use agentos_core::operation::{OperationKind, Treatment};
use agentos_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::Projection;

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The kind of thing.
    pub kind: WaitKind,
    /// Since when.
    pub since: Timestamp,
    /// Until when at the latest, if there is a limit.
    pub until: Option<Timestamp>,
    /// What is in the way, for people, where that is known: who has the slots, say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What it is about, for people, shortened to a line: the question, the name of the event, the workflow that was
    /// invoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

impl Waiting {
    /// Waits for something, with nothing more to say.
    #[must_use]
    pub const fn new(kind: WaitKind, since: Timestamp, until: Option<Timestamp>) -> Self {
        Self { kind, since, until, why: None, about: None }
    }
}

/// The kinds of waits, the one that says most about a run first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A person.
    Approval,
    /// An event.
    Signal,
    /// Another run.
    Child,
    /// A free slot.
    Slot,
    /// Room on the disk.
    Disk,
    /// The next attempt at a step, or at what a killed program could not do.
    Retry,
    /// A time.
    Timer,
}

impl WaitKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Approval,
        Self::Signal,
        Self::Child,
        Self::Slot,
        Self::Disk,
        Self::Retry,
        Self::Timer,
    ];

    /// The spelling in the database and everywhere else.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Signal => "signal",
            Self::Child => "child",
            Self::Slot => "slot",
            Self::Disk => "disk",
            Self::Retry => "retry",
            Self::Timer => "timer",
        }
    }

    /// Reads the spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl Projection {
    /// The wait that says most, if nothing else is open.
    pub(super) fn waits_for(&self) -> Option<Waiting> {
        let mut waits = Vec::new();
        for operation in self.operations.values().filter(|operation| operation.is_open()) {
            if let Some(held) = &operation.held {
                let kind = match held.kind {
                    HoldKind::Approval => WaitKind::Approval,
                    HoldKind::Disk => WaitKind::Disk,
                    HoldKind::Slot => WaitKind::Slot,
                    HoldKind::Tool => WaitKind::Retry,
                };
                let (why, about) = (held.why.clone(), held.about.clone());
                waits.push(Waiting { why, about, ..Waiting::new(kind, held.since, held.until) });
                continue;
            }
            let kind = match operation.kind {
                OperationKind::Approve => WaitKind::Approval,
                OperationKind::Wait => WaitKind::Signal,
                OperationKind::Invoke => WaitKind::Child,
                OperationKind::Sleep => WaitKind::Timer,
                kind if kind.treatment() == Treatment::Performed => return None,
                _ => continue,
            };
            let about = operation.about.clone();
            waits.push(Waiting { about, ..Waiting::new(kind, operation.since, operation.due) });
        }
        for step in self.steps.values() {
            if let Some((since, until)) = step.retry {
                waits.push(Waiting::new(WaitKind::Retry, since, Some(until)));
            }
        }
        waits.into_iter().min_by_key(|wait| (wait.kind, wait.since))
    }
}
