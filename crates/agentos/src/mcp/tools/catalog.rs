//! What can be started here, and where runs work.

use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{Deed, Scene, Tool};
use crate::commands::workflows;
use crate::commands::workspace::list;
use crate::error::Result;
use crate::mcp::answer::Answer;

/// `list_workflows`
pub(super) struct ListWorkflows;

/// Nothing is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

impl Tool for ListWorkflows {
    const NAME: &'static str = "list_workflows";
    const TITLE: &'static str = "List workflows";
    const DESCRIPTION: &'static str = "Lists the workflows that can be started here, each with its description, its file and the \
        JSON Schema of its input. Templates that can't be used are told of beside. The same document as `agentos workflows \
        --json`.";
    const DEED: Deed = Deed::Reads;
    type Arguments = Nothing;

    async fn call(scene: &Scene, _: Nothing) -> Result<Answer> {
        Answer::document(&workflows::document(&workflows::found(&scene.session)))
    }
}

/// `list_workspaces`
pub(super) struct ListWorkspaces;

/// Which of them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Which {
    /// Also those that are gone.
    all: bool,
}

impl Tool for ListWorkspaces {
    const NAME: &'static str = "list_workspaces";
    const TITLE: &'static str = "List workspaces";
    const DESCRIPTION: &'static str = "Lists the workspaces in which runs work: id, kind (worktree, clone, jj), status, path, branch \
        and base. Do not work in one that is in use by a run. The same document as `agentos workspace list --json`.";
    const DEED: Deed = Deed::Reads;
    type Arguments = Which;

    async fn call(scene: &Scene, which: Which) -> Result<Answer> {
        Answer::document(&list::document(&list::rows(&scene.session, which.all).await?))
    }
}
