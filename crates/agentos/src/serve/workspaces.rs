//! Workspaces of every project that is served.

use std::sync::Arc;

use agentos_engine::workspaces::workspace_of;
use agentos_server::house::Words;
use agentos_server::house::errors::{CleanError, RestoreError};
use agentos_store::records::Workspace as Row;
use agentos_store::unified::Unreadable;
use agentos_workspace::workspace::id::WorkspaceId;
use serde_json::{Value, json};
use uuid::Uuid;

use super::refused::words;
use super::room::{Room, naming};
use super::rooms::Rooms;
use crate::commands::workspace::{list, not_found};
use crate::databases::folders;
use crate::error::{Cause, CommandError, ErrorKind, Result};
use crate::session::Session;
use crate::workspace::desk::Desk;
use crate::workspace::removal;

/// Those of one project, or of all. Of all, those in a database that can't be read are left out, and it is named.
pub(super) async fn all(
    rooms: &Rooms,
    project: Option<Uuid>,
    all: bool,
) -> Result<(Vec<Value>, Vec<Unreadable>)> {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    let mut databases = Vec::new();
    let rooms = rooms.all();
    for room in rooms.iter().filter(|room| project.is_none_or(|project| project == room.id)) {
        let is_seen = databases.contains(&room.store().path().to_owned());
        // Linked checkouts share a database, and with it the workspaces.
        if is_seen && project.is_none() {
            continue;
        }
        let rows = match rows_of(room, all).await {
            Ok(rows) => rows,
            Err(error) if project.is_some() => return Err(error),
            Err(error) => {
                let path = room.store().path().to_owned();
                unreadable.push(Unreadable { path, reason: error.message });
                continue;
            }
        };
        databases.push(room.store().path().to_owned());
        let is_its = |row: &&Row| project.is_none_or(|project| row.project_id == Some(project));
        found.extend(rows.iter().filter(is_its).map(list::item));
    }
    unreadable.dedup_by(|one, other| one.path == other.path);
    Ok((found, unreadable))
}

async fn rows_of(room: &Room, all: bool) -> Result<Vec<Row>> {
    let rows = list::rows(&room.session(), all).await;
    rows.map_err(|error| naming(room.store().path(), error))
}

/// The workspace of this id, and the project in whose database it is.
async fn find(rooms: &Rooms, id: &str) -> Result<(Arc<Room>, Row)> {
    let unserved = rooms.unserved().into_iter();
    let mut unreadable: Vec<String> =
        unserved.map(|unserved| unserved.path.display().to_string()).collect();
    for room in rooms.all() {
        match rows_of(&room, true).await {
            Ok(rows) => {
                if let Some(row) = rows.into_iter().find(|row| row.id == id) {
                    return Ok((room, row));
                }
            }
            Err(_) => unreadable.push(room.store().path().display().to_string()),
        }
    }
    if unreadable.is_empty() {
        return Err(not_found(id));
    }
    let Words { message, hint, .. } = Words::hidden("workspace", id, &unreadable);
    Err(CommandError { api_hint: hint, ..CommandError::new(ErrorKind::Unusable, message) })
}

fn desk_of(session: &Session, room: &Room) -> Result<Desk> {
    Desk::open(session, room.store())
}

/// One of them, with its size and what would be lost with it.
pub(super) async fn show(rooms: &Rooms, id: &str) -> Result<Value> {
    let (room, row) = find(rooms, id).await?;
    let mut document = list::item(&row);
    let workspace = workspace_of(&row).filter(|found| found.state.is_there());
    let (mut size, mut verdict) = (Value::Null, Value::Null);
    if let Some(workspace) = workspace.filter(|workspace| workspace.path.is_dir()) {
        let desk = desk_of(&room.session(), &room)?.at(&workspace)?;
        let (keeping, path) = (desk.keeping().clone(), workspace.path.clone());
        let looked = desk.work(move |yard| yard.look(&workspace, &keeping)).await?;
        verdict = removal::judged(&looked);
        size = folders::measure(&path).bytes.into();
    }
    if let Some(fields) = document.as_object_mut() {
        fields.insert("size_bytes".to_owned(), size);
        fields.insert("verdict".to_owned(), verdict);
    }
    Ok(document)
}

/// Removes one of them.
pub(super) async fn clean(rooms: &Rooms, id: &str, force: bool) -> Result<Value, CleanError> {
    let (room, row) = find(rooms, id).await?;
    let session = room.session();
    let desk = desk_of(&session, &room)?;
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
    rooms: &Rooms,
    id: &str,
    backup: Option<u32>,
) -> Result<Value, RestoreError> {
    let (room, row) = find(rooms, id).await?;
    let mut desk = desk_of(&room.session(), &room)?;
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
