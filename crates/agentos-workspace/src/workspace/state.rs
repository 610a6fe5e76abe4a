//! The life of a workspace. Every step of it is written down before git or jj is touched.

use serde::{Deserialize, Serialize};

/// How a workspace stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is being made; nobody was told of it, so nobody's work is in it.
    Creating,
    /// It is there, and nobody has worked in it yet.
    Ready,
    /// Somebody works in it.
    InUse,
    /// Nobody works in it any more.
    Released,
    /// It was moved away, to be deleted.
    Trashed,
    /// It is no more.
    Gone,
}

impl State {
    /// All of them, in the order of a life.
    pub const ALL: [Self; 6] =
        [Self::Creating, Self::Ready, Self::InUse, Self::Released, Self::Trashed, Self::Gone];

    /// The spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Ready => "ready",
            Self::InUse => "in_use",
            Self::Released => "released",
            Self::Trashed => "trashed",
            Self::Gone => "gone",
        }
    }

    /// Reads the spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether a folder should be there in which somebody may work.
    #[must_use]
    pub const fn is_there(self) -> bool {
        matches!(self, Self::Ready | Self::InUse | Self::Released)
    }

    /// Whether the one may follow on the other. A workspace that is gone may be made again, and one in the trash may come
    /// back out of it.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Creating => matches!(next, Self::Ready | Self::Gone),
            Self::Ready | Self::InUse | Self::Released => !matches!(next, Self::Ready),
            Self::Trashed => matches!(next, Self::Released | Self::Gone),
            Self::Gone => matches!(next, Self::Creating),
        }
    }
}
