//! The workflows of a project, written down so that they have ids before anybody has started one.

use std::collections::HashSet;
use std::sync::Arc;

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_server::house::Words;
use agentos_server::house::errors::RemoveWorkflowError;
use agentos_store::records::{Definition, NewDefinition, Records as _};
use uuid::Uuid;

use super::room::{Room, naming, naming_it};
use super::rooms::Rooms;
use crate::catalog::Listed;
use crate::error::Result;

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
pub(super) async fn remove(rooms: &Rooms, workflow: Uuid) -> Result<(), RemoveWorkflowError> {
    let mut unreadable = None;
    for room in rooms.all() {
        let named = naming_it(room.store().path());
        let known = room.store().definitions(Some(room.id)).await.unwrap_or_else(|error| {
            unreadable.get_or_insert(named(error.into()));
            Vec::new()
        });
        let Some(known) = known.into_iter().find(|known| known.id == workflow) else { continue };
        room.look_again()?;
        if let Ok(found) = room.session().catalog.find(&known.name) {
            return Err(still_startable(&found));
        }
        let deleted = room.store().delete_definition(workflow).await;
        return Ok(deleted.map_err(|error| named(error.into()))?);
    }
    if let Some(unreadable) = unreadable {
        return Err(unreadable.into());
    }
    if let Some(words) = rooms.hidden("workflow", &workflow.to_string()) {
        return Err(RemoveWorkflowError::DatabaseUnusable(words));
    }
    let message = format!("there is no workflow `{workflow}`");
    Err(RemoveWorkflowError::UnknownWorkflow(Words::new(message)))
}

fn still_startable(found: &Listed) -> RemoveWorkflowError {
    let needed = |why: &str| Words::new(format!("`{}` is still needed: {why}", found.name));
    match &found.file {
        Some(file) => {
            let words = needed(&format!("its file {file} exists"));
            RemoveWorkflowError::WorkflowHasFile(words.hint("delete the file first"))
        }
        None => {
            let words = needed("the program brings it along");
            RemoveWorkflowError::WorkflowBuiltIn(words.hint("it can't be removed"))
        }
    }
}
