//! A store in memory that fails on demand.
//!
//! Made for simulations that crash a run at every point and look whether it still ends the same. It outlives the
//! processes of such a simulation as a database outlives real ones: a crash is that a process stops calling, and that
//! the world then says [`SimulatedStore::owner_died`].
//!
//! It is deterministic: the same calls in the same order get the same answers. It has no clock; what takes time takes a
//! number of operations. No verb ever waits, so any executor will do. Everything that the trait permits does happen
//! here: the tail shows commits late and out of order, a batch lands after its answer was lost.

mod fault;
mod run;
mod state;
mod tail;

use std::sync::{Arc, Mutex, MutexGuard};

use agentos_core::codec::Chunk;
use agentos_core::id::{Epoch, OwnerId, RunId, Seq};
use agentos_core::inbox::Message;
use agentos_core::time::Timestamp;
use async_trait::async_trait;

pub use fault::{Fault, FaultPlan, Verb};

use crate::backend::{BackendError, BackendErrorKind};
use crate::claim::{Claim, ClaimError, ClaimMode, ReleaseError};
use crate::commit::{CommitError, Committed, TurnCommit};
use crate::due::{Due, Except, Outlook};
use crate::inbox::{Received, SendError, Sent};
use crate::list::{ListError, RunCursor, RunFilter, RunPage};
use crate::log::ReadError;
use crate::run::{CreateError, Created, Head, NewRun};
use crate::store::Store;
use crate::tail::{TailCursor, TailError, TailPage};
use fault::Faults;
use state::State;

/// For how many operations a commit stays invisible in the tail, at most, unless something else was said.
const TAIL_DELAY: u64 = 8;

/// A store in memory. Clones are handles to the same store.
#[derive(Clone)]
pub struct SimulatedStore {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    state: State,
    faults: Faults,
}

impl SimulatedStore {
    /// An empty store; the seed decides when the tail shows what.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with_tail_delay(seed, TAIL_DELAY)
    }

    /// An empty store whose tail shows a commit up to `most` operations late; with 0, at once.
    #[must_use]
    pub fn with_tail_delay(seed: u64, most: u64) -> Self {
        Self::from_state(State::new(seed, most))
    }

    fn from_state(state: State) -> Self {
        Self { shared: Arc::new(Mutex::new(Shared { state, faults: Faults::default() })) }
    }

    /// Another store that holds the same and goes its own way from here. No fault is planned for it.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        Self::from_state(self.lock().state.clone())
    }

    /// The next call of `verb` meets this fault. Several for one verb are met one call after the other, before the plan
    /// is asked.
    pub fn fail_next(&self, verb: Verb, fault: Fault) {
        self.lock().faults.push(verb, fault);
    }

    /// From now on `plan` decides which calls fail, and how.
    pub fn set_fault_plan(&self, plan: impl FaultPlan + 'static) {
        self.lock().faults.set_plan(Box::new(plan));
    }

    /// No call fails any more, whatever was planned. What is on its way still lands.
    pub fn clear_faults(&self) {
        self.lock().faults = Faults::default();
    }

    /// The owner's process is gone: others may claim what it holds, and it may claim nothing.
    pub fn owner_died(&self, owner: OwnerId) {
        self.lock().state.owner_died(owner);
    }

    /// The owner lives. So does every owner of whom nothing was said.
    pub fn owner_alive(&self, owner: OwnerId) {
        self.lock().state.owner_alive(owner);
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("no operation panics while it holds the lock")
    }

    /// Carries out one operation, or lets it meet its fault.
    fn perform<T, E: From<BackendError>>(
        &self,
        verb: Verb,
        act: impl FnOnce(&mut State) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut shared = self.lock();
        let fault = shared.faults.next(verb);
        let state = &mut shared.state;
        state.begin_operation();
        match fault {
            None => act(state),
            Some(Fault::Full) if !verb.is_write() => act(state),
            Some(Fault::Full) => Err(full().into()),
            Some(Fault::Transient | Fault::NotApplied) => Err(transient("simulated").into()),
            Some(Fault::LostAcknowledgement | Fault::AppliedLater { .. }) => {
                let _answer_lost = act(state);
                Err(transient("simulated: the answer was lost").into())
            }
        }
    }
}

fn full() -> BackendError {
    BackendError::new(BackendErrorKind::Full, "simulated")
}

fn transient(message: &str) -> BackendError {
    BackendError::new(BackendErrorKind::Transient, message)
}

fn unknown() -> CommitError {
    CommitError::Unknown { message: "simulated: the answer was lost".to_owned() }
}

#[async_trait]
impl Store for SimulatedStore {
    async fn create_run(&self, new: NewRun) -> Result<Created, CreateError> {
        self.perform(Verb::CreateRun, |state| state.create_run(new))
    }

    async fn claim(
        &self,
        run: RunId,
        owner: OwnerId,
        mode: ClaimMode,
    ) -> Result<Claim, ClaimError> {
        self.perform(Verb::Claim, |state| state.claim(run, owner, mode))
    }

    async fn release(&self, run: RunId, epoch: Epoch) -> Result<(), ReleaseError> {
        self.perform(Verb::Release, |state| state.release(run, epoch))
    }

    async fn head(&self, run: RunId) -> Result<Head, ReadError> {
        self.perform(Verb::Head, |state| Ok(state.run(run)?.head()))
    }

    async fn load_log(&self, run: RunId, from: Seq, limit: usize) -> Result<Vec<Chunk>, ReadError> {
        self.perform(Verb::LoadLog, |state| Ok(state.run(run)?.log(from, limit)))
    }

    async fn commit(&self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>> {
        let mut shared = self.lock();
        let fault = shared.faults.next(Verb::Commit);
        let state = &mut shared.state;
        state.begin_operation();
        let size = batch.len();
        let failed = |error| vec![Err(error); size];
        match fault {
            None => state.commit(batch),
            Some(Fault::Full) => failed(full().into()),
            Some(Fault::Transient) => failed(transient("simulated").into()),
            Some(Fault::NotApplied) => failed(unknown()),
            Some(Fault::LostAcknowledgement) => {
                state.commit(batch);
                failed(unknown())
            }
            Some(Fault::AppliedLater { operations }) => {
                state.commit_later(batch, operations);
                failed(unknown())
            }
        }
    }

    async fn send(&self, run: RunId, message: Message, at: Timestamp) -> Result<Sent, SendError> {
        self.perform(Verb::Send, |state| state.send(run, message, at))
    }

    async fn inbox(&self, run: RunId, limit: usize) -> Result<Vec<Received>, ReadError> {
        self.perform(Verb::Inbox, |state| Ok(state.run(run)?.inbox(limit)))
    }

    async fn due(
        &self,
        now: Timestamp,
        except: &Except,
        limit: usize,
    ) -> Result<Vec<Due>, BackendError> {
        self.perform(Verb::Due, |state| Ok(state.due(now, except, limit)))
    }

    async fn outlook(
        &self,
        owner: OwnerId,
        except: &Except,
        limit: usize,
    ) -> Result<Outlook, BackendError> {
        self.perform(Verb::Outlook, |state| Ok(state.outlook(owner, except, limit)))
    }

    async fn list_runs(
        &self,
        filter: RunFilter,
        after: Option<RunCursor>,
        limit: usize,
    ) -> Result<RunPage, ListError> {
        self.perform(Verb::ListRuns, |state| state.list_runs(filter, after, limit))
    }

    async fn tail(&self, after: TailCursor, limit: usize) -> Result<TailPage, TailError> {
        self.perform(Verb::Tail, |state| state.tail(after, limit))
    }
}
