//! Everything that the simulated store holds, and what each verb does to it. All of it is synchronous.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::entry::Entry;
use agentos_core::id::{Epoch, OwnerId, RunId, Seq};
use agentos_core::inbox::Message;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;

use super::run::Run;
use super::tail::Tail;
use crate::bounds;
use crate::claim::{Claim, ClaimError, ClaimMode, ReleaseError};
use crate::commit::{CommitError, Committed, Outgoing, TurnCommit};
use crate::due::{Due, Except, Outlook, is_due};
use crate::inbox::{self, SendError, Sent};
use crate::list::{ListError, ListedRun, RunCursor, RunFilter, RunPage};
use crate::log::ReadError;
use crate::run::{CreateError, Created, History, NewRun};
use crate::tail::{TailCursor, TailError, TailPage};

#[derive(Clone)]
pub(super) struct State {
    runs: BTreeMap<RunId, Run>,
    /// The runs in the order of their creation.
    created: Vec<RunId>,
    /// Their readable ids.
    names: BTreeSet<String>,
    dead: BTreeSet<OwnerId>,
    tail: Tail,
    /// How many operations there have been: the store's only notion of time.
    operations: u64,
    /// Batches that are on their way, with the operation at which they land.
    late: Vec<(u64, Vec<TurnCommit>)>,
}

impl State {
    pub(super) fn new(seed: u64, most_tail_delay: u64) -> Self {
        Self {
            runs: BTreeMap::new(),
            created: Vec::new(),
            names: BTreeSet::new(),
            dead: BTreeSet::new(),
            tail: Tail::new(seed, most_tail_delay),
            operations: 0,
            late: Vec::new(),
        }
    }

    /// Time goes on by one operation; what was on its way lands.
    pub(super) fn begin_operation(&mut self) {
        self.operations += 1;
        if self.late.is_empty() {
            return;
        }
        let now = self.operations;
        let landing: Vec<_> = self.late.extract_if(.., |(at, _)| *at <= now).collect();
        for (_, batch) in landing {
            self.commit(batch);
        }
    }

    pub(super) fn commit_later(&mut self, batch: Vec<TurnCommit>, operations: u64) {
        self.late.push((self.operations + operations.max(1), batch));
    }

    pub(super) fn owner_died(&mut self, owner: OwnerId) {
        self.dead.insert(owner);
    }

    pub(super) fn owner_alive(&mut self, owner: OwnerId) {
        self.dead.remove(&owner);
    }

    /// Whether the run may be claimed by anybody who lives.
    fn is_free(&self, run: &Run) -> bool {
        run.owner.is_none_or(|owner| self.dead.contains(&owner))
    }

    pub(super) fn run(&self, run: RunId) -> Result<&Run, ReadError> {
        self.runs.get(&run).ok_or(ReadError::NotFound { run })
    }

    pub(super) fn create_run(&mut self, new: NewRun) -> Result<Created, CreateError> {
        new.check().map_err(|source| CreateError::FirstEntry { run: new.run, source })?;
        let began = new.began();
        let NewRun { run, at, first, history, place: _, owner } = new;
        if let Some(existing) = self.runs.get(&run) {
            return if existing.began_with(&first) {
                Ok(Created::Existed)
            } else {
                Err(CreateError::Conflict { run })
            };
        }
        if let Entry::RunStarted(started) = &first
            && !started.home.run_id.is_empty()
            && !self.names.insert(started.home.run_id.clone())
        {
            return Err(CreateError::NameTaken { run, name: started.home.run_id.clone() });
        }
        let chunk = Arc::new(Chunk::new(Seq::FIRST, began, vec![first]));
        self.tail.append(run, Arc::clone(&chunk), self.operations);
        let mut created = Run::new(chunk, at);
        if let Some(History { rest, standing, .. }) = history {
            created.standing = standing;
            for chunk in rest.into_iter().map(Arc::new) {
                self.tail.append(run, Arc::clone(&chunk), self.operations);
                created.append(chunk);
            }
        }
        self.runs.insert(run, created);
        self.created.push(run);
        let claim = owner.map(|owner| self.claim(run, owner, ClaimMode::IfFree));
        Ok(claim.and_then(Result::ok).map_or(Created::New, Created::Claimed))
    }

    pub(super) fn claim(
        &mut self,
        run: RunId,
        owner: OwnerId,
        mode: ClaimMode,
    ) -> Result<Claim, ClaimError> {
        if self.dead.contains(&owner) {
            return Err(ClaimError::NotAlive { owner });
        }
        let claimed = self.runs.get(&run).ok_or(ClaimError::NotFound { run })?;
        if claimed.standing.is_ended() {
            return Err(ClaimError::Ended { run });
        }
        if let Some(by) = claimed.owner
            && by != owner
            && mode == ClaimMode::IfFree
            && !self.is_free(claimed)
        {
            return Err(ClaimError::Owned { run, by, epoch: claimed.epoch });
        }
        let claimed = self.runs.get_mut(&run).ok_or(ClaimError::NotFound { run })?;
        claimed.owner = Some(owner);
        claimed.epoch = claimed.epoch.next();
        let head = claimed.head();
        Ok(Claim { epoch: head.epoch, head: head.head, standing: head.standing })
    }

    pub(super) fn release(&mut self, run: RunId, epoch: Epoch) -> Result<(), ReleaseError> {
        let released = self.runs.get_mut(&run).ok_or(ReleaseError::NotFound { run })?;
        if released.epoch != epoch {
            return Err(ReleaseError::Stale { run, current: released.epoch });
        }
        released.owner = None;
        Ok(())
    }

    pub(super) fn commit(&mut self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>> {
        batch.into_iter().map(|commit| self.commit_one(commit)).collect()
    }

    fn commit_one(&mut self, commit: TurnCommit) -> Result<Committed, CommitError> {
        let run = commit.run;
        commit.check().map_err(|source| CommitError::Malformed { run, source })?;
        let target = self.runs.get_mut(&run).ok_or(CommitError::NotFound { run })?;
        target.check(run, &commit)?;
        let TurnCommit { chunk, consumed, standing, outgoing, .. } = commit;
        let at = chunk.at;
        let chunk = Arc::new(chunk);
        let head = target.apply(Arc::clone(&chunk), &consumed, standing);
        self.tail.append(run, chunk, self.operations);
        for Outgoing { to, message } in outgoing {
            if let Some(other) = self.runs.get_mut(&to).filter(|other| !other.standing.is_ended()) {
                other.receive(message, at);
            }
        }
        Ok(Committed { head })
    }

    pub(super) fn send(
        &mut self,
        run: RunId,
        message: Message,
        at: Timestamp,
    ) -> Result<Sent, SendError> {
        inbox::check(&message).map_err(|source| SendError::Message { run, source })?;
        let target = self.runs.get_mut(&run).ok_or(SendError::NotFound { run })?;
        if target.has_had(&message.key) {
            return Ok(Sent::Duplicate);
        }
        if target.standing.is_ended() {
            return Err(SendError::Ended { run });
        }
        if target.waiting() >= bounds::INBOX_MESSAGES {
            return Err(SendError::InboxFull { run });
        }
        Ok(target.receive(message, at))
    }

    pub(super) fn due(&self, now: Timestamp, except: &Except, limit: usize) -> Vec<Due> {
        let due = self
            .runs
            .iter()
            .filter(|(_, run)| self.is_free(run) && is_due(&run.standing, now, run.waiting() > 0));
        let due = due.filter(|(id, _)| !except.contains(id));
        let due = due.map(|(id, run)| Due { run: *id, wake_at: run.standing.wake_at() });
        due.take(bounds::page(limit)).collect()
    }

    pub(super) fn outlook(&self, owner: OwnerId, except: &Except, limit: usize) -> Outlook {
        let addressed = self.runs.iter().filter(|(_, run)| {
            run.owner == Some(owner) && run.waiting() > 0 && !run.standing.is_ended()
        });
        let free = self.runs.iter().filter(|(id, run)| self.is_free(run) && !except.contains(id));
        let parked = free.filter_map(|(_, run)| match run.standing {
            Standing::Parked { wake_at } => wake_at,
            Standing::Working { .. } | Standing::Ended { .. } => None,
        });
        Outlook {
            addressed: addressed.map(|(id, _)| *id).take(bounds::page(limit)).collect(),
            wake_at: parked.min(),
        }
    }

    /// The cursor is the number of runs created before those that were shown already.
    pub(super) fn list_runs(
        &self,
        filter: RunFilter,
        after: Option<RunCursor>,
        limit: usize,
    ) -> Result<RunPage, ListError> {
        let older = match after {
            None => self.created.len(),
            Some(cursor) => {
                let place = cursor.0.parse().ok().filter(|place| *place <= self.created.len());
                place.ok_or(ListError::Cursor { cursor })?
            }
        };
        let mut shown = self.created[..older].iter().enumerate().rev().filter_map(|(place, id)| {
            let run = self.runs.get(id).filter(|run| filter.standing.shows(&run.standing))?;
            Some((place, ListedRun { run: *id, created_at: run.created_at, head: run.head() }))
        });
        let page: Vec<_> = shown.by_ref().take(bounds::page(limit)).collect();
        let has_more = shown.next().is_some();
        let next = page.last().filter(|_| has_more).map(|(place, _)| RunCursor(place.to_string()));
        Ok(RunPage { runs: page.into_iter().map(|(_, listed)| listed).collect(), next })
    }

    pub(super) fn tail(&self, after: TailCursor, limit: usize) -> Result<TailPage, TailError> {
        self.tail.page(after, limit, self.operations)
    }
}
