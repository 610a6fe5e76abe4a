//! Taking a run over from an owner that hangs.

use agentos_core::id::{OwnerId, RunId};
use agentos_store::log::ReadError;
use agentos_store::sqlite::{EndOwnerError, SqliteStore};
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

impl Engine {
    /// Takes a run over, whoever has it: the owner's process is killed first, so that it can't wake up and go on with
    /// what it had in mind. All its other runs are free with it. Then the run is driven like any other that was
    /// interrupted.
    ///
    /// # Errors
    /// [`TakeOverError`]; then the run stays where it is.
    pub async fn take_over(
        &self,
        store: &SqliteStore,
        run: RunId,
    ) -> Result<TakeOver, TakeOverError> {
        let Some(owner) = store.head(run).await?.owner else {
            return Ok(TakeOver::WasFree);
        };
        let at = store.clone();
        let ended = tokio::task::spawn_blocking(move || at.end_owner(owner)).await;
        let ended = ended.map_err(|_| TakeOverError::Interrupted)?;
        ended?;
        self.look_again();
        Ok(TakeOver::From(owner))
    }
}
