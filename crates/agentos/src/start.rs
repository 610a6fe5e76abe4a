//! A new run: its ids, its place, its input files, and then the run itself.

use std::collections::BTreeMap;

use agentos_core::entry::{Entry, Home, RunStarted};
use agentos_core::id::{OwnerId, RunId};
use agentos_core::short_name::short_name;
use agentos_core::value::Value;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::workspaces::workspace_of;
use agentos_store::folder::RunFolder;
use agentos_store::place::Place;
use agentos_store::records::{Project, RecordError, Records as _, Workspace};
use agentos_store::run::{CreateError, NewRun};
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use agentos_workspace::identity::Identity;
use agentos_workspace::state::{Prepared, StateLocation};
use uuid::Uuid;

use crate::catalog::Listed;
use crate::error::{CommandError, Result};
use crate::inputs::FileInput;
use crate::workspace::Placed;

/// How many readable ids are tried.
const NAMES: u64 = 1_000;

/// What a run is made of.
pub(crate) struct NewRunRequest<'a> {
    pub(crate) workflow: &'a Listed,
    pub(crate) input: Value,
    pub(crate) files: Vec<FileInput>,
    /// Who works in the place of which agent.
    pub(crate) agents: BTreeMap<String, String>,
    /// Who drives it from the start; if nobody does, whoever finds it.
    pub(crate) owner: Option<OwnerId>,
    /// What it is called.
    pub(crate) names: RunNames,
    /// Where it works.
    pub(crate) placed: &'a Placed,
}

/// What a run is called: made before there is a workspace for it, and that before there is the run.
#[derive(Debug, Clone)]
pub(crate) struct RunNames {
    pub(crate) run: RunId,
    pub(crate) run_id: String,
    choice: u64,
}

impl RunNames {
    /// Names that no run has yet.
    pub(crate) async fn new(store: &SqliteStore, workflow: &str) -> Result<Self> {
        Self::of(RunId(Uuid::now_v7()), store, workflow).await
    }

    /// Names for a run whose id is decided. One that is there already keeps its own.
    pub(crate) async fn of(run: RunId, store: &SqliteStore, workflow: &str) -> Result<Self> {
        for choice in 0..NAMES {
            let run_id = short_name(run, workflow, choice);
            match store.find_run(&run_id).await {
                Err(RecordError::NotFound { .. }) => return Ok(Self { run, run_id, choice }),
                Ok(found) if found == run => return Ok(Self { run, run_id, choice }),
                Ok(_) | Err(RecordError::Ambiguous { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(no_name(workflow))
    }
}

fn no_name(workflow: &str) -> CommandError {
    CommandError::failed(format!("no readable id is left for a run of `{workflow}`"))
}

/// Creates a run in the checkout, and answers with its id.
pub(crate) async fn create(
    store: &SqliteStore,
    prepared: &Prepared,
    request: NewRunRequest<'_>,
) -> Result<RunId> {
    let run = request.names.run;
    let folder = RunFolder::new(&prepared.project_path, run);
    let creating = folder.begin().map_err(|error| CommandError::failed(error.to_string()))?;
    let context = folder.path().join("context");
    let (mut input, mut given_files) = (request.input, BTreeMap::new());
    for file in &request.files {
        given_files.insert(file.property.clone(), file.told(&prepared.project_path));
        file.copy_into(&context, &mut input)?;
    }
    let definition = register(store, prepared, request.workflow).await?;
    let place = Place {
        definition: Some(definition.0),
        definition_version: Some(definition.1),
        context_dir: Some(context.to_string_lossy().into_owned()),
        log_file_path: Some(folder.log_file().to_string_lossy().into_owned()),
        ..place_of(prepared, request.placed)
    };
    let context_path = context.to_string_lossy().into_owned();
    let home = Home { context_path, ..home_of(prepared, request.placed) };
    let start = request.workflow.start(run, input, SystemClock.now())?;
    let home = Home { agents: request.agents, given_files, ..home };
    let start = RunStarted { home: home.into(), ..start };
    create_named(store, start, (place, request.owner), request.names.choice).await?;
    drop(creating);
    Ok(run)
}

/// Where whatever is started from this checkout belongs.
fn place_of(prepared: &Prepared, placed: &Placed) -> Place {
    let root = &prepared.project_path;
    let workspace = placed.workspace.as_ref();
    Place {
        project: Some(prepared.identity.project),
        worktree_id: Some(prepared.identity.worktree.clone()),
        work_dir: Some(root.to_string_lossy().into_owned()),
        workspace_dir: Some(placed.path(root).to_string_lossy().into_owned()),
        workspace_id: workspace.map(|workspace| workspace.id.to_string()),
        branch_name: workspace.and_then(|workspace| workspace.branch.clone()),
        ..Place::default()
    }
}

/// Where a run of this checkout works. What it is called is not said yet.
fn home_of(prepared: &Prepared, placed: &Placed) -> Home {
    let root = &prepared.project_path;
    Home {
        project_id: prepared.identity.project.to_string(),
        project_path: root.to_string_lossy().into_owned(),
        workspace_path: placed.path(root).to_string_lossy().into_owned(),
        setup: placed.setup.clone(),
        ..Home::default()
    }
}

/// Creates it under the first name that is free, from this choice on.
async fn create_named(
    store: &SqliteStore,
    start: RunStarted,
    (place, owner): (Place, Option<OwnerId>),
    first: u64,
) -> Result<()> {
    for choice in first..NAMES {
        let run_id = short_name(start.run, start.workflow.as_str(), choice);
        let home = Home { run_id, ..(*start.home).clone() };
        let first = RunStarted { home: home.into(), ..start.clone() };
        let new = NewRun {
            run: start.run,
            at: SystemClock.now(),
            first: Entry::RunStarted(first),
            history: None,
            place: place.clone(),
            owner,
        };
        match store.create_run(new).await {
            Ok(_) => return Ok(()),
            Err(CreateError::NameTaken { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(no_name(start.workflow.as_str()))
}

/// The database may know another project at this path: then the git directory was made anew, and the history was not. The
/// checkout goes on as that project.
pub(crate) async fn adopt(
    store: &SqliteStore,
    location: &StateLocation,
    prepared: Prepared,
) -> Result<Prepared> {
    let path = prepared.project_path.to_string_lossy();
    let known = store.projects().await?.into_iter().find(|known| known.path == path);
    let other = known.filter(|known| known.id != prepared.identity.project);
    let checkout = location.checkout.as_ref().ok().and_then(Option::as_ref);
    let (Some(other), Some(checkout)) = (other, location.maker.as_ref().or(checkout)) else {
        return Ok(prepared);
    };
    let identity = Identity::adopt(checkout, other.id)
        .map_err(|error| CommandError::failed(error.to_string()))?;
    Ok(Prepared { identity, ..prepared })
}

/// Writes project and definition down, if they are not. The definition's id, and its version.
pub(crate) async fn register(
    store: &SqliteStore,
    prepared: &Prepared,
    workflow: &Listed,
) -> Result<(Uuid, u32)> {
    register_project(store, prepared).await?;
    let (now, project) = (SystemClock.now(), prepared.identity.project);
    let new = workflow.kept(project, now);
    let version = store.put_definition(new).await?;
    let definitions = store.definitions(Some(project)).await?;
    let found = definitions.into_iter().find(|definition| definition.name == workflow.name);
    let id = found.map(|definition| definition.id).ok_or_else(|| {
        CommandError::failed(format!("the definition of `{}` is gone", workflow.name))
    })?;
    Ok((id, version))
}

/// Writes the project down, if it is not.
pub(crate) async fn register_project(store: &SqliteStore, prepared: &Prepared) -> Result<()> {
    let (now, project) = (SystemClock.now(), prepared.identity.project);
    let path = prepared.project_path.to_string_lossy().into_owned();
    let name = prepared.project_path.file_name().map(|name| name.to_string_lossy().into_owned());
    let known = store.projects().await?;
    if known.iter().any(|known| known.id == project && known.path == path) {
        return Ok(());
    }
    let created_at =
        known.iter().find(|known| known.id == project).map_or(now, |known| known.created_at);
    let name = name.unwrap_or_else(|| path.clone());
    store.put_project(Project { id: project, name, path, created_at, updated_at: now }).await?;
    take_workspaces(store, prepared).await
}

/// Workspaces outlive the project that they were made for. Those that were made from this checkout are its own again.
async fn take_workspaces(store: &SqliteStore, prepared: &Prepared) -> Result<()> {
    let all = store.workspaces().await?.into_iter();
    let of_nobody = all.filter(|row| row.project_id.is_none()).filter(|row| {
        workspace_of(row).is_some_and(|found| found.repo_root == prepared.project_path)
    });
    for row in of_nobody {
        let (expected, project_id) = (row.version, Some(prepared.identity.project));
        match store.put_workspace(Workspace { project_id, ..row }, expected).await {
            // Whoever was faster works for this project as well.
            Ok(_) | Err(RecordError::Outdated { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
