//! A new run, left to the background executor.

use std::collections::BTreeMap;
use std::path::Path;

use agentos_core::value::Value;
use agentos_store::records::Records as _;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{Deed, Scene, Tool};
use crate::error::{CommandError, Result};
use crate::inputs::{FileInput, files};
use crate::launch::{self, Order};
use crate::mcp::answer::Answer;
use crate::mcp::permission::Permission;
use crate::session::Session;
use crate::workspace::WorkspaceArgs;

/// `start_workflow`
pub(super) struct StartWorkflow;

/// What to start, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The workflow, by its name.
    workflow: String,
    /// Its input, as its schema says. Files are named relative to the folder this server was started in, and have to be in
    /// the project.
    input: Option<Value>,
    /// Where it works: auto, worktree, clone, jj, or none for the checkout itself. The workflow and the configuration decide
    /// if left out.
    workspace: Option<String>,
    /// The workspace to work in; made if there is none of this id.
    workspace_id: Option<String>,
    /// The commit that a new workspace is made from; that of the checkout if left out.
    base: Option<String>,
}

impl Tool for StartWorkflow {
    const NAME: &'static str = "start_workflow";
    const TITLE: &'static str = "Start a workflow";
    const DESCRIPTION: &'static str = "Starts a run of a workflow and answers at once with its document; it goes on in the \
        background, whatever becomes of this conversation. Follow it with `show_run` and `read_logs`. `list_workflows` tells what \
        each takes as input. Uncommitted changes of the checkout are not seen by a run in a workspace of its own.";
    const DEED: Deed = Deed::Acts(Permission::Run);
    type Arguments = Wanted;

    async fn call(scene: &Scene, wanted: Wanted) -> Result<Answer> {
        let session = &scene.session;
        let workflow = session.catalog.find(&wanted.workflow)?;
        session.catalog.twins(&wanted.workflow).iter().for_each(|twin| session.output.note(twin));
        let given = wanted.input.unwrap_or_default();
        let input = launch::accept(&workflow.name, workflow.input.as_ref(), given)?;
        let place = WorkspaceArgs {
            workspace: wanted.workspace,
            workspace_id: wanted.workspace_id,
            base: wanted.base,
            allow_setup: false,
        };
        let order = Order {
            files: files_of_project(session, workflow.input.as_ref(), &input)?,
            agents: BTreeMap::new(),
            workflow: &workflow,
            run: None,
            input,
            place: &place,
            is_detached: true,
        };
        let launched = launch::launch(session, order).await?;
        Answer::document(&launched.store.run_detail(launched.run).await?)
    }
}

/// The files that an input names. Agents are often kept in their project, and this server is not: it reads nothing for them
/// that is elsewhere.
fn files_of_project(
    session: &Session,
    schema: Option<&Value>,
    input: &Value,
) -> Result<Vec<FileInput>> {
    let folder = session.surroundings.cwd.clone().unwrap_or_default();
    let found = files(schema, input, &folder)?;
    let location = session.location()?;
    let project =
        location.project_path().map_err(|error| CommandError::failed(error.to_string()))?;
    let is_inside = |path: &Path, root: &Path| match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        _ => false,
    };
    let outside = found
        .iter()
        .find(|file| !is_inside(&file.path, project) && !is_inside(&file.path, &folder));
    match outside {
        Some(file) => Err(CommandError::refused(format!(
            "`{}`: {} is not in the project",
            file.property,
            file.path.display()
        ))
        .hint("copy it into the project, and name it there")),
        None => Ok(found),
    }
}
