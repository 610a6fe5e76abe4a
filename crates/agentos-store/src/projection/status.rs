//! How runs, steps and sessions are shown.

use serde::{Deserialize, Serialize};

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WorkflowStatus {
    /// It exists, and nobody has begun.
    Pending,
    /// It has begun and is not over; perhaps it waits.
    Running,
    /// The workflow returned.
    Completed,
    /// The workflow failed.
    Failed,
    /// Somebody ended it.
    Cancelled,
    /// It took too long.
    TimedOut,
}

impl WorkflowStatus {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
    ];

    /// The spelling in the database and everywhere else.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
            Self::TimedOut => "TIMED_OUT",
        }
    }

    /// Reads the spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// How a step is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StepStatus {
    /// It was asked for and has not begun.
    Pending,
    /// Its body runs.
    Running,
    /// Its body returned.
    Completed,
    /// Its last attempt failed.
    Failed,
    /// An attempt failed and there will be another.
    Retrying,
    /// Its body said that there was nothing to do.
    Skipped,
    /// What it belonged to ended first, or the run was cancelled.
    Cancelled,
}

impl StepStatus {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Retrying,
        Self::Skipped,
        Self::Cancelled,
    ];

    /// The spelling in the database and everywhere else.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Retrying => "RETRYING",
            Self::Skipped => "SKIPPED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Reads the spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// How an agent's session is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SessionStatus {
    /// It is under way.
    Running,
    /// It ended well.
    Completed,
    /// It did not.
    Failed,
    /// It was stopped.
    Cancelled,
}

impl SessionStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Running, Self::Completed, Self::Failed, Self::Cancelled];

    /// The spelling in the database and everywhere else.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Reads the spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}
