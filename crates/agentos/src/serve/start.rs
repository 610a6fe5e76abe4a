//! A new run at somebody's request: which project, which workflow, and only once for each key.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_core::value::Value;
use agentos_server::house::errors::ExecuteError;
use agentos_server::house::{Order, Place, Started, Words};
use agentos_store::records::Records as _;
use agentos_store::store::Store as _;
use serde_json::json;
use uuid::Uuid;

use super::discovery;
use super::keys::{Keys, Taken};
use super::room::{Room, naming, naming_it};
use super::rooms::Rooms;
use crate::agents;
use crate::catalog::Listed;
use crate::error::{Cause, CommandError, Result};
use crate::inputs::{FileInput, files_within, is_inside};
use crate::launch;
use crate::session::Session;
use crate::workspace::{WorkspaceArgs, choose};

/// A workflow, and the project that it is in.
pub(super) struct Meant {
    pub(super) room: Arc<Room>,
    pub(super) name: String,
}

/// Which workflow is meant: by the id of its definition, or by its name. A project that can't be looked at is in the way only
/// if the workflow is in no other.
pub(super) async fn find(
    rooms: &Rooms,
    workflow: &str,
    project: Option<Uuid>,
) -> Result<Meant, ExecuteError> {
    let mut all = rooms.all();
    if let Some(project) = project {
        all.retain(|room| room.id == project);
        if all.is_empty() {
            if rooms.is_unserved(project) {
                let hidden = rooms.hidden("project", &project.to_string());
                return Err(ExecuteError::DatabaseUnusable(hidden.unwrap_or_default()));
            }
            let words = Words::field("/projectId", format!("there is no project `{project}`"));
            return Err(ExecuteError::WrongProject(words));
        }
    }
    let id: Option<Uuid> = workflow.parse().ok();
    let (mut found, mut trouble) = (Vec::new(), None);
    for room in all {
        let named = naming_it(room.store().path());
        let definitions = room.store().definitions(Some(room.id)).await.unwrap_or_else(|error| {
            trouble.get_or_insert(named(error.into()));
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
                if let Err(error) = discovery::look_again(&room).await {
                    trouble.get_or_insert(error);
                }
                room.session().catalog.find(workflow).ok().map(|one| one.name)
            }
            None => None,
        };
        found.extend(name.map(|name| Meant { room, name }));
    }
    match (found.pop(), found.is_empty()) {
        (Some(meant), true) => Ok(meant),
        (None, _) => {
            if let Some(trouble) = trouble {
                return Err(trouble.into());
            }
            if let Some(words) = rooms.hidden("workflow", workflow) {
                return Err(ExecuteError::DatabaseUnusable(words));
            }
            let words = Words::new(format!("there is no workflow `{workflow}`"));
            let lists = "`GET /api/workflows` lists what can be started";
            Err(ExecuteError::UnknownWorkflow(words.hint(lists)))
        }
        (Some(_), false) => {
            let what = format!("is needed: several projects have a workflow `{workflow}`");
            Err(ExecuteError::ProjectNeeded(Words::field("/projectId", what)))
        }
    }
}

/// Starts the run, or finds the one that was started under the same key.
pub(super) async fn start(meant: Meant, order: Order) -> Result<Started, ExecuteError> {
    let Meant { room, name } = meant;
    let key = order.key.as_ref().map(|key| Key::of(&room, key, &name, &order));
    // Whoever asks again gets the same run, also if it could not be started any more.
    if let Some(key) = &key
        && let Some(run) = key.run(&room).await?
    {
        return Ok(Started { run, is_replayed: true });
    }
    discovery::look_again(&room).await?;
    let session = room.session();
    let workflow = session.catalog.find(&name)?;
    let wanted = checked(&session, &workflow, &order)?;
    let started = match key {
        Some(key) => return once(&room, key, (workflow, wanted)).await,
        None => launched(&session, &workflow, wanted, None).await,
    };
    let run = started.map_err(naming_it(room.store().path()))?;
    Ok(Started { run, is_replayed: false })
}

/// A key, and what is asked for under it.
struct Key {
    keys: Keys,
    key: String,
    asked: String,
}

impl Key {
    fn of(room: &Room, key: &str, workflow: &str, order: &Order) -> Self {
        let Place { id, kind, base } = &order.workspace;
        // Several projects may share a database.
        let asked =
            json!([room.id, workflow, order.input, order.agents, id, kind, base]).to_string();
        Self { keys: Keys::of(room.store().path()), key: key.to_owned(), asked }
    }

    /// The run that was started under it, if there is one.
    async fn run(&self, room: &Room) -> Result<Option<RunId>, ExecuteError> {
        let known = self.keys.known(&self.key, self.asked.as_bytes());
        match known.map_err(CommandError::from)? {
            Some(Taken::Again(run)) if room.store().head(run).await.is_ok() => Ok(Some(run)),
            Some(Taken::ForOther) => Err(self.used_otherwise()),
            _ => Ok(None),
        }
    }

    fn used_otherwise(&self) -> ExecuteError {
        let what = format!("the Idempotency-Key `{}` was used for another request", self.key);
        let words = Words::new(what).hint("take another key, or send the same body as then");
        ExecuteError::KeyUsedOtherwise(words)
    }
}

/// Starts it once for this key.
async fn once(
    room: &Room,
    key: Key,
    (workflow, wanted): (Listed, Checked),
) -> Result<Started, ExecuteError> {
    let taken = key.keys.take(&key.key, key.asked.as_bytes(), RunId(Uuid::now_v7()));
    let (run, is_replayed) = match taken.map_err(CommandError::from)? {
        Taken::New(run) => (run, false),
        Taken::Again(run) => (run, true),
        Taken::ForOther => return Err(key.used_otherwise()),
    };
    if is_replayed && room.store().head(run).await.is_ok() {
        return Ok(Started { run, is_replayed });
    }
    // Whoever took the key was killed before there was a run, or is at it right now.
    let session = room.session();
    match launched(&session, &workflow, wanted, Some(run)).await {
        Ok(run) => Ok(Started { run, is_replayed }),
        Err(error) => {
            if !is_replayed {
                key.keys.give_back(&key.key);
            }
            Err(naming(room.store().path(), error).into())
        }
    }
}

/// What was asked for, as far as that can be right or wrong by itself.
struct Checked {
    input: Value,
    files: Vec<FileInput>,
    agents: BTreeMap<String, String>,
    place: WorkspaceArgs,
}

/// Checks everything, so that whoever asks is told of everything that is wrong at once.
fn checked(session: &Session, workflow: &Listed, order: &Order) -> Result<Checked> {
    let location = session.location()?;
    let project =
        location.project_path().map_err(|error| CommandError::failed(error.to_string()))?;
    let Place { id, kind, base } = order.workspace.clone();
    let place = WorkspaceArgs { workspace: kind, workspace_id: id, base, allow_setup: false };
    let input = checked_input(project, workflow, order.input.clone());
    let agents = checked_agents(session, project, (workflow, &order.agents));
    let understood = choose::understood(&place);
    match (input, agents, understood) {
        (Ok((input, files)), Ok(agents), Ok(_)) => Ok(Checked { input, files, agents, place }),
        (input, agents, understood) => {
            let wrong = [input.err(), understood.err(), agents.err()];
            Err(together(wrong.into_iter().flatten().collect()))
        }
    }
}

fn checked_input(
    project: &Path,
    workflow: &Listed,
    input: Option<Value>,
) -> Result<(Value, Vec<FileInput>)> {
    let schema = workflow.input.as_ref();
    let input = launch::accept(&workflow.name, schema, input.unwrap_or_default())?;
    let files = files_within(project, schema, &input)?;
    Ok((input, files))
}

fn checked_agents(
    session: &Session,
    project: &Path,
    (workflow, said): (&Listed, &BTreeMap<String, String>),
) -> Result<BTreeMap<String, String>> {
    check_scenarios(project, said)?;
    let pairs: Vec<String> = said.iter().map(|(agent, other)| format!("{agent}={other}")).collect();
    agents::replacements(session, &workflow.agents, &pairs, project)
}

/// One error that tells of all of them. There is at least one.
fn together(mut all: Vec<CommandError>) -> CommandError {
    if all.len() == 1 {
        return all.remove(0);
    }
    // What has nothing to do with the request comes first.
    if let Some(other) = all.iter().position(|error| error.fields.is_empty()) {
        return all.remove(other);
    }
    let messages: Vec<&str> = all.iter().map(|error| error.message.as_str()).collect();
    let hints: Vec<&str> = all.iter().filter_map(|error| error.api_hint.as_deref()).collect();
    let told =
        CommandError::usage(messages.join("; ")).because(Cause::Fields).hint(hints.join("; "));
    CommandError { fields: all.into_iter().flat_map(|error| error.fields).collect(), ..told }
}

async fn launched(
    session: &Session,
    workflow: &Listed,
    Checked { input, files, agents, place }: Checked,
    run: Option<RunId>,
) -> Result<RunId> {
    let place = &place;
    let order = launch::Order { workflow, run, input, files, agents, place, is_detached: true };
    Ok(launch::launch(session, order).await?.run)
}

/// Scenarios are files too: whoever asks from afar plays none but those of the project.
pub(crate) fn check_scenarios(project: &Path, agents: &BTreeMap<String, String>) -> Result<()> {
    let files = agents.iter().filter_map(|(agent, other)| Some((agent, other.split_once(':')?.1)));
    for (agent, file) in files {
        if !is_inside(project, &project.join(file)) {
            let what = format!("`{agent}`: there is no file `{file}` in the project");
            return Err(CommandError::usage(what)
                .because(Cause::OutsideProject)
                .hint("copy the scenario into the project")
                .field(format!("/agents/{agent}")));
        }
    }
    Ok(())
}
