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
use agentos_store::counterpart::Counterparts;
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

    /// Lets a run rest, with its family: what one of them invoked does not go on without it.
    ///
    /// # Errors
    /// The file can't be made.
    pub fn hold(&self, run: RunId, family: &HashSet<RunId>) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let lines: String =
            family.iter().chain([&run]).map(|member| format!("{member}\n")).collect();
        std::fs::write(self.folder.join(run.to_string()), lines)
    }

    /// Lets a run go on, and those that rest with it.
    pub fn let_go(&self, run: RunId) {
        for (file, members) in self.files() {
            if members.contains(&run) {
                // Somebody else may have been faster.
                let _removed = std::fs::remove_file(file);
            }
        }
    }

    /// All that rest.
    #[must_use]
    pub fn all(&self) -> HashSet<RunId> {
        self.files().flat_map(|(_, members)| members).collect()
    }

    fn files(&self) -> impl Iterator<Item = (PathBuf, HashSet<RunId>)> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let text = std::fs::read_to_string(entry.path()).ok()?;
            let members = text.lines().filter_map(|line| Uuid::parse_str(line).ok().map(RunId));
            Some((entry.path(), members.collect()))
        })
    }
}

/// A store in which those that rest, and those that go on in another database, are not due.
pub struct Unheld {
    store: Arc<dyn Store>,
    held: Held,
    counterparts: Counterparts,
}

impl Unheld {
    /// The store in this file without them.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, database: &Path) -> Self {
        let (held, counterparts) = (Held::of(database), Counterparts::of(database));
        Self { store, held, counterparts }
    }

    fn except(&self, more: &Except) -> Except {
        let mut except = self.held.all();
        except.extend(self.counterparts.all());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_rests_and_goes_on_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = Held::of(&folder.path().join("x.db"));
        let [one, child, other] = [1, 2, 3].map(|number| RunId(Uuid::from_u128(number)));
        assert_eq!(held.all(), HashSet::new());
        held.hold(one, &HashSet::from([one, child])).expect("it rests");
        held.hold(other, &HashSet::new()).expect("it rests");
        assert_eq!(held.all(), HashSet::from([one, child, other]));
        held.let_go(child);
        assert_eq!(held.all(), HashSet::from([other]));
        held.let_go(child);
        held.let_go(other);
        assert_eq!(held.all(), HashSet::new());
    }
}
