//! Templates of a project beside workflows that the program brings along.

use agentos_core::concurrency::Concurrency;
use agentos_core::entry::RunStarted;
use agentos_core::failure::Failure;
use agentos_store::backend::BackendError;
use async_trait::async_trait;

use super::{Invocation, Library, LibraryError, Opened, RustLibrary, ScriptLibrary};

/// Both, as one library. Where a template has the name of a workflow in Rust, the template is started; runs that began
/// with the other go on with that.
pub struct MixedLibrary {
    /// Templates.
    pub scripts: ScriptLibrary,
    /// What the program brings along.
    pub rust: RustLibrary,
}

#[async_trait]
impl Library for MixedLibrary {
    async fn prepare(&self, start: &RunStarted) -> Result<(), LibraryError> {
        if self.rust.open(start).is_ok() {
            return Ok(());
        }
        self.scripts.prepare(start).await
    }

    fn open(&self, start: &RunStarted) -> Result<Opened, LibraryError> {
        match self.scripts.open(start) {
            Err(LibraryError::Unknown { .. }) => self.rust.open(start),
            other => other,
        }
    }

    fn concurrency(&self, start: &RunStarted) -> Option<Concurrency> {
        self.scripts.concurrency(start).or_else(|| self.rust.concurrency(start))
    }

    fn start_of_child(&self, invocation: Invocation) -> Result<RunStarted, Failure> {
        self.scripts.look();
        match self.scripts.find(invocation.workflow.as_str()) {
            Some(_) => self.scripts.start_of_child(invocation),
            None => self.rust.start_of_child(invocation),
        }
    }

    async fn keep_for_child(&self, start: &RunStarted) -> Result<(), BackendError> {
        self.scripts.keep_for_child(start).await
    }
}
