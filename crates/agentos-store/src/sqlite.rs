//! The store in one SQLite file.
//!
//! Many processes on one machine share the file. Whoever writes takes the writer lock and one `IMMEDIATE` transaction;
//! whoever reads disturbs nobody. Every answer of a writing verb is durable: the transaction was forced to disk first
//! (WAL, `synchronous=FULL`).
//!
//! | file | |
//! |---|---|
//! | `X.db`, `X.db-wal`, `X.db-shm` | the database |
//! | `X.db.lock` | the writer lock |
//! | `X.db.owners/{id}.lock` | one for every owner, held while it lives |
//!
//! Each module is about one concern and has the name that it has in every backend.

mod backup;
mod blob;
mod catalog;
mod claim;
mod commit;
mod connection;
mod due;
mod error;
mod examine;
mod figures;
mod file;
mod groups;
mod hung;
mod inbox;
mod leave;
mod list;
mod lock;
mod log;
mod memory;
mod migrate;
mod names;
mod older;
mod open;
mod owner;
mod probe;
mod project;
mod project_rows;
mod query;
mod reader;
mod records;
mod recover;
mod restore;
mod retire;
mod row;
mod run;
pub(crate) mod select;
mod superseded;
mod tail;
mod together;
mod transaction;
mod transfer;
mod view;
mod watch;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::id::{Epoch, OwnerId, RunId, Seq};
use agentos_core::inbox::Message;
use agentos_core::time::Timestamp;
use async_trait::async_trait;
use uuid::Uuid;

pub use backup::{Backup, BackupError};
pub use examine::{Examination, Finding, FindingKind, Sizes};
pub use figures::{DURATION_BOUNDS_MS, DefinitionFigures, DurationFigures, Figures};
pub use groups::{GROUP_BOUNDS, GroupFigures};
pub use hung::{EndOwnerError, OwnerEnd, OwnerLife};
pub use leave::checkpoint_before_exit;
pub use open::{Notice, OpenError};
pub use owner::Owner;
pub(crate) use records::cursor_behind;
pub use retire::{HeldPlace, RetireError};
use watch::Eyes;
pub use watch::Watch;

use crate::backend::{BackendError, BackendErrorKind};
use crate::claim::{Claim, ClaimError, ClaimMode, ReleaseError};
use crate::commit::{CommitError, Committed, TurnCommit};
use crate::counterpart::{Counterparts, ElsewhereError};
use crate::due::{Due, Except, Outlook};
use crate::inbox::{self as messages, Received, SendError, Sent};
use crate::list::{ListError, RunCursor, RunFilter, RunPage};
use crate::log::ReadError;
use crate::run::{CreateError, Created, Head, NewRun};
use crate::store::Store;
use crate::tail::{TailCursor, TailError, TailPage};
use commit::Prepared;
use error::{Done, Fault};
use groups::Groups;
use open::Location;
use owner::Owners;
use reader::{Readers, Source};
use writer::{BatchFailure, Writer};

/// How a store is opened.
pub struct Options {
    /// The identity of the history, if there is none yet and it begins here. A random one, made by whoever has chance.
    pub new_id: Uuid,
    /// Is told when the file had to be put back.
    pub on_notice: Box<dyn Fn(Notice) + Send>,
}

impl Options {
    /// Options that tell nobody.
    #[must_use]
    pub fn quiet(new_id: Uuid) -> Self {
        Self { new_id, on_notice: Box::new(|_| ()) }
    }
}

/// A store in a file. Clones are handles to the same.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
    /// Whether what is asked of this handle is always read by reader threads.
    by_threads: bool,
}

struct Inner {
    path: PathBuf,
    owners: Owners,
    readers: Readers,
    /// None if the store was opened to be looked at.
    writer: Option<Writer>,
    groups: Arc<Groups>,
    eyes: Eyes,
}

impl SqliteStore {
    /// Opens the store in this file, and makes it if there is none.
    ///
    /// # Errors
    /// [`OpenError`]; then not one byte has changed.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let (mut location, found) = Location::find(path)?;
        let file = location.open(found, options.new_id, options.on_notice)?;
        let owners = location.owners;
        let backend =
            |fault: Fault| OpenError::Backend { path: path.to_owned(), source: fault.into() };
        let (source, groups) = (Source::Own(file.history()), file.groups());
        let writer = Writer::start(file).map_err(backend)?;
        let readers = Readers::new(location.path.clone(), source);
        let (path, eyes) = (location.path, Eyes::Writing);
        let store = Self::of(Inner { path, owners, readers, writer: Some(writer), groups, eyes });
        leave::remember(Arc::downgrade(&store.inner));
        Ok(store)
    }

    /// Opens the store only to be looked at: every verb that writes fails, and nothing is made or changed, neither in the file
    /// nor beside it. What others commit is seen. There is one exception: a log that has lost its index (a process was killed
    /// while it closed the database) gets it back, unless another process has the database open.
    ///
    /// # Errors
    /// [`OpenError`]; [`OpenError::NotFound`] if there is none, [`OpenError::NoIndex`] if the index can't be made.
    pub fn open_to_look(path: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, Eyes::Looking)
    }

    /// As [`open_to_look`](Self::open_to_look), without the exception: for a file that is not ours to change.
    ///
    /// # Errors
    /// As [`open_to_look`](Self::open_to_look); [`OpenError::NoIndex`] if its log has no index.
    pub fn open_untouched(path: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, Eyes::Untouched)
    }

    /// As [`open_to_look`](Self::open_to_look), for a process that looks for long and in which others write to the same
    /// file: nobody is in anybody's way. It may put marks into the index of the database's log, as every reader does by
    /// default; the database itself is not changed.
    ///
    /// # Errors
    /// As [`open_to_look`](Self::open_to_look).
    pub fn open_to_follow(path: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, Eyes::Following)
    }

    fn open_with(path: &Path, eyes: Eyes) -> Result<Self, OpenError> {
        let (Location { path, owners }, found) = Location::find(path)?;
        if found == probe::Found::Nothing {
            return Err(OpenError::NotFound { path });
        }
        view::check(&path, eyes)?;
        let readers = Readers::new(path.clone(), Source::Look(eyes));
        let groups = Arc::default();
        Ok(Self::of(Inner { path, owners, readers, writer: None, groups, eyes }))
    }

    fn of(inner: Inner) -> Self {
        Self { inner: Arc::new(inner), by_threads: false }
    }

    /// The same store, for somebody who asks several at once and keeps no thread waiting for one of them.
    pub(crate) fn by_threads(self) -> Self {
        Self { by_threads: true, ..self }
    }

    /// The file, with every link in its path followed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Makes this process, or a part of it, somebody who may own runs: until the answer is dropped or the process ends.
    ///
    /// # Errors
    /// [`BackendError`] if the lock can't be made.
    pub fn enlist(&self, id: OwnerId) -> Result<Owner, BackendError> {
        Ok(self.inner.owners.enlist(id)?)
    }

    /// Ends an owner that hangs: its process is killed, and gone when this returns. Blocks.
    ///
    /// # Errors
    /// [`EndOwnerError`]; then it lives.
    pub fn end_owner(&self, owner: OwnerId) -> Result<OwnerEnd, EndOwnerError> {
        hung::end_owner(&self.inner.owners, owner)
    }

    /// Whether an owner lives, and as which process.
    #[must_use]
    pub fn owner_life(&self, owner: OwnerId) -> OwnerLife {
        hung::owner_life(&self.inner.owners, owner)
    }

    /// Begins to watch for commits, whoever makes them. Costs nothing while there are none.
    ///
    /// # Errors
    /// [`BackendError`] if the file can't be read.
    pub fn watch(&self) -> Result<Watch, BackendError> {
        Ok(watch::watch(&self.inner.path, self.inner.eyes)?)
    }

    /// How many commits of turns this process has put into one transaction.
    #[must_use]
    pub fn commit_groups(&self) -> GroupFigures {
        self.inner.groups.figures()
    }

    /// Says what is wrong with the file, if something is: it was removed, moved or replaced while it was open. Changes
    /// nothing.
    ///
    /// # Errors
    /// [`BackendError`]
    pub fn check_file(&self) -> Result<(), BackendError> {
        match &self.inner.writer {
            Some(writer) => writer.check(),
            None if self.inner.path.exists() => Ok(()),
            None => {
                let message = format!("{} is not there any more", self.inner.path.display());
                Err(BackendError::new(BackendErrorKind::Permanent, message))
            }
        }
    }

    /// Finds the file again, if something is wrong with it: one that was removed is put back.
    ///
    /// # Errors
    /// [`BackendError`] if it can't be found; what only this process has is kept beside it then.
    pub async fn find_file(&self) -> Result<(), BackendError> {
        match self.check_file() {
            Ok(()) => Ok(()),
            Err(error) if self.inner.writer.is_none() => Err(error),
            Err(_) => self.write(|_| Ok(Ok(()))).await,
        }
    }

    /// Copies the whole database into a file that does not exist, as of one moment and while others go on writing.
    ///
    /// # Errors
    /// [`BackupError`]; then no file of that name was made.
    pub async fn backup(&self, to: &Path) -> Result<Backup, BackupError> {
        let path = to.to_owned();
        let copied = self.read(move |connection| backup::backup(connection, &path)).await;
        copied.map_err(|error| match error {
            BackupError::Backend { source, .. } => {
                BackupError::Backend { path: to.to_owned(), source }
            }
            exists => exists,
        })
    }

    /// The place in the tail behind everything that was committed so far: for whoever wants to know only what comes.
    ///
    /// # Errors
    /// [`BackendError`].
    pub async fn tail_end(&self) -> Result<TailCursor, BackendError> {
        self.read(|connection| tail::end(connection).map(Ok)).await
    }

    async fn write<T: Send + 'static, E: From<BackendError> + Send + 'static>(
        &self,
        act: impl FnMut(&mut transaction::Tx<'_>) -> Done<Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        match &self.inner.writer {
            Some(writer) => writer.submit(act, |failure| Err(failure.error.clone().into())).await,
            None => Err(only_to_look().into()),
        }
    }

    async fn write_batch(&self, batch: Vec<Prepared>) -> Vec<Result<Committed, CommitError>> {
        let size = batch.len();
        match &self.inner.writer {
            Some(writer) => {
                let fail = move |failure: &BatchFailure| vec![Err(failed(failure)); size];
                writer.submit(move |tx| Prepared::apply_all(&batch, tx), fail).await
            }
            None => vec![Err(only_to_look().into()); size],
        }
    }

    async fn read<T: Send + 'static, E: From<BackendError> + Send + 'static>(
        &self,
        ask: impl Fn(&rusqlite::Connection) -> Done<Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        let asked = match self.by_threads {
            true => self.inner.readers.ask(ask).await,
            false => self.inner.readers.ask_here(ask).await,
        };
        asked.map_err(BackendError::from)?
    }
}

fn only_to_look() -> BackendError {
    BackendError::new(BackendErrorKind::Permanent, "it was opened only to be looked at")
}

fn failed(failure: &BatchFailure) -> CommitError {
    if failure.is_unknown {
        CommitError::Unknown { message: failure.error.to_string() }
    } else {
        failure.error.clone().into()
    }
}

/// Whether a run goes on here. That the system could not look is a fault, and no answer.
fn goes_on_here(counterparts: &Counterparts, run: RunId) -> Done<Result<(), ElsewhereError>> {
    let checked = counterparts.check(run);
    if let Err(ElsewhereError::Unreadable(note)) = &checked
        && let Some(error) = note.system_error()
    {
        return Err(Fault::io("can't read", &note.file, &error));
    }
    Ok(checked)
}

#[async_trait]
impl Store for SqliteStore {
    async fn create_run(&self, new: NewRun) -> Result<Created, CreateError> {
        new.check().map_err(|source| CreateError::FirstEntry { run: new.run, source })?;
        self.write(move |tx| run::create(tx, &new)).await
    }

    async fn claim(
        &self,
        run: RunId,
        owner: OwnerId,
        mode: ClaimMode,
    ) -> Result<Claim, ClaimError> {
        let counterparts = self.counterparts();
        // Asked inside the transaction: see `counterpart`.
        self.write(move |tx| match goes_on_here(&counterparts, run)? {
            Ok(()) => claim::claim(tx, run, owner, mode),
            Err(source) => Ok(Err(ClaimError::Elsewhere { run, source })),
        })
        .await
    }

    async fn release(&self, run: RunId, epoch: Epoch) -> Result<(), ReleaseError> {
        self.write(move |tx| claim::release(tx, run, epoch)).await
    }

    async fn head(&self, run: RunId) -> Result<Head, ReadError> {
        self.read(move |connection| log::head(connection, run)).await
    }

    async fn load_log(&self, run: RunId, from: Seq, limit: usize) -> Result<Vec<Chunk>, ReadError> {
        self.read(move |connection| log::load(connection, run, from, limit)).await
    }

    async fn commit(&self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>> {
        self.write_batch(Prepared::all(batch)).await
    }

    async fn commit_here(&self, batch: Vec<TurnCommit>) -> Vec<Result<Committed, CommitError>> {
        let size = batch.len();
        let batch = Prepared::all(batch);
        let here = self.inner.writer.as_ref();
        match here.and_then(|writer| writer.try_here(|tx| Prepared::apply_all(&batch, tx))) {
            Some(Ok(answers)) => answers,
            Some(Err(failure)) => vec![Err(failed(&failure)); size],
            None => self.write_batch(batch).await,
        }
    }

    async fn send(&self, run: RunId, message: Message, at: Timestamp) -> Result<Sent, SendError> {
        messages::check(&message).map_err(|source| SendError::Message { run, source })?;
        let counterparts = self.counterparts();
        // Asked inside the transaction: see `counterpart`.
        self.write(move |tx| match goes_on_here(&counterparts, run)? {
            Ok(()) => inbox::send(tx, run, &message, at),
            Err(source) => Ok(Err(SendError::Elsewhere { run, source })),
        })
        .await
    }

    async fn inbox(&self, run: RunId, limit: usize) -> Result<Vec<Received>, ReadError> {
        self.read(move |connection| inbox::read(connection, run, limit)).await
    }

    async fn due(
        &self,
        now: Timestamp,
        except: &Except,
        limit: usize,
    ) -> Result<Vec<Due>, BackendError> {
        let (owners, except) = (self.inner.owners.clone(), except.clone());
        self.read(move |connection| due::due(connection, &owners, (now, &except), limit).map(Ok))
            .await
    }

    async fn outlook(
        &self,
        owner: OwnerId,
        except: &Except,
        limit: usize,
    ) -> Result<Outlook, BackendError> {
        let (owners, except) = (self.inner.owners.clone(), except.clone());
        self.read(move |connection| {
            due::outlook(connection, &owners, (owner, &except), limit).map(Ok)
        })
        .await
    }

    async fn list_runs(
        &self,
        filter: RunFilter,
        after: Option<RunCursor>,
        limit: usize,
    ) -> Result<RunPage, ListError> {
        self.read(move |connection| list::list(connection, filter, after.as_ref(), limit)).await
    }

    async fn tail(&self, after: TailCursor, limit: usize) -> Result<TailPage, TailError> {
        self.read(move |connection| tail::page(connection, &after, limit)).await
    }
}
