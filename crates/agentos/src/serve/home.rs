//! The house of the server: every use case behind its door, in the words of the command line.

use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentos_core::id::RunId;
use agentos_server::house::{Answer, Deed, House, Kept, Order, Refusal, RefusalKind, Started};
use agentos_store::folder::executions;
use agentos_store::records::{ArtifactRecord, Records as _};
use agentos_store::unified::{Found, UnifiedView, Unreadable};
use agentos_workspace::contained::{Contained, ContainedError};
use async_trait::async_trait;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::room::{Room, naming};
use super::rooms::Rooms;
use super::views::Views;
use super::workspaces::Everywhere;
use super::{attendant, deeds, discovery, recovery, start, workspaces};
use crate::commands::artifacts::project_of;
use crate::commands::{diff, logs};
use crate::elsewhere;
use crate::error::{CommandError, ErrorKind, Result};
use crate::operations::under_way;
use crate::session::Session;
use crate::signals::Wish;
use crate::supervise;

/// How many requests are worked on at once that wait for files or other programs; the others wait.
const AT_ONCE: usize = 16;

/// How often it is looked whether worktrees, databases or templates have come, gone or changed.
const LOOK: Duration = Duration::from_secs(1);

/// The house.
pub(super) struct Home {
    inner: Arc<Inner>,
}

struct Inner {
    rooms: Rooms,
    views: Views,
    whereabouts: crate::session::Whereabouts,
    at_once: Arc<Semaphore>,
    /// How every attendant is to go.
    wish: watch::Sender<Option<Wish>>,
    attendants: Mutex<Vec<JoinHandle<()>>>,
}

impl Home {
    /// Opens every project, tells what became of its runs, and begins to attend to them. One whose database is in no good
    /// state is told of, and keeps nobody from the others.
    pub(super) async fn open(session: &Session, stop: CancellationToken) -> Result<Arc<Self>> {
        let inner = Arc::new(Inner {
            rooms: Rooms::new(session),
            views: Views::new(),
            whereabouts: session.whereabouts(),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            wish: watch::Sender::new(None),
            attendants: Mutex::default(),
        });
        inner.rooms.open(session).await?;
        for room in inner.rooms.all() {
            let (path, output) = (room.path.display(), &session.output);
            // What fails is told by whoever looks.
            if let Ok(Some(count)) = discovery::look_again(&room).await {
                output.lines([format!("Discovered {count} workflows in {path}")])?;
            }
            match recovery::recover(&room).await {
                Ok(lines) => output.lines(lines.iter().map(|line| format!("  {line}")))?,
                Err(error) => {
                    let error = naming(room.store().path(), error);
                    output.note(&format!("{path}: its runs can't be told of: {}", error.message));
                }
            }
            inner.attend(room);
        }
        inner.look_around();
        tokio::spawn(take_care(Arc::clone(&inner), stop));
        Ok(Arc::new(Self { inner }))
    }

    /// Tells every attendant how to go.
    pub(super) fn depart(&self, wish: Wish) {
        self.inner.wish.send_replace(Some(wish));
    }

    /// Waits until every attendant is gone.
    pub(super) async fn gone(&self) {
        let all = std::mem::take(&mut *self.inner.attendants());
        for attending in all {
            let _ended = attending.await;
        }
    }
}

/// Notices what comes, goes and changes.
async fn take_care(inner: Arc<Inner>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        let looking = Arc::clone(&inner);
        let looked = tokio::task::spawn_blocking(move || looking.look_around()).await;
        if let Err(error) = looked {
            tracing::error!(%error, "a look around has broken off");
        }
        for room in inner.rooms.all() {
            // What commands would say beside their answers.
            for note in room.session().output.take_notes() {
                tracing::info!(project = %room.path.display(), "{note}");
            }
            room.find_database().await;
            let (looked, handle) = (Arc::clone(&room), Handle::current());
            let found = tokio::task::spawn_blocking(move || {
                handle.block_on(discovery::look_again(&looked))
            });
            match found.await {
                Ok(Ok(Some(count))) => {
                    tracing::info!("Discovered {count} workflows in {}", room.path.display());
                }
                // What fails is told by whoever looks.
                Ok(Ok(None) | Err(_)) => {}
                Err(error) => tracing::error!(%error, "a look at templates has broken off"),
            }
        }
    }
}

impl Inner {
    fn all(&self) -> Everywhere {
        Everywhere { rooms: self.rooms.all(), view: self.views.current() }
    }

    fn look_around(&self) {
        self.views.look_around(&self.rooms.all(), &self.rooms.unserved());
    }

    /// Begins to attend to a room, and lets go of attendants that have ended.
    fn attend(&self, room: Arc<Room>) {
        let attending = tokio::spawn(attendant::attend(room, self.wish.subscribe()));
        let mut all = self.attendants();
        all.retain(|attending| !attending.is_finished());
        all.push(attending);
    }

    fn attendants(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.attendants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session of the checkout whose run this is.
    fn session_of(&self, found: &Found) -> Result<Arc<Session>> {
        let rooms = self.rooms.all();
        let project = found.run.project_id;
        let exact = rooms.iter().find(|room| room.has(&found.source, project));
        if let Some(room) =
            exact.or_else(|| rooms.iter().find(|room| room.has(&found.source, None)))
        {
            return Ok(room.session());
        }
        let here = self.whereabouts.look_around()?;
        elsewhere::session_of(&here, &self.views.current(), found).map(Arc::new)
    }
}

/// What the command line refuses, in the words of the API. What is wrong with the request has a field; whatever else is
/// wrong lies in how things stand, a broken configuration for example.
pub(super) fn refused(error: CommandError) -> Refusal {
    let kind = match error.kind {
        ErrorKind::Usage | ErrorKind::NotFound if !error.fields.is_empty() => RefusalKind::Wrong,
        ErrorKind::NotFound => RefusalKind::NotFound,
        ErrorKind::Usage | ErrorKind::Refused => RefusalKind::Conflict,
        ErrorKind::Unusable => RefusalKind::Unavailable,
        ErrorKind::Failed | ErrorKind::Interrupted | ErrorKind::PipeClosed => RefusalKind::Failed,
    };
    Refusal { hint: error.api_hint, fields: error.fields, ..Refusal::new(kind, error.message) }
}

/// The same about a database, which is named if it can't be used.
pub(super) fn refused_in(database: &Path) -> impl Fn(CommandError) -> Refusal + use<> {
    let database = database.to_owned();
    move |error| refused(naming(&database, error))
}

impl Home {
    /// Works on something that waits for files or other programs, on a thread of its own.
    async fn work<T, F>(&self, work: impl FnOnce(Arc<Inner>) -> F + Send + 'static) -> Answer<T>
    where
        T: Send + 'static,
        F: Future<Output = Answer<T>>,
    {
        let inner = Arc::clone(&self.inner);
        let ended = || Refusal::new(RefusalKind::Failed, "the server is about to end");
        let permit = Arc::clone(&inner.at_once).acquire_owned().await.map_err(|_| ended())?;
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            Handle::current().block_on(work(inner))
        });
        done.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a request has broken off");
            Err(Refusal::new(RefusalKind::Failed, "the request has broken off; the log tells why"))
        })
    }
}

#[async_trait]
impl House for Home {
    fn views(&self) -> watch::Receiver<Arc<UnifiedView>> {
        self.inner.views.subscribe()
    }

    async fn projects(&self) -> Answer<Vec<Value>> {
        let (mut all, view) = (Vec::new(), self.inner.views.current());
        for room in self.inner.rooms.all() {
            all.push(room.document(&view).await.map_err(refused)?);
        }
        Ok(all)
    }

    async fn add_project(&self, path: PathBuf) -> Answer<(Value, bool)> {
        self.work(move |inner| async move {
            let added = inner.rooms.add(&path).await;
            let (room, is_new) = added.map_err(|error| refused(error.field("/path")))?;
            if is_new {
                // Before anything else, and here: whoever asked may hang up, and what comes next may fail.
                inner.attend(Arc::clone(&room));
                if let Ok(Some(count)) = discovery::look_again(&room).await {
                    tracing::info!("Discovered {count} workflows in {}", room.path.display());
                }
            }
            inner.look_around();
            Ok((room.document(&inner.views.current()).await.map_err(refused)?, is_new))
        })
        .await
    }

    async fn remove_project(&self, project: Uuid, purge: bool) -> Answer<()> {
        self.work(move |inner| async move {
            let none = || {
                let message = format!("there is no project `{project}`");
                Refusal::new(RefusalKind::NotFound, message)
            };
            let room = inner.rooms.find(project).ok_or_else(none)?;
            if purge {
                room.purge().await.map_err(refused_in(room.store().path()))?;
            }
            inner.rooms.remove(project).map_err(refused)?;
            inner.look_around();
            Ok(())
        })
        .await
    }

    async fn remove_workflow(&self, workflow: Uuid) -> Answer<()> {
        self.work(move |inner| async move {
            discovery::remove(&inner.rooms.all(), workflow).await.map_err(refused)
        })
        .await
    }

    async fn execute(&self, order: Order) -> Answer<Started> {
        self.work(move |inner| async move {
            let meant = start::find(&inner.rooms, &order.workflow, order.project).await?;
            start::start(meant, order).await
        })
        .await
    }

    async fn act(&self, found: Found, deed: Deed, by: String) -> Answer<RunId> {
        let refused = refused_in(found.source.path());
        let (store, ends) = (found.source.store.clone(), matches!(deed, Deed::Cancel { .. }));
        let run = self.work(move |inner| async move {
            let refused = refused_in(found.source.path());
            let session = inner.session_of(&found).map_err(&refused)?;
            deeds::act(&session, found.run.id, deed, by).await.map_err(&refused)
        });
        let run = run.await?;
        // Here, so that nobody who waits for the end of a run is in the way of others.
        if ends {
            deeds::until_ended(&store, run).await.map_err(refused)?;
        }
        Ok(run)
    }

    async fn operations(&self, found: Found) -> Answer<Value> {
        self.work(move |inner| async move {
            let refused = refused_in(found.source.path());
            let session = inner.session_of(&found).map_err(&refused)?;
            let masks = supervise::masks(&session);
            let all =
                under_way(&found.source.store, found.run.id, &masks).await.map_err(&refused)?;
            serde_json::to_value(all)
                .map_err(|error| Refusal::new(RefusalKind::Failed, error.to_string()))
        })
        .await
    }

    async fn diff(&self, found: Found, step: Option<String>) -> Answer<Value> {
        self.work(move |inner| async move {
            let refused = refused_in(found.source.path());
            let session = inner.session_of(&found).map_err(&refused)?;
            let run = found.run.id.to_string();
            diff::document(&session, &run, step.as_deref()).await.map_err(&refused)
        })
        .await
    }

    async fn open_artifact(&self, found: Found, artifact: ArtifactRecord) -> Answer<Kept> {
        self.work(move |_| async move {
            let refused = refused_in(found.source.path());
            let detail = found.source.store.run_detail(found.run.id).await;
            let detail = detail.map_err(|error| refused(error.into()))?;
            let project = project_of(&detail).map_err(&refused)?;
            let path = Path::new(&artifact.storage_path);
            // A link in its place was put there by somebody else, wherever it leads.
            let is_link =
                std::fs::symlink_metadata(project.join(path)).is_ok_and(|found| found.is_symlink());
            let leaves = path.components().any(|part| part == Component::ParentDir);
            if is_link || leaves || !project.join(path).starts_with(executions(project)) {
                let what = format!("{} is no file that the run has kept", artifact.storage_path);
                return Err(refused(CommandError::refused(what)));
            }
            let file = contained(project, &artifact.storage_path).map_err(&refused)?;
            let missing = || refused(CommandError::not_found(gone(&artifact.storage_path)));
            Ok(Kept { file: file.ok_or_else(missing)?, artifact })
        })
        .await
    }

    async fn open_log(&self, found: Found, step: Option<Uuid>) -> Answer<Option<File>> {
        self.work(move |_| async move {
            let refused = refused_in(found.source.path());
            let detail = found.source.store.run_detail(found.run.id).await;
            let detail = detail.map_err(|error| refused(error.into()))?;
            let Some((project, file)) = logs::file_of(&detail, step).map_err(&refused)? else {
                return Ok(None);
            };
            contained(&project, &file.to_string_lossy()).map_err(&refused)
        })
        .await
    }

    async fn workspaces(
        &self,
        project: Option<Uuid>,
        all: bool,
    ) -> Answer<(Vec<Value>, Vec<Unreadable>)> {
        self.work(move |inner| async move {
            workspaces::all(&inner.all(), project, all).await.map_err(refused)
        })
        .await
    }

    async fn workspace(&self, id: String) -> Answer<Value> {
        self.work(
            move |inner| async move { workspaces::show(&inner.all(), &id).await.map_err(refused) },
        )
        .await
    }

    async fn clean(&self, id: String, force: bool) -> Answer<Value> {
        self.work(move |inner| async move {
            workspaces::clean(&inner.all(), &id, force).await.map_err(refused)
        })
        .await
    }

    async fn restore(&self, id: String, backup: Option<u32>) -> Answer<Value> {
        self.work(move |inner| async move {
            workspaces::restore(&inner.all(), &id, backup).await.map_err(refused)
        })
        .await
    }
}

fn gone(path: &str) -> String {
    format!("the file is gone: there is no {path} in the project")
}

/// Opens a file of the project without leaving it, by whatever link. None if there is none.
fn contained(project: &Path, path: &str) -> Result<Option<File>> {
    let failed = |error: ContainedError| CommandError::refused(error.to_string());
    let files = Contained::open(project, None).map_err(failed)?;
    match files.open_source(path) {
        Ok(source) => Ok(Some(source.file)),
        Err(ContainedError::Missing { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}
