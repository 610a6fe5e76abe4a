//! A store that shows one run and its descendants: what a foreground command drives, and nothing else.
//!
//! Whoever starts a run in a terminal wants that run driven there, not whatever else is due in the database; and wants it
//! kept, also while it only waits, so that ending the command ends what it shows. So here a member that nobody has is
//! always due, and none is ever woken by the clock from outside: the engine that holds them all does that.
//!
//! Children are known by the entries that order them, which pass through here both when they are written and when they
//! are read.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_core::codec::Chunk;
use agentos_core::entry::Entry;
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

/// One run and its descendants, in a store that has more.
pub struct Family {
    store: Arc<dyn Store>,
    /// Who drives them.
    owner: OwnerId,
    members: Mutex<Members>,
}

#[derive(Debug, Default)]
struct Members {
    /// Those that are not held here, as far as is known.
    wanted: HashSet<RunId>,
    known: HashSet<RunId>,
}

impl Family {
    /// The family of these runs, all of which `owner` is to drive.
    pub fn new(
        store: Arc<dyn Store>,
        owner: OwnerId,
        roots: impl IntoIterator<Item = RunId>,
    ) -> Self {
        let known: HashSet<RunId> = roots.into_iter().collect();
        let members = Members { wanted: known.clone(), known };
        Self { store, owner, members: Mutex::new(members) }
    }

    /// All of them, as far as they are known.
    #[must_use]
    pub fn members(&self) -> HashSet<RunId> {
        self.lock().known.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        // Nothing in there is ever half done.
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in the children that these entries order.
    fn meet<'a>(&self, entries: impl IntoIterator<Item = &'a Entry>) {
        for entry in entries {
            if let Entry::OperationOrdered { child: Some(child), .. } = entry {
                let mut members = self.lock();
                if members.known.insert(*child) {
                    members.wanted.insert(*child);
                }
            }
        }
    }

    fn has_lost(&self, run: RunId) {
        let mut members = self.lock();
        if members.known.contains(&run) {
            members.wanted.insert(run);
        }
    }

    fn needs_nobody(&self, run: RunId) {
        self.lock().wanted.remove(&run);
    }

    /// A run was created for the engine that uses this store: it is held, and one of them.
    fn is_held(&self, run: RunId) {
        let mut members = self.lock();
        members.known.insert(run);
        members.wanted.remove(&run);
    }

    /// Takes in what is about to be committed. For which runs that is.
    fn before(&self, batch: &[TurnCommit]) -> Vec<RunId> {
        self.meet(batch.iter().flat_map(|commit| &commit.chunk.entries));
        batch.iter().map(|commit| commit.run).collect()
    }

    /// Those that are held elsewhere by now are lost.
    fn after(&self, runs: Vec<RunId>, committed: &[Result<Committed, CommitError>]) {
        for (run, result) in runs.into_iter().zip(committed) {
            if matches!(result, Err(CommitError::Stale { .. })) {
                self.has_lost(run);
            }
        }
    }
}

#[async_trait]
impl Store for Family {
    async fn create_run(&self, new: NewRun) -> Result<Created, CreateError> {
        let run = new.run;
        // A child is created for its family, so that nobody else finds it first. It is wanted until it is driven.
        if new.owner.is_none() && self.lock().known.contains(&run) {
            let created = self.store.create_run(NewRun { owner: Some(self.owner), ..new }).await?;
            let is_new = matches!(created, Created::Claimed(_) | Created::New);
            return Ok(if is_new { Created::New } else { Created::Existed });
        }
        let created = self.store.create_run(new).await;
        if matches!(created, Ok(Created::Claimed(_))) {
            self.is_held(run);
        }
        created
    }

    async fn claim(
        &self,
        run: RunId,
        owner: OwnerId,
        mode: ClaimMode,
    ) -> Result<Claim, ClaimError> {
        let claimed = self.store.claim(run, owner, mode).await;
        if matches!(claimed, Ok(_) | Err(ClaimError::Ended { .. })) {
            self.needs_nobody(run);
        }
        claimed
    }

    async fn release(&self, run: RunId, epoch: Epoch) -> Result<(), ReleaseError> {
        let released = self.store.release(run, epoch).await;
        self.has_lost(run);
        released
    }

    async fn head(&self, run: RunId) -> Result<Head, ReadError> {
        self.store.head(run).await
    }

    async fn load_log(&self, run: RunId, from: Seq, limit: usize) -> Result<Vec<Chunk>, ReadError> {
        let chunks = self.store.load_log(run, from, limit).await?;
        self.meet(chunks.iter().flat_map(|chunk| &chunk.entries));
        Ok(chunks)
    }

    async fn commit(&self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>> {
        let runs = self.before(&batch);
        let committed = self.store.commit(batch).await;
        self.after(runs, &committed);
        committed
    }

    async fn commit_here(&self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>> {
        let runs = self.before(&batch);
        let committed = self.store.commit_here(batch).await;
        self.after(runs, &committed);
        committed
    }

    async fn send(&self, run: RunId, message: Message, at: Timestamp) -> Result<Sent, SendError> {
        self.store.send(run, message, at).await
    }

    async fn inbox(&self, run: RunId, limit: usize) -> Result<Vec<Received>, ReadError> {
        self.store.inbox(run, limit).await
    }

    async fn due(
        &self,
        _: Timestamp,
        except: &Except,
        limit: usize,
    ) -> Result<Vec<Due>, BackendError> {
        let wanted: Vec<RunId> = self.lock().wanted.difference(except).copied().collect();
        let mut due = Vec::new();
        for run in wanted {
            match self.store.head(run).await {
                Ok(head) if head.standing.is_ended() => self.needs_nobody(run),
                Ok(head) => due.push(Due { run, wake_at: head.standing.wake_at() }),
                // It was ordered, and is not created yet.
                Err(ReadError::NotFound { .. }) => {}
                Err(ReadError::Backend(error)) => return Err(error),
                Err(_) => self.needs_nobody(run),
            }
            if due.len() >= limit {
                break;
            }
        }
        Ok(due)
    }

    async fn outlook(
        &self,
        owner: OwnerId,
        except: &Except,
        limit: usize,
    ) -> Result<Outlook, BackendError> {
        let outlook = self.store.outlook(owner, except, limit).await?;
        Ok(Outlook { wake_at: None, ..outlook })
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
