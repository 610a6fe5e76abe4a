//! Workspaces of every project that is served, and of the other worktrees of their repositories.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_engine::workspaces::workspace_of;
use agentos_server::house::errors::{CleanError, RestoreError};
use agentos_server::house::{NamedWorkspace, Words};
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
use crate::commands::workspace::list::{self, ListedWorkspace};
use crate::commands::workspace::not_found;
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

/// What somebody wants to see or to do: of several workspaces it is about those that are there, or about the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    There,
    Gone,
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

    fn item(&self, listed: &ListedWorkspace) -> Value {
        let mut told = listed.clone();
        told.row.project_id = self.project_of(&listed.row);
        list::item(&told)
    }

    /// The databases that could not be opened.
    fn missing(&self) -> Vec<Unreadable> {
        let mut missing = self.view.unreadable().to_vec();
        for unserved in &self.unserved {
            let is_told = missing.iter().any(|told| told.path == unserved.path);
            // Another project may use the same one.
            if !is_told && self.view.source(&unserved.path).is_none() {
                missing.push(unserved.clone());
            }
        }
        missing
    }

    /// One project for each database: linked checkouts share theirs, and with it the workspaces.
    fn databases(&self) -> impl Iterator<Item = &Arc<Room>> {
        let is_first = |(number, room): &(usize, &Arc<Room>)| {
            !self.rooms[..*number].iter().any(|other| other.store().path() == room.store().path())
        };
        self.rooms.iter().enumerate().filter(is_first).map(|(_, room)| room)
    }

    /// Every workspace of this id with the database that it is written down in; and the databases that can't tell.
    async fn of_id(&self, id: &str) -> (Vec<(SqliteStore, Row)>, Vec<String>) {
        let mut found = Vec::new();
        let mut unreadable: Vec<PathBuf> =
            self.missing().into_iter().map(|missing| missing.path).collect();
        let others = self.others().map(|source| &source.store);
        for store in self.databases().map(|room| room.store()).chain(others) {
            match store.workspace(id).await {
                Ok(row) => found.extend(row.map(|row| (store.clone(), row))),
                Err(_) => unreadable.push(store.path().to_owned()),
            }
        }
        (found, unreadable.iter().map(|path| path.display().to_string()).collect())
    }

    /// The workspace that somebody means, wherever it is written down.
    async fn find(&self, named: &NamedWorkspace, about: About) -> Result<Known> {
        let NamedWorkspace { id, project } = named;
        let (mut found, unreadable) = self.of_id(id).await;
        found.retain(|(store, row)| project.is_none_or(|project| self.is_of(project, store, row)));
        prefer(&mut found, |row| is_there(row) == (about == About::There));
        // Those of its other worktrees are the project's too, but its own are meant first.
        prefer(&mut found, |row| project.is_some() && row.project_id == *project);
        match &found[..] {
            [] if unreadable.is_empty() => Err(not_found(id)),
            [] => {
                let Words { message, hint, .. } = Words::hidden("workspace", id, &unreadable);
                let hidden = CommandError::new(ErrorKind::Unusable, message);
                Err(CommandError { api_hint: hint, ..hidden })
            }
            // One workspace may be written down in several databases, if one is a copy of another.
            [(_, first), others @ ..] if others.iter().any(|(_, row)| row.path != first.path) => {
                Err(several(id, &found))
            }
            [(store, row), ..] => self.known(store, row).await,
        }
    }

    /// Whether a project has this workspace. Checkouts that share a database share what is in it: there, an id is one
    /// workspace's, whoever of them used it last.
    fn is_of(&self, project: Uuid, store: &SqliteStore, row: &Row) -> bool {
        let mut users = self.rooms.iter().filter(|room| room.store().path() == store.path());
        row.project_id == Some(project)
            || self.project_of(row) == Some(project)
            || users.any(|room| room.id == project)
    }

    /// The workspace as it stands, with somebody of the project whose it is: whatever is done to it is written down as that
    /// project's. If that is served by nobody, with whoever uses the database.
    async fn known(&self, store: &SqliteStore, row: &Row) -> Result<Known> {
        let (store, row) = (store.clone(), row.clone());
        let mut users = self.rooms.iter().filter(|room| room.store().path() == store.path());
        let exact = users.clone().find(|room| Some(room.id) == row.project_id);
        let Some(room) = exact.or_else(|| users.next()) else {
            return Ok(Known { session: self.session_at(store.path())?, store, row });
        };
        let mut settled = rows_of(room, true).await?.into_iter().map(|settled| settled.row);
        let settled = settled.find(|settled| settled.id == row.id);
        let row = settled.ok_or_else(|| not_found(&row.id))?;
        Ok(Known { session: room.session(), store, row })
    }

    /// Somebody who stands in the checkout that uses this database.
    fn session_at(&self, database: &Path) -> Result<Arc<Session>> {
        let gone = || CommandError::failed("no project is served any more");
        let room = self.rooms.first().ok_or_else(gone)?;
        elsewhere::session_at(&room.session(), &self.view, database, None).map(Arc::new)
    }
}

fn is_there(row: &Row) -> bool {
    workspace_of(row).is_some_and(|workspace| workspace.state.is_there())
}

/// Leaves those that are like this, if there are any.
fn prefer(found: &mut Vec<(SqliteStore, Row)>, is_better: impl Fn(&Row) -> bool) {
    if found.iter().any(|(_, row)| is_better(row)) {
        found.retain(|(_, row)| is_better(row));
    }
}

fn several(id: &str, found: &[(SqliteStore, Row)]) -> CommandError {
    let projects = found.iter().filter_map(|(_, row)| row.project_id);
    let projects: BTreeSet<String> = projects.map(|project| project.to_string()).collect();
    let projects = Vec::from_iter(projects).join(", ");
    CommandError::usage(format!("several projects have a workspace `{id}`"))
        .because(Cause::SeveralWorkspaces)
        .api_hint(format!("say with `?projectId=` whose is meant: {projects}"))
}

/// Those of one project, or of all. Those in a database that can't be read are left out, and it is named; if it is the
/// project's own, there is nothing to be told.
pub(super) async fn all(
    everywhere: &Everywhere,
    project: Option<Uuid>,
    all: bool,
) -> Result<(Vec<Value>, Vec<Unreadable>)> {
    let (mut rows, mut unreadable) = (Vec::new(), everywhere.missing());
    for room in everywhere.databases() {
        let database = room.store().path();
        let is_asked_for =
            |other: &Arc<Room>| project == Some(other.id) && other.store().path() == database;
        match rows_of(room, all).await {
            Ok(found) => rows.extend(found),
            Err(error) if everywhere.rooms.iter().any(is_asked_for) => return Err(error),
            // It has none of those that are asked for.
            Err(_) if project.is_some() => {}
            Err(error) => {
                let path = database.to_owned();
                unreadable.push(Unreadable { path, reason: error.message });
            }
        }
    }
    for source in everywhere.others() {
        match list::shown(&source.store, all).await {
            Ok(found) => rows.extend(found),
            Err(error) => {
                let path = source.path().to_owned();
                unreadable.push(Unreadable { path, reason: error.to_string() });
            }
        }
    }
    let is_its = |listed: &&ListedWorkspace| {
        project.is_none_or(|project| everywhere.project_of(&listed.row) == Some(project))
    };
    let found = rows.iter().filter(is_its).map(|listed| everywhere.item(listed)).collect();
    Ok((found, unreadable))
}

async fn rows_of(room: &Room, all: bool) -> Result<Vec<ListedWorkspace>> {
    let rows = list::rows(&room.session(), all).await;
    rows.map_err(|error| naming(room.store().path(), error))
}

/// One of them, with its size and what would be lost with it.
pub(super) async fn show(everywhere: &Everywhere, named: &NamedWorkspace) -> Result<Value> {
    let Known { session, store, row } = everywhere.find(named, About::There).await?;
    let mut document = everywhere.item(&ListedWorkspace::new(row.clone(), store.path()));
    let workspace = workspace_of(&row).filter(|found| found.state.is_there());
    let needed_by = match &workspace {
        Some(workspace) => needed_by(&store, workspace).await?,
        None => None,
    };
    let (mut size, mut verdict) = (Value::Null, Value::Null);
    if let Some(workspace) = workspace.filter(|workspace| workspace.path.is_dir()) {
        let desk = Desk::open(&session, &store)?.at(&workspace)?;
        let (keeping, path) = (desk.keeping(), workspace.path.clone());
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
    named: &NamedWorkspace,
    force: bool,
) -> Result<Value, CleanError> {
    let Known { session, store, row } = everywhere.find(named, About::There).await?;
    let desk = Desk::open(&session, &store)?;
    let workspace = workspace_of(&row).filter(|found| found.state.is_there());
    let workspace = workspace.ok_or_else(|| {
        let words = Words::new(format!("the workspace {} is not there any more", row.id));
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
    named: &NamedWorkspace,
    backup: Option<u32>,
) -> Result<Value, RestoreError> {
    let Known { session, store, row } = everywhere.find(named, About::Gone).await?;
    let mut desk = Desk::open(&session, &store)?;
    if let Some(known) = workspace_of(&row) {
        desk = desk.at(&known)?;
    }
    let id: WorkspaceId =
        row.id.parse().map_err(|error| CommandError::usage(format!("{error}")))?;
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
