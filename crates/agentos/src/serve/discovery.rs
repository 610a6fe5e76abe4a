//! The workflows of a project, written down so that they have ids before anybody has started one.

use std::collections::HashSet;
use std::sync::Arc;

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::records::{Definition, NewDefinition, Records as _};
use uuid::Uuid;

use super::room::{Room, naming};
use crate::error::{CommandError, Result};

/// Looks whether templates or the configuration are others than they were, and writes down what can be started unless that
/// is done. How many there are, if it was not. What fails is told, and tried again by whoever comes next.
pub(super) async fn look_again(room: &Arc<Room>) -> Result<Option<usize>> {
    let looked = async {
        room.look_again()?;
        match room.is_written_down() {
            true => Ok(None),
            false => discover(room).await.map(Some),
        }
    };
    let looked = looked.await.map_err(|error| naming(room.store().path(), error));
    room.tell_undiscovered(looked.as_ref().err());
    looked
}

/// Writes down what can be started, and that what is gone can't be. How many there are.
async fn discover(room: &Arc<Room>) -> Result<usize> {
    let session = room.session();
    let (store, project, now) = (room.store(), room.id, SystemClock.now());
    let found = session.catalog.all();
    for workflow in &found {
        store.put_definition(workflow.kept(project, now)).await?;
    }
    let names: HashSet<&str> = found.iter().map(|workflow| workflow.name.as_str()).collect();
    let known = store.definitions(Some(project)).await?;
    let gone = known.into_iter().filter(|known| known.is_active && !names.contains(&*known.name));
    for gone in gone {
        retire(room, gone).await?;
    }
    for broken in session.catalog.diagnostics() {
        tracing::warn!(project = %room.path.display(), "{}: {}", broken.file, broken.message);
    }
    let count = found.len();
    room.has_written_down(session);
    Ok(count)
}

/// The same definition, that nobody can start any more.
async fn retire(room: &Room, gone: Definition) -> Result<()> {
    let versions = room.store().definition_versions(gone.id).await?;
    let Some(version) = versions.into_iter().find(|found| found.version == gone.version) else {
        return Ok(());
    };
    let retired = NewDefinition {
        id: gone.id,
        project: gone.project_id,
        name: gone.name,
        description: gone.description,
        file_path: gone.file_path,
        config: gone.config.unwrap_or_default(),
        is_active: false,
        hash: version.hash,
        author_version: version.author_version,
        source: version.source,
        at: SystemClock.now(),
    };
    room.store().put_definition(retired).await?;
    Ok(())
}

/// Removes a workflow that nobody can start any more and that no run was made from. A database that can't be read is in the
/// way only if the workflow is in no other.
pub(super) async fn remove(rooms: &[Arc<Room>], workflow: Uuid) -> Result<()> {
    let mut unreadable = None;
    for room in rooms {
        let known = room.store().definitions(Some(room.id)).await.unwrap_or_else(|error| {
            unreadable.get_or_insert(naming(room.store().path(), error.into()));
            Vec::new()
        });
        let Some(known) = known.into_iter().find(|known| known.id == workflow) else { continue };
        let name = &known.name;
        room.look_again()?;
        if let Ok(found) = room.session().catalog.find(name) {
            let (why, hint) = match found.file {
                Some(file) => (format!("its file {file} exists"), "delete the file first"),
                None => ("the program brings it along".to_owned(), "it can't be removed"),
            };
            return Err(
                CommandError::refused(format!("`{name}` is still needed: {why}")).hint(hint)
            );
        }
        let deleted = room.store().delete_definition(workflow).await;
        return deleted.map_err(|error| naming(room.store().path(), error.into()));
    }
    let none = || CommandError::not_found(format!("there is no workflow `{workflow}`"));
    Err(unreadable.unwrap_or_else(none))
}
