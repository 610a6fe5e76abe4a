//! Who makes workspaces for child runs that ask for their own.

use std::any::Any;

use agentos_core::entry::Home;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::RunId;
use async_trait::async_trait;

/// Where a child run works that has a workspace of its own.
pub struct OwnHome {
    /// Its home.
    pub home: Home,
    /// The workspace's id.
    pub workspace_id: String,
    /// The branch in it.
    pub branch: Option<String>,
    /// Whatever has to be held until the run is there.
    pub held: Box<dyn Any + Send>,
}

/// Makes workspaces for child runs.
#[async_trait]
pub trait Homes: Send + Sync + 'static {
    /// A workspace for a run that is about to be created, and that works elsewhere than `home` says. Asked again for the same
    /// run, it is the same one.
    ///
    /// # Errors
    /// There can be none: the invocation fails with it.
    async fn own(&self, child: RunId, home: Home) -> Result<OwnHome, Failure>;

    /// The run is there.
    async fn begun(&self, child: RunId, own: OwnHome);
}

/// Nobody does.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHomes;

#[async_trait]
impl Homes for NoHomes {
    async fn own(&self, _: RunId, _: Home) -> Result<OwnHome, Failure> {
        let message = "a child run can't have a workspace of its own here: nobody makes any";
        Err(Failure::new(FailureKind::NonRetryable, message))
    }

    async fn begun(&self, _: RunId, _: OwnHome) {}
}
