//! Why a forge did not do what it was asked for.

use std::time::Duration;

use thiserror::Error;

/// Why a forge did not do what it was asked for.
#[derive(Debug, Error)]
pub enum ForgeError {
    /// There is nothing to say who asks.
    #[error("{forge} wants a token, and there is none; set {variables}")]
    NoToken {
        /// The forge.
        forge: String,
        /// Where a token is looked for.
        variables: &'static str,
    },
    /// The address or the token can't be used at all.
    #[error("{forge} can't be reached: {reason}")]
    Settings {
        /// The forge.
        forge: String,
        /// What is wrong.
        reason: String,
    },
    /// The token is not accepted.
    #[error("{forge} does not accept the token (401): {said}; check {variables}")]
    Unauthorized {
        /// The forge.
        forge: String,
        /// In its own words.
        said: String,
        /// Where the token may be from.
        variables: &'static str,
    },
    /// The token may not do this.
    #[error(
        "{forge} refuses it (403): {said}; does the token have the right to open pull requests?"
    )]
    Forbidden {
        /// The forge.
        forge: String,
        /// In its own words.
        said: String,
    },
    /// Too much was asked for, by this token or by everybody.
    #[error("{forge} wants no more requests for a while ({status}): {said}")]
    TooMany {
        /// The forge.
        forge: String,
        /// The status.
        status: u16,
        /// In its own words.
        said: String,
        /// How long it wants to be left alone.
        after: Option<Duration>,
    },
    /// There is no such repository, or the token does not see it.
    #[error("{forge} does not know {what}, or the token does not see it (404)")]
    NotFound {
        /// The forge.
        forge: String,
        /// What it does not know.
        what: String,
    },
    /// It does not fit.
    #[error("{forge} can't do it ({status}): {said}")]
    Invalid {
        /// The forge.
        forge: String,
        /// The status.
        status: u16,
        /// In its own words.
        said: String,
    },
    /// The forge has a problem of its own.
    #[error("{forge} failed ({status}): {said}")]
    Failed {
        /// The forge.
        forge: String,
        /// The status.
        status: u16,
        /// In its own words.
        said: String,
    },
    /// No answer came, or no whole one.
    #[error("{forge} did not answer: {reason}")]
    Unreachable {
        /// The forge.
        forge: String,
        /// What happened.
        reason: String,
    },
    /// The answer is not what the forge's API promises.
    #[error("{forge} answered with something else than expected: {reason}")]
    Unexpected {
        /// The forge.
        forge: String,
        /// What was wrong with it.
        reason: String,
    },
}

impl ForgeError {
    /// Whether asking again later may help.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::TooMany { .. } | Self::Failed { .. } | Self::Unreachable { .. })
    }

    /// How long the forge wants to be left alone.
    pub(crate) const fn pause(&self) -> Option<Duration> {
        match self {
            Self::TooMany { after, .. } => *after,
            _ => None,
        }
    }
}
