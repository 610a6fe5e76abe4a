//! Stores that are broken on purpose, each in one way: a check that can't fail is worth nothing.
//!
//! Each breaks what the simulated store does right. What they break is chosen after mistakes that are easily made:
//! a condition left out of an update, a transaction that is two, a cursor that remembers too little.

mod commits;
mod messages;
mod owners;
mod reads;
mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use agentos_core::codec::Chunk;
use agentos_core::id::{Epoch, InboxKey, OwnerId, RunId, Seq};
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
use agentos_store::simulated::SimulatedStore;
use agentos_store::store::Store;
use agentos_store::tail::{TailCursor, TailError, TailEvent, TailPage};
use async_trait::async_trait;
use uuid::Uuid;

pub(crate) use commits::BadCommits;
pub(crate) use messages::BadMessages;
pub(crate) use owners::BadOwners;
pub(crate) use reads::BadReads;
pub(crate) use runs::BadRuns;

/// What is broken, by the verbs that it concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    /// `create_run`, `list_runs`
    Runs(BadRuns),
    /// `claim`, `release`, `head`
    Owners(BadOwners),
    /// `commit`
    Commits(BadCommits),
    /// `send`, `inbox`
    Messages(BadMessages),
    /// `due`, `outlook`, `load_log`, `tail`
    Reads(BadReads),
    /// Every handle writes into a copy of its own: nothing is shared, nothing is kept.
    Volatile,
}

/// What a broken store remembers beside what it should.
#[derive(Default)]
struct Memory {
    hidden: BTreeSet<(RunId, InboxKey)>,
    returned: Vec<(RunId, Received)>,
    keys: BTreeSet<InboxKey>,
    owners: BTreeMap<RunId, OwnerId>,
    commits: u64,
    ghosts: Vec<TailEvent>,
    shown: BTreeSet<(RunId, Seq)>,
    in_the_gap: usize,
}

/// A simulated store with one defect.
pub(crate) struct Broken {
    inner: SimulatedStore,
    defect: Defect,
    memory: Arc<Mutex<Memory>>,
}

/// What makes of a simulated store one with this defect. All handles share what it remembers.
pub(crate) fn breaking(defect: Defect) -> impl Fn(SimulatedStore) -> Arc<dyn Store> + Send + Sync {
    let memory = Arc::new(Mutex::new(Memory::default()));
    move |inner| {
        let inner = if defect == Defect::Volatile { inner.snapshot() } else { inner };
        Arc::new(Broken { inner, defect, memory: Arc::clone(&memory) })
    }
}

impl Broken {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("nothing panics while it holds the lock")
    }
}

/// Somebody who was never asked.
fn phantom() -> OwnerId {
    OwnerId(Uuid::from_u128(u128::MAX))
}

#[async_trait]
impl Store for Broken {
    async fn create_run(&self, new: NewRun) -> Result<Created, CreateError> {
        match self.defect {
            Defect::Runs(bad) => self.create_badly(bad, new).await,
            _ => self.inner.create_run(new).await,
        }
    }

    async fn claim(
        &self,
        run: RunId,
        owner: OwnerId,
        mode: ClaimMode,
    ) -> Result<Claim, ClaimError> {
        match self.defect {
            Defect::Owners(bad) => self.claim_badly(bad, run, owner, mode).await,
            _ => self.inner.claim(run, owner, mode).await,
        }
    }

    async fn release(&self, run: RunId, epoch: Epoch) -> Result<(), ReleaseError> {
        match self.defect {
            Defect::Owners(bad) => self.release_badly(bad, run, epoch).await,
            _ => self.inner.release(run, epoch).await,
        }
    }

    async fn head(&self, run: RunId) -> Result<Head, ReadError> {
        match self.defect {
            Defect::Owners(bad) => self.head_badly(bad, run).await,
            _ => self.inner.head(run).await,
        }
    }

    async fn load_log(&self, run: RunId, from: Seq, limit: usize) -> Result<Vec<Chunk>, ReadError> {
        match self.defect {
            Defect::Reads(bad) => self.load_log_badly(bad, run, from, limit).await,
            _ => self.inner.load_log(run, from, limit).await,
        }
    }

    async fn commit(&self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>> {
        match self.defect {
            Defect::Commits(bad) => self.commit_badly(bad, batch).await,
            _ => self.inner.commit(batch).await,
        }
    }

    async fn commit_here(&self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>> {
        match self.defect {
            Defect::Commits(BadCommits::HereLost) => self.inner.snapshot().commit(batch).await,
            _ => self.commit(batch).await,
        }
    }

    async fn send(&self, run: RunId, message: Message, at: Timestamp) -> Result<Sent, SendError> {
        match self.defect {
            Defect::Messages(bad) => self.send_badly(bad, run, message, at).await,
            _ => self.inner.send(run, message, at).await,
        }
    }

    async fn inbox(&self, run: RunId, limit: usize) -> Result<Vec<Received>, ReadError> {
        match self.defect {
            Defect::Messages(bad) => self.inbox_badly(bad, run, limit).await,
            Defect::Commits(BadCommits::RefusedConsumes) => {
                Ok(self.without_hidden(run, self.inner.inbox(run, limit).await?))
            }
            _ => self.inner.inbox(run, limit).await,
        }
    }

    async fn due(
        &self,
        now: Timestamp,
        except: &Except,
        limit: usize,
    ) -> Result<Vec<Due>, BackendError> {
        match self.defect {
            Defect::Reads(bad) => self.due_badly(bad, now, except, limit).await,
            _ => self.inner.due(now, except, limit).await,
        }
    }

    async fn outlook(
        &self,
        owner: OwnerId,
        except: &Except,
        limit: usize,
    ) -> Result<Outlook, BackendError> {
        match self.defect {
            Defect::Reads(bad) => self.outlook_badly(bad, owner, except, limit).await,
            _ => self.inner.outlook(owner, except, limit).await,
        }
    }

    async fn list_runs(
        &self,
        filter: RunFilter,
        after: Option<RunCursor>,
        limit: usize,
    ) -> Result<RunPage, ListError> {
        match self.defect {
            Defect::Runs(bad) => self.list_badly(bad, filter, after, limit).await,
            _ => self.inner.list_runs(filter, after, limit).await,
        }
    }

    async fn tail(&self, after: TailCursor, limit: usize) -> Result<TailPage, TailError> {
        match self.defect {
            Defect::Reads(bad) => self.tail_badly(bad, after, limit).await,
            Defect::Commits(BadCommits::RefusedIsShown) => {
                let mut page = self.inner.tail(after, limit).await?;
                page.events.append(&mut self.memory().ghosts);
                Ok(page)
            }
            _ => self.inner.tail(after, limit).await,
        }
    }
}
