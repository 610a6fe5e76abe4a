//! Taking a run over from an owner that hangs.
//!
//! The owner's process is killed first, so that it can't wake up and go on with what it had in mind; all its runs are
//! free with it. Nothing has to be written for that, because whoever hangs may hold the writer's lock.

use agentos_core::id::{OwnerId, RunId};
use agentos_store::log::ReadError;
use agentos_store::sqlite::{EndOwnerError, OwnerEnd, SqliteStore};
use agentos_store::store::Store as _;
use thiserror::Error;

use crate::engine::Engine;

/// What a take-over came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeOver {
    /// Nobody who lives had the run.
    WasFree,
    /// Whoever had it was ended.
    From(OwnerId),
}

/// Why a run was not taken over.
#[derive(Debug, Error)]
pub enum TakeOverError {
    /// The run can't be looked at.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its owner lives on.
    #[error(transparent)]
    Owner(#[from] EndOwnerError),
    /// This process is about to end.
    #[error("the take-over was interrupted")]
    Interrupted,
}

/// Frees a run from whoever has it. A store that was opened only to be looked at will do.
///
/// # Errors
/// [`TakeOverError`]; then the run stays where it is.
pub async fn free(store: &SqliteStore, run: RunId) -> Result<TakeOver, TakeOverError> {
    let Some(owner) = store.head(run).await?.owner else {
        return Ok(TakeOver::WasFree);
    };
    let store = store.clone();
    let ended = tokio::task::spawn_blocking(move || store.end_owner(owner)).await;
    match ended.map_err(|_| TakeOverError::Interrupted)?? {
        OwnerEnd::WasDead => Ok(TakeOver::WasFree),
        OwnerEnd::Killed => Ok(TakeOver::From(owner)),
    }
}

impl Engine {
    /// Frees a run from whoever has it, and drives it like any other that was interrupted.
    ///
    /// # Errors
    /// As [`free`].
    pub async fn take_over(
        &self,
        store: &SqliteStore,
        run: RunId,
    ) -> Result<TakeOver, TakeOverError> {
        let taken = free(store, run).await?;
        self.look_again();
        Ok(taken)
    }
}
