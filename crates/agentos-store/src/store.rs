//! The trait: what every store of runs promises.
//!
//! Every verb is atomic: it is applied whole or not at all, and what it has answered with `Ok` survives a crash.
//! Verbs may be called from many threads and many processes at once; the outcome is that of some order of them, and a
//! verb that begins after another has answered comes after it in that order. (The tail is the exception: it may show a
//! commit later.) Dropping the future of a verb leaves open whether it is carried out.

use agentos_core::codec::Chunk;
use agentos_core::id::{Epoch, OwnerId, RunId, Seq};
use agentos_core::inbox::Message;
use agentos_core::time::Timestamp;
use async_trait::async_trait;

use crate::backend::BackendError;
use crate::claim::{Claim, ClaimError, ClaimMode, ReleaseError};
use crate::commit::{CommitError, Committed, TurnCommit};
use crate::due::{Due, Except, Outlook};
use crate::inbox::{Received, SendError, Sent};
use crate::list::{ListError, RunCursor, RunFilter, RunPage};
use crate::log::ReadError;
use crate::run::{CreateError, Created, Head, NewRun};
use crate::tail::{TailCursor, TailError, TailPage};

/// A store of runs.
///
/// Where a verb takes a `limit` it answers with at most that many items; the limit itself is taken into
/// `1..=`[`PAGE`](crate::bounds::PAGE).
#[async_trait]
pub trait Store: Send + Sync {
    /// Creates a run: its log holds the first entry, it is unowned at epoch 0, it stands as working, so it is
    /// [`due`](Self::due) at once. If it is created with a history, that is there with it, it stands as the
    /// history says, and the messages in that count as received.
    ///
    /// If it is created for an owner, and that owner lives, the same verb also claims it, under the first epoch: the
    /// answer is [`Created::Claimed`], and the run is not due. It is created free all the same if the owner does not live
    /// or the run has ended with its history. Whoever gets no answer may hold the run without knowing, and has to claim it.
    ///
    /// Idempotent by the run's id: with the same first entry again (whatever the time) the answer is
    /// [`Created::Existed`] and nothing changes, however far the run has come and whoever it was created for.
    ///
    /// # Errors
    /// [`CreateError::Conflict`] if the id belongs to a run that began differently, [`CreateError::NameTaken`] if the
    /// readable id in its first entry belongs to another run.
    async fn create_run(&self, new: NewRun) -> Result<Created, CreateError>;

    /// Gives the run to `owner` under a larger epoch, if it is free, its own already, or a dead owner's; with
    /// [`ClaimMode::TakeOver`] also if its owner lives.
    ///
    /// From then on every commit under an older epoch fails, also the claimer's own and also one that is on its way.
    /// Log, inbox and standing are untouched.
    ///
    /// # Errors
    /// [`ClaimError::Owned`] if somebody who lives has it; of many who claim at once one gets it.
    /// [`ClaimError::Elsewhere`] if it goes on in another store.
    async fn claim(&self, run: RunId, owner: OwnerId, mode: ClaimMode)
    -> Result<Claim, ClaimError>;

    /// Gives the run back: it is free, and commits under `epoch` fail from now on. Whether it is due is said by its
    /// standing and its inbox.
    ///
    /// Idempotent: releasing again under the same epoch is fine as long as nobody has claimed the run since. A commit
    /// that ends the run has released it already.
    ///
    /// # Errors
    /// [`ReleaseError::Stale`] if the run was claimed since; whoever has it keeps it.
    async fn release(&self, run: RunId, epoch: Epoch) -> Result<(), ReleaseError>;

    /// Where the run's log ends, whose it is and how it stands.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn head(&self, run: RunId) -> Result<Head, ReadError>;

    /// The run's log from position `from` on, in order, without gaps: chunk by chunk as committed, at most `limit`
    /// chunks, at least one if there is an entry at or after `from`.
    ///
    /// A chunk is never cut: if `from` lies inside one, the page begins with that one whole. An empty page means that
    /// the log ends at or before `from`.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn load_log(&self, run: RunId, from: Seq, limit: usize) -> Result<Vec<Chunk>, ReadError>;

    /// As [`commit`](Self::commit), for a caller whose thread would only wait for the answer: the store may do the work on
    /// that thread, which saves the way to another and back. It does not keep the thread waiting for others who write.
    async fn commit_here(&self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>> {
        self.commit(batch).await
    }

    /// Applies what turns have decided, in one transaction, and answers for each, in the order of the batch.
    ///
    /// A commit is applied if the run is held under its epoch, its log ends where the commit expects it, and every
    /// message that it consumes waits in the inbox. Then, together: the entries are in the log, the messages are gone
    /// for good, the standing is the new one, and the outgoing messages are in the inboxes of other runs. A commit that
    /// ends the run also releases it.
    ///
    /// One that can't be applied fails alone, whatever its neighbours do. Commits of one run are applied in the order
    /// of the batch, each to what the one before has left.
    ///
    /// Only the failure of the backend itself concerns the whole batch, and is then the answer for every commit in it:
    /// [`CommitError::Backend`] if nothing was applied, [`CommitError::Unknown`] if everything or nothing was. A batch
    /// is never applied in part for such a reason.
    ///
    /// A commit carried out twice is applied once: the second finds a longer log and fails.
    async fn commit(&self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>>;

    /// Puts a message into the run's inbox, from where only a commit takes it.
    ///
    /// Idempotent by the message's key: a key that the run has had before, waiting or consumed, is
    /// [`Sent::Duplicate`] and changes nothing; a consumed message never comes back. That holds also after the run has
    /// ended.
    ///
    /// # Errors
    /// [`SendError::Ended`] if the run is over; [`SendError::InboxFull`] if too many wait; [`SendError::Elsewhere`] if it
    /// goes on in another store.
    async fn send(&self, run: RunId, message: Message, at: Timestamp) -> Result<Sent, SendError>;

    /// The messages that wait for the run, in the order in which they arrived, at most `limit`. Takes nothing: they
    /// wait until a commit consumes them. What waits when a run ends stays readable.
    ///
    /// # Errors
    /// [`ReadError`].
    async fn inbox(&self, run: RunId, limit: usize) -> Result<Vec<Received>, ReadError>;

    /// Runs that nobody who lives holds, and that need an owner ([`is_due`](crate::due::is_due)): interrupted or not
    /// yet begun, their time come, or a message waiting. In no particular order; at most `limit`, and if there are
    /// more, which ones is not said: whoever claims what it got, or leaves it out, sees the others next.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn due(
        &self,
        now: Timestamp,
        except: &Except,
        limit: usize,
    ) -> Result<Vec<Due>, BackendError>;

    /// What `owner` has to look to: its runs for which messages wait, at most `limit`; and when the next parked run that
    /// nobody who lives holds has its time, come or to come, those left out aside. Whoever has nothing else to do sleeps until then.
    ///
    /// # Errors
    /// [`BackendError`].
    async fn outlook(
        &self,
        owner: OwnerId,
        except: &Except,
        limit: usize,
    ) -> Result<Outlook, BackendError>;

    /// One page of the runs that `filter` shows, latest creation first, from the first page or from where another page
    /// ended.
    ///
    /// A run that exists and is shown during the whole listing is in exactly one of its pages, whatever is created
    /// meanwhile.
    ///
    /// # Errors
    /// [`ListError::Cursor`] if `after` is none of this store's.
    async fn list_runs(
        &self,
        filter: RunFilter,
        after: Option<RunCursor>,
        limit: usize,
    ) -> Result<RunPage, ListError>;

    /// What was committed, to whatever run, and is not before `after`.
    ///
    /// Who goes on from each page's [`next`](TailPage::next) sees every chunk of every run exactly once (creation
    /// counts as the first), in the order of positions within each run. Chunks of different runs may be seen in another
    /// order than they were committed in, and a chunk may be seen some time after its commit was answered, but never
    /// not at all, and never before it is durable. Reading is no claim: many readers go on independently, and the same
    /// cursor may be used again.
    ///
    /// # Errors
    /// [`TailError::Cursor`] if `after` is none of this store's.
    async fn tail(&self, after: TailCursor, limit: usize) -> Result<TailPage, TailError>;
}
