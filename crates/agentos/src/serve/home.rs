//! The house of the server: every use case behind its door, in the words of the command line.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentos_core::id::RunId;
use agentos_server::house::errors::{
    AddProjectError, ApproveError, CancelError, CleanError, CommentError, DiffError, ExecuteError,
    ForkError, ListProjectsError, ListWorkspacesError, OpenArtifactError, OpenLogError,
    OperationsError, RemoveProjectError, RemoveWorkflowError, RestoreError, ResumeError,
    RetryError, ShowWorkspaceError, SignalError,
};
use agentos_server::house::{
    Approval, DerivedRun, Event, Fork, House, Kept, NamedWorkspace, Order, Remark, Resumption,
    Started, Words,
};
use agentos_store::records::{ArtifactRecord, Records as _};
use agentos_store::unified::{Found, UnifiedView, Unreadable};
use async_trait::async_trait;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::room::{Room, naming, naming_it};
use super::rooms::Rooms;
use super::turns::{Turn, Turns};
use super::views::Views;
use super::workspaces::Everywhere;
use super::{attendant, deeds, discovery, files, recovery, start, workspaces};
use crate::commands::diff;
use crate::elsewhere;
use crate::error::{CommandError, Result};
use crate::operations::under_way;
use crate::session::Session;
use crate::signals::Wish;
use crate::supervise;
use crate::travel::changed::ChangedWorkflow;

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
    turns: Turns,
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
            turns: Turns::new(),
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
        let (rooms, unserved) = (self.rooms.all(), self.rooms.unserved());
        Everywhere { rooms, view: self.views.current(), unserved }
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

    /// The project whose run this is, or any that uses its database.
    fn room_of(&self, found: &Found) -> Option<Arc<Room>> {
        let rooms = self.rooms.all();
        let project = found.run.project_id;
        let exact = rooms.iter().find(|room| room.has(&found.source, project));
        exact.or_else(|| rooms.iter().find(|room| room.has(&found.source, None))).cloned()
    }

    /// The session of the checkout whose run this is.
    fn session_of(&self, found: &Found) -> Result<Arc<Session>> {
        if let Some(room) = self.room_of(found) {
            return Ok(room.session());
        }
        let here = self.whereabouts.look_around()?;
        elsewhere::session_of(&here, &self.views.current(), found).map(Arc::new)
    }
}

impl Home {
    /// Works on something that waits for files, databases or other programs, on a thread of its own, when its turn has come.
    async fn work<T, E, F>(
        &self,
        turn: Turn,
        work: impl FnOnce(Arc<Inner>) -> F + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<CommandError> + Send + 'static,
        F: Future<Output = Result<T, E>>,
    {
        let inner = Arc::clone(&self.inner);
        let ended = || CommandError::failed("the server is about to end");
        let place = inner.turns.take(turn).await.map_err(|_| ended())?;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            Handle::current().block_on(work(inner))
        });
        done.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a request has broken off");
            Err(CommandError::failed("the request has broken off; the log tells why").into())
        })
    }

    /// Does something to a run, where it was started.
    async fn act_on<T, E, F>(
        &self,
        found: Found,
        act: impl FnOnce(Arc<Session>, RunId) -> F + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<CommandError> + Send + 'static,
        F: Future<Output = Result<T>>,
    {
        self.work(Turn::change(found.source.path()), |inner| with(inner, found, act)).await
    }

    /// Reads the templates of a run's project again: the latest is what is there now, not what was there at the last look.
    async fn look_again(&self, found: &Found) -> Result<()> {
        let Some(room) = self.inner.room_of(found) else { return Ok(()) };
        let turn = Turn::change(room.store().path());
        self.work(turn, move |_| async move { discovery::look_again(&room).await.map(drop) }).await
    }

    /// Looks at a run, where it was started.
    async fn look_at<T, E, F>(
        &self,
        found: Found,
        look: impl FnOnce(Arc<Session>, RunId) -> F + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<CommandError> + Send + 'static,
        F: Future<Output = Result<T>>,
    {
        self.work(Turn::Look, |inner| with(inner, found, look)).await
    }
}

/// With the session of a run. What is wrong with its database is told with the database's name.
async fn with<T, E: From<CommandError>, F: Future<Output = Result<T>>>(
    inner: Arc<Inner>,
    found: Found,
    work: impl FnOnce(Arc<Session>, RunId) -> F,
) -> Result<T, E> {
    let named = naming_it(found.source.path());
    let session = inner.session_of(&found).map_err(&named)?;
    Ok(work(session, found.run.id).await.map_err(&named)?)
}

#[async_trait]
impl House for Home {
    fn views(&self) -> watch::Receiver<Arc<UnifiedView>> {
        self.inner.views.subscribe()
    }

    async fn projects(&self) -> Result<Vec<Value>, ListProjectsError> {
        let (mut all, view) = (Vec::new(), self.inner.views.current());
        for room in self.inner.rooms.all() {
            all.push(room.document(&view).await?);
        }
        Ok(all)
    }

    async fn add_project(&self, path: PathBuf) -> Result<(Value, bool), AddProjectError> {
        self.work(Turn::Change(None), move |inner| async move {
            let (room, is_new) = inner.rooms.add(&path).await?;
            if is_new {
                // Before anything else, and here: whoever asked may hang up, and what comes next may fail.
                inner.attend(Arc::clone(&room));
                if let Ok(Some(count)) = discovery::look_again(&room).await {
                    tracing::info!("Discovered {count} workflows in {}", room.path.display());
                }
            }
            inner.look_around();
            Ok((room.document(&inner.views.current()).await?, is_new))
        })
        .await
    }

    async fn remove_project(&self, project: Uuid, purge: bool) -> Result<(), RemoveProjectError> {
        self.work(Turn::Change(None), move |inner| async move {
            match inner.rooms.find(project) {
                Some(room) if purge => {
                    room.purge().await.map_err(naming_it(room.store().path()))?;
                }
                Some(_) => {}
                // It can be let go of, but nobody knows what is in it.
                None if inner.rooms.is_unserved(project) && purge => {
                    let hidden = inner.rooms.hidden("project", &project.to_string());
                    return Err(RemoveProjectError::DatabaseUnusable(hidden.unwrap_or_default()));
                }
                None if inner.rooms.is_unserved(project) => {}
                None => {
                    let message = format!("there is no project `{project}`");
                    return Err(RemoveProjectError::UnknownProject(Words::new(message)));
                }
            }
            inner.rooms.remove(project)?;
            inner.look_around();
            Ok(())
        })
        .await
    }

    async fn remove_workflow(&self, workflow: Uuid) -> Result<(), RemoveWorkflowError> {
        self.work(Turn::Change(None), move |inner| async move {
            discovery::remove(&inner.rooms, workflow).await
        })
        .await
    }

    async fn execute(&self, order: Order) -> Result<Started, ExecuteError> {
        let (workflow, project) = (order.workflow.clone(), order.project);
        // A look for a name that is not known yet may write down what it finds.
        let meant = self.work(Turn::Change(None), move |inner| async move {
            start::find(&inner.rooms, &workflow, project).await
        });
        let meant = meant.await?;
        let turn = Turn::change(meant.room.store().path());
        self.work(turn, move |_| start::start(meant, order)).await
    }

    async fn cancel(&self, found: Found, reason: Option<String>) -> Result<(), CancelError> {
        let (store, run) = (found.source.store.clone(), found.run.id);
        self.act_on::<_, CancelError, _>(found, move |session, run| async move {
            deeds::cancel(&session, run, reason).await
        })
        .await?;
        // Here, so that nobody who waits for the end of a run is in the way of others.
        Ok(deeds::until_ended(&store, run).await.map_err(naming_it(store.path()))?)
    }

    async fn resume(&self, found: Found, how: Resumption) -> Result<Vec<String>, ResumeError> {
        if how.latest {
            self.look_again(&found).await?;
        }
        self.act_on(
            found,
            move |session, run| async move { deeds::resume(&session, run, how).await },
        )
        .await
    }

    async fn retry(&self, found: Found, latest: bool) -> Result<DerivedRun, RetryError> {
        if latest {
            self.look_again(&found).await?;
        }
        self.act_on(
            found,
            move |session, run| async move { deeds::retry(&session, run, latest).await },
        )
        .await
    }

    async fn fork(&self, found: Found, fork: Fork) -> Result<DerivedRun, ForkError> {
        if fork.latest {
            self.look_again(&found).await?;
        }
        self.act_on(
            found,
            move |session, run| async move { deeds::fork(&session, run, fork).await },
        )
        .await
    }

    async fn signal(&self, found: Found, event: Event) -> Result<(), SignalError> {
        self.act_on(
            found,
            move |session, run| async move { deeds::signal(&session, run, event).await },
        )
        .await
    }

    async fn approve(&self, found: Found, answer: Approval) -> Result<(), ApproveError> {
        self.act_on(found, move |session, run| async move {
            deeds::approve(&session, run, answer).await
        })
        .await
    }

    async fn comment(&self, found: Found, remark: Remark) -> Result<(), CommentError> {
        deeds::check_message(&remark.message)?;
        self.act_on(found, move |session, run| async move {
            deeds::comment(&session, run, remark).await
        })
        .await
    }

    async fn operations(&self, found: Found) -> Result<Value, OperationsError> {
        let store = found.source.store.clone();
        self.look_at(found, move |session, run| async move {
            let all = under_way(&store, run, &supervise::masks(&session)).await?;
            serde_json::to_value(all).map_err(|error| CommandError::failed(error.to_string()))
        })
        .await
    }

    async fn changed(&self, found: Found) -> Result<Value, OperationsError> {
        let store = found.source.store.clone();
        self.look_at(found, move |session, run| async move {
            let run = store.run_detail(run).await?.run;
            let changed = ChangedWorkflow::find(&session, &store, &run).await;
            serde_json::to_value(changed).map_err(|error| CommandError::failed(error.to_string()))
        })
        .await
    }

    async fn diff(&self, found: Found, step: Option<String>) -> Result<Value, DiffError> {
        self.look_at(found, move |session, run| async move {
            diff::document(&session, &run.to_string(), step.as_deref()).await
        })
        .await
    }

    async fn open_artifact(
        &self,
        found: Found,
        artifact: ArtifactRecord,
    ) -> Result<Kept, OpenArtifactError> {
        self.work(Turn::Look, move |_| async move { files::artifact(&found, artifact).await }).await
    }

    async fn open_log(
        &self,
        found: Found,
        step: Option<Uuid>,
    ) -> Result<Option<File>, OpenLogError> {
        self.work(Turn::Look, move |_| async move { files::log(&found, step).await }).await
    }

    async fn workspaces(
        &self,
        project: Option<Uuid>,
        all: bool,
    ) -> Result<(Vec<Value>, Vec<Unreadable>), ListWorkspacesError> {
        self.work(Turn::Look, move |inner| async move {
            Ok(workspaces::all(&inner.all(), project, all).await?)
        })
        .await
    }

    async fn workspace(&self, named: NamedWorkspace) -> Result<Value, ShowWorkspaceError> {
        self.work(Turn::Look, move |inner| async move {
            Ok(workspaces::show(&inner.all(), &named).await?)
        })
        .await
    }

    async fn clean(&self, named: NamedWorkspace, force: bool) -> Result<Value, CleanError> {
        self.work(Turn::Change(None), move |inner| async move {
            workspaces::clean(&inner.all(), &named, force).await
        })
        .await
    }

    async fn restore(
        &self,
        named: NamedWorkspace,
        backup: Option<u32>,
    ) -> Result<Value, RestoreError> {
        self.work(Turn::Change(None), move |inner| async move {
            workspaces::restore(&inner.all(), &named, backup).await
        })
        .await
    }
}
