//! A server over databases, without the program around it.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agentos_core::id::RunId;
use agentos_core::value::Value;
use agentos_server::access::{Caller, Who};
use agentos_server::house::{Answer, Deed, House, Kept, Order, Refusal, RefusalKind, Started};
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
    /// What was to be done to which run.
    pub(crate) deeds: Mutex<Vec<(RunId, Deed)>>,
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

fn nobody<T>() -> Answer<T> {
    Err(Refusal::new(RefusalKind::Failed, "nobody is at home"))
}

#[async_trait]
impl House for Databases {
    fn views(&self) -> watch::Receiver<Arc<UnifiedView>> {
        self.views.subscribe()
    }

    async fn projects(&self) -> Answer<Vec<Value>> {
        Ok(vec![json!({ "id": PROJECT, "name": "project" })])
    }

    async fn act(&self, found: Found, deed: Deed, _: String) -> Answer<RunId> {
        self.deeds.lock().unwrap().push((found.run.id, deed));
        Ok(found.run.id)
    }

    async fn open_log(&self, found: Found, step: Option<Uuid>) -> Answer<Option<File>> {
        let detail = found.source.store.run_detail(found.run.id).await.unwrap();
        let project = Path::new(detail.run.work_dir.as_deref().unwrap_or("/nowhere"));
        let mut file = RunFolder::new(project, found.run.id).log_file();
        if let Some(step) = step {
            let found = detail.steps.iter().find(|found| found.id == step);
            let none = || Refusal::new(RefusalKind::NotFound, "there is no such step");
            file = found.ok_or_else(none)?.log_file_path.clone().unwrap().into();
        }
        Ok(File::open(project.join(file)).ok())
    }

    async fn add_project(&self, _: PathBuf) -> Answer<(Value, bool)> {
        nobody()
    }

    async fn remove_project(&self, _: Uuid, _: bool) -> Answer<()> {
        nobody()
    }

    async fn remove_workflow(&self, _: Uuid) -> Answer<()> {
        nobody()
    }

    async fn execute(&self, _: Order) -> Answer<Started> {
        nobody()
    }

    async fn operations(&self, _: Found) -> Answer<Value> {
        Ok(json!([]))
    }

    async fn diff(&self, _: Found, _: Option<String>) -> Answer<Value> {
        nobody()
    }

    async fn open_artifact(&self, _: Found, _: ArtifactRecord) -> Answer<Kept> {
        nobody()
    }

    async fn workspaces(&self, _: Option<Uuid>, _: bool) -> Answer<(Vec<Value>, Vec<Unreadable>)> {
        nobody()
    }

    async fn workspace(&self, _: String) -> Answer<Value> {
        nobody()
    }

    async fn clean(&self, _: String, _: bool) -> Answer<Value> {
        nobody()
    }

    async fn restore(&self, _: String, _: Option<u32>) -> Answer<Value> {
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
        let house = Arc::new(Databases { views, deeds: Mutex::default() });
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
