//! Workspaces of every project that is served, and of the other worktrees of their repositories.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_engine::workspaces::workspace_of;
use agentos_server::house::Words;
use agentos_server::house::errors::{CleanError, RestoreError};
use agentos_store::log::ReadError;
use agentos_store::records::{Records as _, Workspace as Row};
use agentos_store::sqlite::SqliteStore;
use agentos_store::unified::{Source, UnifiedView, Unreadable};
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::{State, Workspace};
use serde_json::{Value, json};
use uuid::Uuid;

use super::refused::words;
use super::room::{Room, naming};
use crate::commands::workspace::{list, not_found};
use crate::databases::folders;
use crate::elsewhere;
use crate::error::{Cause, CommandError, ErrorKind, Result};
use crate::session::Session;
use crate::workspace::desk::Desk;
use crate::workspace::removal;

/// Where workspaces are written down: in the databases of the projects that are served, and in those of other worktrees.
pub(super) struct Everywhere {
    pub(super) rooms: Vec<Arc<Room>>,
    pub(super) view: Arc<UnifiedView>,
    /// The databases of projects that should be served and can't be.
    pub(super) unserved: Vec<Unreadable>,
}

/// A workspace as it is written down, and whoever deals with it.
struct Known {
    session: Arc<Session>,
    store: SqliteStore,
    row: Row,
}

impl Everywhere {
    /// The databases that are in no room: those of worktrees whose project is another one here.
    fn others(&self) -> impl Iterator<Item = &Source> {
        let is_other = |source: &&Source| !self.rooms.iter().any(|room| room.has(source, None));
        self.view.sources().iter().filter(is_other)
    }

    /// The project that the workspace is told as.
    fn project_of(&self, row: &Row) -> Option<Uuid> {
        row.project_id.map(|project| self.view.hosts().of(project))
    }

    fn item(&self, row: &Row) -> Value {
        list::item(&Row { project_id: self.project_of(row), ..row.clone() })
    }

    /// The workspace of this id, wherever it is written down.
    async fn find(&self, id: &str) -> Result<Known> {
        let unserved = self.unserved.iter().map(|unserved| unserved.path.display().to_string());
        let mut unreadable: Vec<String> = unserved.collect();
        for room in &self.rooms {
            match rows_of(room, true).await {
                Ok(rows) => {
                    if let Some(row) = rows.into_iter().find(|row| row.id == id) {
                        let store = room.store().clone();
                        return Ok(Known { session: room.session(), store, row });
                    }
                }
                Err(_) => unreadable.push(room.store().path().display().to_string()),
            }
        }
        for source in self.others() {
            match source.store.workspace(id).await {
                Ok(Some(row)) => {
                    let (session, store) = (self.session_at(source.path())?, source.store.clone());
                    return Ok(Known { session, store, row });
                }
                Ok(None) => {}
                Err(_) => unreadable.push(source.path().display().to_string()),
            }
        }
        if unreadable.is_empty() {
            return Err(not_found(id));
        }
        let Words { message, hint, .. } = Words::hidden("workspace", id, &unreadable);
        Err(CommandError { api_hint: hint, ..CommandError::new(ErrorKind::Unusable, message) })
    }

    /// Somebody who stands in the checkout that uses this database.
    fn session_at(&self, database: &Path) -> Result<Arc<Session>> {
        let gone = || CommandError::failed("no project is served any more");
        let room = self.rooms.first().ok_or_else(gone)?;
        elsewhere::session_at(&room.session(), &self.view, database, None).map(Arc::new)
    }
}

/// Those of one project, or of all. Of all, those in a database that can't be read are left out, and it is named.
pub(super) async fn all(
    everywhere: &Everywhere,
    project: Option<Uuid>,
    all: bool,
) -> Result<(Vec<Value>, Vec<Unreadable>)> {
    let (mut rows, mut unreadable) = (Vec::new(), Vec::new());
    let mut databases: Vec<PathBuf> = Vec::new();
    for room in &everywhere.rooms {
        let database = room.store().path();
        // Linked checkouts share a database, and with it the workspaces.
        if databases.iter().any(|known| known == database) {
            continue;
        }
        databases.push(database.to_owned());
        match rows_of(room, all).await {
            Ok(found) => rows.extend(found),
            Err(error) if project == Some(room.id) => return Err(error),
            // It has none of those that are asked for.
            Err(_) if project.is_some() => {}
            Err(error) => {
                let path = database.to_owned();
                unreadable.push(Unreadable { path, reason: error.message });
            }
        }
    }
    for source in everywhere.others() {
        match source.store.workspaces().await {
            Ok(found) => rows.extend(list::shown(found, all)),
            Err(error) => {
                let path = source.path().to_owned();
                unreadable.push(Unreadable { path, reason: error.to_string() });
            }
        }
    }
    let is_its =
        |row: &&Row| project.is_none_or(|project| everywhere.project_of(row) == Some(project));
    let found = rows.iter().filter(is_its).map(|row| everywhere.item(row)).collect();
    Ok((found, unreadable))
}

async fn rows_of(room: &Room, all: bool) -> Result<Vec<Row>> {
    let rows = list::rows(&room.session(), all).await;
    rows.map_err(|error| naming(room.store().path(), error))
}

/// One of them, with its size and what would be lost with it.
pub(super) async fn show(everywhere: &Everywhere, id: &str) -> Result<Value> {
    let Known { session, store, row } = everywhere.find(id).await?;
    let mut document = everywhere.item(&row);
    let workspace = workspace_of(&row).filter(|found| found.state.is_there());
    let needed_by = match &workspace {
        Some(workspace) => needed_by(&store, workspace).await?,
        None => None,
    };
    let (mut size, mut verdict) = (Value::Null, Value::Null);
    if let Some(workspace) = workspace.filter(|workspace| workspace.path.is_dir()) {
        let desk = Desk::open(&session, &store)?.at(&workspace)?;
        let (keeping, path) = (desk.keeping().clone(), workspace.path.clone());
        let looked = desk.work(move |yard| yard.look(&workspace, &keeping)).await?;
        verdict = removal::judged(&looked);
        size = folders::measure(&path).bytes.into();
    }
    if let Some(fields) = document.as_object_mut() {
        fields.insert("size_bytes".to_owned(), size);
        fields.insert("verdict".to_owned(), verdict);
        fields.insert("needed_by".to_owned(), needed_by.into());
    }
    Ok(document)
}

/// The run that works in it and has not ended, by the name that people know.
async fn needed_by(store: &SqliteStore, workspace: &Workspace) -> Result<Option<String>> {
    let run = workspace.run.as_ref().filter(|_| workspace.state == State::InUse);
    let Some(run) = run.and_then(|run| run.parse().ok()) else { return Ok(None) };
    match store.run_detail(RunId(run)).await {
        Ok(found) => {
            Ok(Some(found.run).filter(|run| run.completed_at.is_none()).map(|run| run.run_id))
        }
        Err(ReadError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Removes one of them.
pub(super) async fn clean(
    everywhere: &Everywhere,
    id: &str,
    force: bool,
) -> Result<Value, CleanError> {
    let Known { session, store, row } = everywhere.find(id).await?;
    let desk = Desk::open(&session, &store)?;
    let workspace = workspace_of(&row).filter(|found| found.state.is_there());
    let workspace = workspace.ok_or_else(|| {
        let words = Words::new(format!("the workspace {id} is not there any more"));
        CleanError::WorkspaceGone(words.hint("it can be brought back if there is a backup of it"))
    })?;
    let outcome = removal::clean(&desk, workspace, force).await?;
    if let Some(refusal) = outcome.refusal() {
        return Err(refusal.clone().into());
    }
    removal::sweep_later(&session, desk.root());
    Ok(outcome.document())
}

/// Brings one of them back.
pub(super) async fn restore(
    everywhere: &Everywhere,
    id: &str,
    backup: Option<u32>,
) -> Result<Value, RestoreError> {
    let Known { session, store, row } = everywhere.find(id).await?;
    let mut desk = Desk::open(&session, &store)?;
    if let Some(known) = workspace_of(&row) {
        desk = desk.at(&known)?;
    }
    let id: WorkspaceId = id.parse().map_err(|error| CommandError::usage(format!("{error}")))?;
    let restored = desk.work(move |yard| yard.restore(&id, backup)).await;
    let (workspace, backup) = restored.map_err(|error| match (error.cause, backup) {
        // There may be others.
        (Some(Cause::NoBackup), Some(_)) => {
            RestoreError::WrongBackup(words(error.field("/backup")))
        }
        _ => error.into(),
    })?;
    Ok(json!({ "workspace_id": workspace.id, "path": workspace.path, "backup": backup }))
}
