//! A new run at somebody's request: which project, which workflow, and only once for each key.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_core::value::Value;
use agentos_server::house::{Answer, Order, Refusal, RefusalKind, Started};
use agentos_store::records::Records as _;
use agentos_store::store::Store as _;
use serde_json::json;
use uuid::Uuid;

use super::discovery;
use super::home::{refused, refused_in};
use super::keys::{Keys, Taken};
use super::room::Room;
use super::rooms::Rooms;
use crate::agents;
use crate::catalog::Listed;
use crate::error::{CommandError, Result};
use crate::inputs::{FileInput, Given, assemble, files};
use crate::launch;
use crate::session::Session;
use crate::workspace::WorkspaceArgs;

/// A workflow, and the project that it is in.
pub(super) struct Meant {
    pub(super) room: Arc<Room>,
    pub(super) name: String,
}

/// Which workflow is meant: by the id of its definition, or by its name. A project that can't be looked at is in the way only
/// if the workflow is in no other.
pub(super) async fn find(rooms: &Rooms, workflow: &str, project: Option<Uuid>) -> Answer<Meant> {
    let mut all = rooms.all();
    if let Some(project) = project {
        all.retain(|room| room.id == project);
        if all.is_empty() {
            return Err(wrong("/projectId", format!("there is no project `{project}`")));
        }
    }
    let id: Option<Uuid> = workflow.parse().ok();
    let (mut found, mut trouble) = (Vec::new(), None);
    for room in all {
        let refused = refused_in(room.store().path());
        let definitions = room.store().definitions(Some(room.id)).await.unwrap_or_else(|error| {
            trouble.get_or_insert(refused(error.into()));
            Vec::new()
        });
        let named = definitions.into_iter().find(|known| match id {
            Some(id) => known.id == id,
            None => known.name == workflow,
        });
        // A template that was written a moment ago is found too, and what a database can't tell files do.
        let name = match named {
            Some(named) => Some(named.name),
            None if id.is_none() => {
                if let Err(refusal) = look_again(&room).await {
                    trouble.get_or_insert(refusal);
                }
                room.session().catalog.find(workflow).ok().map(|one| one.name)
            }
            None => None,
        };
        found.extend(name.map(|name| Meant { room, name }));
    }
    match (found.pop(), found.is_empty()) {
        (Some(meant), true) => Ok(meant),
        (None, _) => Err(trouble.unwrap_or_else(|| {
            let message = format!("there is no workflow `{workflow}`");
            let mut refusal = Refusal::new(RefusalKind::NotFound, message);
            refusal.hint = Some("`GET /api/workflows` lists what can be started".to_owned());
            refusal
        })),
        (Some(_), false) => Err(wrong(
            "/projectId",
            format!("is needed: several projects have a workflow `{workflow}`"),
        )),
    }
}

async fn look_again(room: &Arc<Room>) -> Answer<()> {
    discovery::look_again(room).await.map(drop).map_err(refused)
}

fn wrong(pointer: &str, what: impl Into<String>) -> Refusal {
    let what = what.into();
    let mut refusal = Refusal::new(RefusalKind::Wrong, format!("`{pointer}`: {what}"));
    refusal.fields.push((pointer.to_owned(), what));
    refusal
}

/// Starts the run, or finds the one that was started under the same key.
pub(super) async fn start(meant: Meant, order: Order) -> Answer<Started> {
    let Meant { room, name } = meant;
    look_again(&room).await?;
    let session = room.session();
    let workflow = session.catalog.find(&name).map_err(|error| {
        let kind = crate::error::ErrorKind::Refused;
        // It is known, but it can't be started now.
        refused(CommandError { kind, ..error })
    })?;
    let input = checked(&workflow, order.input.clone())?;
    let Some(key) = order.key.clone() else {
        let run = launched(&session, &workflow, (input, order), None).await;
        let run = run.map_err(refused_in(room.store().path()))?;
        return Ok(Started { run, is_replayed: false });
    };
    once(&room, key, (workflow, input), order).await
}

/// Starts it once for this key.
async fn once(
    room: &Room,
    key: String,
    (workflow, input): (Listed, Value),
    order: Order,
) -> Answer<Started> {
    let failed = |error: std::io::Error| refused(error.into());
    let keys = Keys::of(room.store().path());
    let asked = json!([
        workflow.name,
        order.input,
        order.agents,
        order.workspace.id,
        order.workspace.kind,
        order.workspace.base
    ]);
    let asked = asked.to_string();
    let (run, is_replayed) =
        match keys.take(&key, asked.as_bytes(), RunId(Uuid::now_v7())).map_err(failed)? {
            Taken::New(run) => (run, false),
            Taken::Again(run) => (run, true),
            Taken::ForOther => {
                let what = format!("the Idempotency-Key `{key}` was used for another request");
                return Err(Refusal::new(RefusalKind::Conflict, what));
            }
        };
    if is_replayed && room.store().head(run).await.is_ok() {
        return Ok(Started { run, is_replayed });
    }
    // Whoever took the key was killed before there was a run, or is at it right now.
    let session = room.session();
    match launched(&session, &workflow, (input, order), Some(run)).await {
        Ok(run) => Ok(Started { run, is_replayed }),
        Err(error) => {
            if !is_replayed {
                keys.give_back(&key);
            }
            Err(refused_in(room.store().path())(error))
        }
    }
}

fn checked(workflow: &Listed, input: Option<Value>) -> Answer<Value> {
    let schema = workflow.input.as_ref();
    let input = match input {
        Some(input) => input,
        None => assemble(schema, Given::default()).map_err(refused)?,
    };
    let Some(schema) = schema else { return Ok(input) };
    launch::check(&workflow.name, Some(schema), &input).map_err(refused)?;
    Ok(input)
}

async fn launched(
    session: &Session,
    workflow: &Listed,
    (input, order): (Value, Order),
    run: Option<RunId>,
) -> Result<RunId> {
    let place = WorkspaceArgs {
        workspace: order.workspace.kind,
        workspace_id: order.workspace.id,
        base: order.workspace.base,
        allow_setup: false,
    };
    let agents: Vec<String> =
        order.agents.iter().map(|(agent, other)| format!("{agent}={other}")).collect();
    let launch = async {
        let location = session.location()?;
        let project =
            location.project_path().map_err(|error| CommandError::failed(error.to_string()))?;
        let order = launch::Order {
            files: files_of_project(project, workflow.input.as_ref(), &input)?,
            agents: {
                check_scenarios(project, &order.agents)?;
                agents::replacements(session, &workflow.agents, &agents, project)?
            },
            workflow,
            run,
            input,
            place: &place,
            is_detached: true,
        };
        launch::launch(session, order).await
    };
    Ok(launch.await?.run)
}

/// The files that an input names. They have to be in the project: whoever asks from afar is given nothing else.
fn files_of_project(
    project: &Path,
    schema: Option<&Value>,
    input: &Value,
) -> Result<Vec<FileInput>> {
    let found = files(schema, input, project)?;
    let root = project.canonicalize()?;
    let outside = found.iter().find(|file| !is_inside(&root, &file.path));
    match outside {
        None => Ok(found),
        Some(file) => Err(CommandError::usage(format!(
            "`{}`: {} is not in the project",
            file.property,
            file.path.display()
        ))
        .hint("copy it into the project, and name it there")
        .field(format!("/input/{}", file.property))),
    }
}

fn is_inside(root: &Path, path: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| path.starts_with(root))
}

/// Scenarios are files too.
fn check_scenarios(project: &Path, agents: &BTreeMap<String, String>) -> Result<()> {
    let root = project.canonicalize()?;
    let files = agents.iter().filter_map(|(agent, other)| Some((agent, other.split_once(':')?.1)));
    for (agent, file) in files {
        if !is_inside(&root, &root.join(file)) {
            let what = format!("`{agent}`: there is no file `{file}` in the project");
            return Err(CommandError::usage(what)
                .hint("copy the scenario into the project")
                .field(format!("/agents/{agent}")));
        }
    }
    Ok(())
}
