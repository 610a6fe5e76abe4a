//! Runs that somebody has stopped on purpose: nobody goes on with them until they are told to.
//!
//! Whoever presses Ctrl-C wants the run to rest, also if a background executor lives in the same database. The wish is a
//! file beside the database, made before the run is given back, and gone when somebody resumes it. Should it be lost, the
//! run is gone on with, and nothing else happens.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::id::{Epoch, OwnerId, RunId, Seq};
use agentos_core::inbox::Message;
use agentos_core::time::Timestamp;
use agentos_store::backend::BackendError;
use agentos_store::claim::{Claim, ClaimError, ClaimMode, ReleaseError};
use agentos_store::commit::{CommitError, Committed, TurnCommit};
use agentos_store::due::{Due, Except, Outlook};
use agentos_store::inbox::{Received, SendError, Sent};
use agentos_store::list::{ListError, RunCursor, RunFilter, RunPage};
use agentos_store::log::ReadError;
use agentos_store::run::{CreateError, Created, Head, NewRun};
use agentos_store::store::Store;
use agentos_store::tail::{TailCursor, TailError, TailPage};
use async_trait::async_trait;
use uuid::Uuid;

/// The runs of a database that rest.
#[derive(Debug, Clone)]
pub struct Held {
    folder: PathBuf,
}

impl Held {
    /// Those of this database.
    #[must_use]
    pub fn of(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push(".held");
        Self { folder: folder.into() }
    }

    /// Lets a run rest.
    ///
    /// # Errors
    /// The file can't be made.
    pub fn hold(&self, run: RunId) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        std::fs::write(self.folder.join(run.to_string()), b"")
    }

    /// Lets a run go on.
    pub fn let_go(&self, run: RunId) {
        // One that does not rest does not have to be let go.
        let _removed = std::fs::remove_file(self.folder.join(run.to_string()));
    }

    /// All that rest.
    #[must_use]
    pub fn all(&self) -> HashSet<RunId> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| Uuid::parse_str(&name).ok().map(RunId)).collect()
    }
}

/// A store in which those that rest are not due.
pub struct Unheld {
    store: Arc<dyn Store>,
    held: Held,
}

impl Unheld {
    /// This store without them.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, held: Held) -> Self {
        Self { store, held }
    }

    fn except(&self, more: &Except) -> Except {
        let mut except = self.held.all();
        except.extend(more);
        except
    }
}

#[async_trait]
impl Store for Unheld {
    async fn create_run(&self, new: NewRun) -> Result<Created, CreateError> {
        self.store.create_run(new).await
    }

    async fn claim(
        &self,
        run: RunId,
        owner: OwnerId,
        mode: ClaimMode,
    ) -> Result<Claim, ClaimError> {
        self.store.claim(run, owner, mode).await
    }

    async fn release(&self, run: RunId, epoch: Epoch) -> Result<(), ReleaseError> {
        self.store.release(run, epoch).await
    }

    async fn head(&self, run: RunId) -> Result<Head, ReadError> {
        self.store.head(run).await
    }

    async fn load_log(&self, run: RunId, from: Seq, limit: usize) -> Result<Vec<Chunk>, ReadError> {
        self.store.load_log(run, from, limit).await
    }

    async fn commit(&self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>> {
        self.store.commit(batch).await
    }

    async fn commit_here(&self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>> {
        self.store.commit_here(batch).await
    }

    async fn send(&self, run: RunId, message: Message, at: Timestamp) -> Result<Sent, SendError> {
        self.store.send(run, message, at).await
    }

    async fn inbox(&self, run: RunId, limit: usize) -> Result<Vec<Received>, ReadError> {
        self.store.inbox(run, limit).await
    }

    async fn due(
        &self,
        now: Timestamp,
        except: &Except,
        limit: usize,
    ) -> Result<Vec<Due>, BackendError> {
        self.store.due(now, &self.except(except), limit).await
    }

    async fn outlook(
        &self,
        owner: OwnerId,
        except: &Except,
        limit: usize,
    ) -> Result<Outlook, BackendError> {
        self.store.outlook(owner, &self.except(except), limit).await
    }

    async fn list_runs(
        &self,
        filter: RunFilter,
        after: Option<RunCursor>,
        limit: usize,
    ) -> Result<RunPage, ListError> {
        self.store.list_runs(filter, after, limit).await
    }

    async fn tail(&self, after: TailCursor, limit: usize) -> Result<TailPage, TailError> {
        self.store.tail(after, limit).await
    }
}
