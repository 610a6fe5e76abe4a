//! Runs as the store sees them: how one is created, and its head.

use agentos_core::codec::Chunk;
use agentos_core::entry::Entry;
use agentos_core::id::{Epoch, OwnerId, RunId, Seq};
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_core::value::{self, ValueError};
use thiserror::Error;

use crate::backend::BackendError;
use crate::claim::Claim;
use crate::place::Place;
use crate::retry::Retry;

/// A run to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// Its id, chosen by whoever creates it: that makes creating it again harmless.
    pub run: RunId,
    /// When it is created: now, also if it is a fork.
    pub at: Timestamp,
    /// The first entry of its log: [`Entry::RunStarted`] of this very run.
    pub first: Entry,
    /// What it has behind it already, if it is a fork. That is there together with the run, or the run is not there.
    pub history: Option<History>,
    /// Where it belongs.
    pub place: Place,
    /// Who drives it from the beginning: it is claimed together with its creation, and nobody has to look for it first.
    pub owner: Option<OwnerId>,
}

/// What a run has behind it when it is created.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The time of the first entry. A log never goes back in time, so it is that of the history's beginning.
    pub began: Timestamp,
    /// The log after the first entry, without a gap.
    pub rest: Vec<Chunk>,
    /// How the run stands after that.
    pub standing: Standing,
}

impl NewRun {
    /// The time of the first entry.
    #[must_use]
    pub fn began(&self) -> Timestamp {
        self.history.as_ref().map_or(self.at, |history| history.began)
    }

    /// Checks what can be checked without the store. Every backend does so first.
    ///
    /// # Errors
    /// [`FirstEntryError`] says what is wrong with the first entry.
    pub fn check(&self) -> Result<(), FirstEntryError> {
        let Entry::RunStarted(started) = &self.first else {
            return Err(FirstEntryError::NotRunStarted { kind: self.first.kind() });
        };
        if started.run != self.run {
            return Err(FirstEntryError::OtherRun { run: started.run });
        }
        let mut next = Seq(1);
        for chunk in self.history.iter().flat_map(|history| &history.rest) {
            if chunk.first != next || chunk.entries.is_empty() {
                return Err(FirstEntryError::Misplaced { first: chunk.first });
            }
            next = Seq(next.0 + chunk.entries.len() as u64);
        }
        Ok(value::check(&started.input)?)
    }
}

/// What became of a creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Created {
    /// The run is new, and free.
    New,
    /// The run is new, and held by the owner that was named.
    Claimed(Claim),
    /// It was there already, created with the same first entry; nothing has changed.
    Existed,
}

/// Why an entry can't be the first of a run's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FirstEntryError {
    /// Logs begin with [`Entry::RunStarted`].
    #[error("a log begins with `run.started`, not with `{kind}`")]
    NotRunStarted {
        /// The entry's kind.
        kind: &'static str,
    },
    /// The entry names another run than the one to be created: the caller mixed up two runs.
    #[error("the first entry is that of run {run}")]
    OtherRun {
        /// The run that it names.
        run: RunId,
    },
    /// The rest of the log does not follow on the first entry without a gap.
    #[error(
        "the rest of its log does not follow without a gap: a chunk begins at position {first}"
    )]
    Misplaced {
        /// Where the chunk begins that does not follow.
        first: Seq,
    },
    /// The run's input is over a bound.
    #[error("the input of the run is not taken: {0}")]
    Input(#[from] ValueError),
}

/// Why a run was not created.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CreateError {
    /// The first entry can't be one. Nothing was stored; the caller is wrong.
    #[error("run {run} can't be created: {source}")]
    FirstEntry {
        /// The run.
        run: RunId,
        /// What is wrong.
        source: FirstEntryError,
    },
    /// There is a run of this id that began differently. It is untouched; take another id.
    #[error("there is another run with the id {run}; a new run needs a new id")]
    Conflict {
        /// The run.
        run: RunId,
    },
    /// Its readable id belongs to another run. Take another one.
    #[error("run {run} can't be created: there is another run with the name `{name}`")]
    NameTaken {
        /// The run.
        run: RunId,
        /// The name.
        name: String,
    },
    /// Its place names a project or definition that the store does not know. Register that first.
    #[error("run {run} can't be created: there is no {what}")]
    NoSuchPlace {
        /// The run.
        run: RunId,
        /// What is not there.
        what: String,
    },
    /// The backend failed; the run may or may not exist. Create it again: that is idempotent.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl CreateError {
    /// Whether asking again can help.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::FirstEntry { .. }
            | Self::Conflict { .. }
            | Self::NameTaken { .. }
            | Self::NoSuchPlace { .. } => Retry::Never,
            Self::Backend(error) => error.retry(),
        }
    }
}

/// Where a run's log ends, whose it is and how it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Head {
    /// The number of entries, which is the position of the next one.
    pub head: Seq,
    /// The epoch of the latest claim; 0 if there was none.
    pub epoch: Epoch,
    /// Who holds the run. It may be dead: only a claim finds that out.
    pub owner: Option<OwnerId>,
    /// How the run stands.
    pub standing: Standing,
}
