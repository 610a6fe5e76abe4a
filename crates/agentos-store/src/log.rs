//! Reading what is stored of one run.

use agentos_core::codec::{Chunk, DecodeError};
use agentos_core::id::{RunId, Seq};
use thiserror::Error;

use crate::backend::{BackendError, BackendErrorKind};
use crate::bounds;
use crate::retry::Retry;
use crate::store::Store;

/// Why a run's log, inbox or head can't be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// No such run.
    #[error("there is no run {run}")]
    NotFound {
        /// The run.
        run: RunId,
    },
    /// What is stored can't be understood: it is damaged, or a newer version wrote it. The run can't be driven by this
    /// program; nothing of it is lost.
    #[error("what is stored of run {run} can't be read: {source}")]
    Damaged {
        /// The run.
        run: RunId,
        /// What is wrong, and at which position.
        source: DecodeError,
    },
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl ReadError {
    /// Whether asking again can help.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::NotFound { .. } | Self::Damaged { .. } => Retry::Never,
            Self::Backend(error) => error.retry(),
        }
    }
}

/// Loads a run's whole log, page by page.
///
/// Entries that are committed meanwhile may or may not be in it; whoever has claimed the run commits them itself.
///
/// # Errors
/// As [`Store::load_log`].
pub async fn load_whole_log(store: &dyn Store, run: RunId) -> Result<Vec<Chunk>, ReadError> {
    let mut log = Vec::new();
    let mut next = Seq::FIRST;
    loop {
        let page = store.load_log(run, next, bounds::PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(log);
        };
        if end(last) <= next {
            let message = format!("asked for run {run} from {next} on, it gave what comes before");
            return Err(BackendError::new(BackendErrorKind::Permanent, message).into());
        }
        next = end(last);
        log.extend(page);
    }
}

/// The position after a chunk's last entry.
#[must_use]
pub const fn end(chunk: &Chunk) -> Seq {
    Seq(chunk.first.0 + chunk.entries.len() as u64)
}
