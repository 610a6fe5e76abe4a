//! How a session ended: success is what the stream and the exit status agree on, everything else is a kind of trouble.

use serde::{Deserialize, Serialize};

use crate::usage::Usage;

/// Why a session was no success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TroubleKind {
    /// No key, or one that is not taken.
    Auth,
    /// Too many requests, and the agent has given up trying again.
    RateLimit,
    /// The model's server failed.
    Api,
    /// The model's server refused the request as such.
    Request,
    /// It took as many turns as it may.
    MaxTurns,
    /// It used as much as it may.
    Budget,
    /// It was not allowed to do what it wanted to do.
    PermissionDenied,
    /// The model's answer could not be read.
    Malformed,
    /// The stream ended before it was finished.
    Dropped,
    /// Somebody ended the agent.
    Killed,
    /// It took longer than it may.
    Timeout,
    /// It said nothing for longer than it may.
    Idle,
    /// The agent does not know the session that was to be resumed.
    UnknownSession,
    /// The agent could not be started.
    NotStarted,
    /// It refuses to work here, or with these arguments.
    Refused,
    /// The answer is not what was asked for.
    Answer,
    /// It said that all went well, and its exit status says otherwise; or it failed without saying why.
    Exit,
}

impl TroubleKind {
    /// The spelling in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimit => "rate_limit",
            Self::Api => "api",
            Self::Request => "request",
            Self::MaxTurns => "max_turns",
            Self::Budget => "budget",
            Self::PermissionDenied => "permission_denied",
            Self::Malformed => "malformed",
            Self::Dropped => "dropped",
            Self::Killed => "killed",
            Self::Timeout => "timeout",
            Self::Idle => "idle",
            Self::UnknownSession => "unknown_session",
            Self::NotStarted => "not_started",
            Self::Refused => "refused",
            Self::Answer => "answer",
            Self::Exit => "exit",
        }
    }

    /// Whether the same again may go well.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(
            self,
            Self::RateLimit
                | Self::Api
                | Self::Malformed
                | Self::Dropped
                | Self::Killed
                | Self::Timeout
                | Self::Idle
                | Self::Answer
                | Self::Exit
        )
    }
}

/// Why a session was no success, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// The kind.
    pub kind: TroubleKind,
    /// What happened, in the agent's words where it has any.
    pub message: String,
}

impl Trouble {
    /// Trouble of this kind.
    pub fn new(kind: TroubleKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// How a session ended and what is known about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// What was wrong, if anything.
    pub trouble: Option<Trouble>,
    /// What the agent said last, as far as it becomes part of the run's log.
    pub text: String,
    /// All of that, where it is longer, or as much of it as is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_text: Option<String>,
    /// Whether something of it is not kept at all. `…` stands in its place, if it is known where that is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// Under which name the agent finds the session again.
    pub session_id: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What was used, without what the session had used before.
    pub usage: Usage,
    /// What it cost in US dollars, if the agent says so.
    pub cost_usd: Option<f64>,
    /// Whether that is all that it used: agents that are ended have not told of everything.
    #[serde(skip)]
    pub is_counted: bool,
    /// Tools that were not allowed.
    pub denied: Vec<String>,
    /// Lines that were no events.
    pub unreadable_lines: u64,
}

impl Verdict {
    /// Whether all went well.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        self.trouble.is_none()
    }

    /// Whether the agent said more than `text` has.
    #[must_use]
    pub const fn is_truncated(&self) -> bool {
        self.is_cut || self.whole_text.is_some()
    }
}
