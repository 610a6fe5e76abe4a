//! A server over databases, without the program around it.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agentos_core::id::RunId;
use agentos_core::value::Value;
use agentos_server::access::{Caller, Who};
use agentos_server::house::errors::{
    AddProjectError, ApproveError, CancelError, CleanError, CommentError, DiffError, ExecuteError,
    ForkError, ListProjectsError, ListWorkspacesError, OpenArtifactError, OpenLogError,
    OperationsError, RemoveProjectError, RemoveWorkflowError, RestoreError, ResumeError,
    RetryError, ShowWorkspaceError, SignalError,
};
use agentos_server::house::{
    Approval, DerivedRun, Event, Fork, House, Kept, NamedWorkspace, Order, Refusal, Remark,
    Resumption, Started, Words,
};
use agentos_server::{AppState, router};
use agentos_store::folder::RunFolder;
use agentos_store::records::{ArtifactRecord, Records as _};
use agentos_store::registry::Scope;
use agentos_store::sqlite::SqliteStore;
use agentos_store::unified::{Found, UnifiedView, Unreadable, Worktrees};
use async_trait::async_trait;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use uuid::Uuid;

use super::client::Client;

/// The only project that is known.
pub(crate) const PROJECT: Uuid = Uuid::from_u128(0xcafe);

pub(crate) struct Databases {
    views: watch::Sender<Arc<UnifiedView>>,
    /// The runs that were to be cancelled, and why.
    pub(crate) cancelled: Mutex<Vec<(RunId, Option<String>)>>,
}

fn view(databases: &[PathBuf]) -> Arc<UnifiedView> {
    let (open, none) = (SqliteStore::open_to_follow, Worktrees::default());
    Arc::new(UnifiedView::open_with(databases, none, open))
}

impl Databases {
    /// From now on these are served.
    pub(crate) fn serve(&self, databases: &[PathBuf]) {
        self.views.send_replace(view(databases));
    }
}

fn nobody<T, E: Refusal>() -> Result<T, E> {
    Err(E::failed(Words::new("nobody is at home")))
}

#[async_trait]
impl House for Databases {
    fn views(&self) -> watch::Receiver<Arc<UnifiedView>> {
        self.views.subscribe()
    }

    async fn projects(&self) -> Result<Vec<Value>, ListProjectsError> {
        Ok(vec![json!({ "id": PROJECT, "name": "project" })])
    }

    async fn cancel(&self, found: Found, reason: Option<String>) -> Result<(), CancelError> {
        self.cancelled.lock().unwrap().push((found.run.id, reason));
        Ok(())
    }

    async fn open_log(
        &self,
        found: Found,
        step: Option<Uuid>,
    ) -> Result<Option<File>, OpenLogError> {
        let detail = found.source.store.run_detail(found.run.id).await.unwrap();
        let project = Path::new(detail.run.work_dir.as_deref().unwrap_or("/nowhere"));
        let mut file = RunFolder::new(project, found.run.id).log_file();
        if let Some(step) = step {
            let found = detail.steps.iter().find(|found| found.id == step);
            let none = || OpenLogError::UnknownStep(Words::new("there is no such step"));
            file = found.ok_or_else(none)?.log_file_path.clone().unwrap().into();
        }
        Ok(File::open(project.join(file)).ok())
    }

    async fn add_project(&self, _: PathBuf) -> Result<(Value, bool), AddProjectError> {
        nobody()
    }

    async fn remove_project(&self, _: Uuid, _: bool) -> Result<(), RemoveProjectError> {
        nobody()
    }

    async fn remove_workflow(&self, _: Uuid) -> Result<(), RemoveWorkflowError> {
        nobody()
    }

    async fn execute(&self, _: Order) -> Result<Started, ExecuteError> {
        nobody()
    }

    async fn resume(&self, _: Found, _: Resumption) -> Result<Vec<String>, ResumeError> {
        nobody()
    }

    async fn retry(&self, _: Found, _: bool) -> Result<DerivedRun, RetryError> {
        nobody()
    }

    async fn fork(&self, _: Found, _: Fork) -> Result<DerivedRun, ForkError> {
        nobody()
    }

    async fn signal(&self, _: Found, _: Event) -> Result<(), SignalError> {
        nobody()
    }

    async fn approve(&self, _: Found, _: Approval) -> Result<(), ApproveError> {
        nobody()
    }

    async fn comment(&self, _: Found, _: Remark) -> Result<(), CommentError> {
        nobody()
    }

    async fn operations(&self, _: Found) -> Result<Value, OperationsError> {
        Ok(json!([]))
    }

    async fn diff(&self, _: Found, _: Option<String>) -> Result<Value, DiffError> {
        nobody()
    }

    async fn open_artifact(&self, _: Found, _: ArtifactRecord) -> Result<Kept, OpenArtifactError> {
        nobody()
    }

    async fn workspaces(
        &self,
        _: Option<Uuid>,
        _: bool,
    ) -> Result<(Vec<Value>, Vec<Unreadable>), ListWorkspacesError> {
        nobody()
    }

    async fn workspace(&self, _: NamedWorkspace) -> Result<Value, ShowWorkspaceError> {
        nobody()
    }

    async fn clean(&self, _: NamedWorkspace, _: bool) -> Result<Value, CleanError> {
        nobody()
    }

    async fn restore(&self, _: NamedWorkspace, _: Option<u32>) -> Result<Value, RestoreError> {
        nobody()
    }
}

/// A server that listens.
pub(crate) struct Server {
    pub(crate) house: Arc<Databases>,
    pub(crate) address: SocketAddr,
    serving: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(crate) async fn over(databases: &[PathBuf]) -> Self {
        let views = watch::Sender::new(view(databases));
        let house = Arc::new(Databases { views, cancelled: Mutex::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let caller = Caller::by_itself(Who::User { name: "me".to_owned() }, Some(Scope::Admin));
        let router = router(AppState::new(Arc::clone(&house) as Arc<dyn House>));
        let router = router.layer(axum::Extension(caller));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self { house, address, serving }
    }

    /// A new connection.
    pub(crate) async fn connect(&self) -> Client {
        Client::connect(self.address).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
