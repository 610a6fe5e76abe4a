//! Workspaces: which there are, what would be lost with one, and what is done to it.

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::refusals::{OfRun, Refuses, Sent};
use crate::access::may::{Admin, May, Read};
use crate::asked::{Asked, Given, TheRun};
use crate::documents::{
    Backup, CleanRequest, PAGING, Page, Paging, RestoreRequest, Unreadable, Verdict, Workspace,
    WorkspaceDetail,
};
use crate::house::NamedWorkspace;
use crate::house::errors::{
    CleanError, DiffError, ListWorkspacesError, RestoreError, ShowWorkspaceError,
};
use crate::problem::Problem;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(clean))
        .routes(routes!(restore))
        .routes(routes!(diff))
}

/// List workspaces
#[utoipa::path(get, path = "/api/workspaces", operation_id = "listWorkspaces", tag = "workspaces",
    params(
        ("projectId" = Option<Uuid>, Query, description = "Only those of this project."),
        ("all" = Option<bool>, Query, description = "Also those that are gone."),
        Paging
    ),
    responses((status = 200, description = "The workspaces.", body = Page<Workspace>), Refuses<ListWorkspacesError>),
)]
async fn list(
    State(state): State<AppState>,
    _: May<Read>,
    asked: Asked,
) -> Result<Json<Page<Value>>, Problem> {
    asked.only(&[&["projectId", "all"], &PAGING[..]].concat())?;
    let project = asked.parsed("projectId", "a project's id")?;
    let all = asked.flag("all")?.unwrap_or(false);
    let (items, unreadable) = state.house.workspaces(project, all).await?;
    let unreadable = unreadable.into_iter().map(Unreadable::from).collect();
    Ok(Json(Page { unreadable, ..Page::of(items, &asked)? }))
}

impl FromRequestParts<AppState> for NamedWorkspace {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let asked = Asked::from_request_parts(parts, state).await?;
        asked.only(&["projectId"])?;
        let project = asked.parsed("projectId", "a project's id")?;
        let named = Path::<String>::from_request_parts(parts, state).await;
        let Path(id) = named.map_err(|error| Problem::bad_request(error.body_text()))?;
        Ok(Self { id, project })
    }
}

/// Show one workspace, with its size and what would be lost with it
#[utoipa::path(get, path = "/api/workspaces/{id}", operation_id = "getWorkspace", tag = "workspaces",
    params(
        ("id" = String, Path, description = "The workspace's id."),
        ("projectId" = Option<Uuid>, Query, description = "The project whose workspace is meant, where several have one of this id."),
    ),
    responses((status = 200, description = "The workspace.", body = WorkspaceDetail), Refuses<ShowWorkspaceError>),
)]
async fn show(
    State(state): State<AppState>,
    _: May<Read>,
    named: NamedWorkspace,
) -> Result<Json<Value>, Problem> {
    Ok(Json(state.house.workspace(named).await?))
}

/// What became of a workspace.
#[derive(Debug, serde::Serialize, ToSchema)]
pub(crate) struct Cleaned {
    /// Which one.
    workspace_id: String,
    /// Whether it is gone.
    is_removed: bool,
    /// What was in it.
    verdict: Option<Verdict>,
    /// The backup that was made of it.
    backup: Option<Backup>,
    /// The branch that has its commits.
    branch: Option<String>,
    /// Why it is still there.
    error: Option<String>,
}

/// Remove a workspace
///
/// Refused (409) if something would be lost. By force, that is backed up first.
#[utoipa::path(post, path = "/api/workspaces/{id}/clean", operation_id = "cleanWorkspace", tag = "workspaces",
    params(
        ("id" = String, Path, description = "The workspace's id."),
        ("projectId" = Option<Uuid>, Query, description = "The project whose workspace is meant, where several have one of this id."),
    ),
    request_body = Option<CleanRequest>,
    responses((status = 200, description = "It is gone.", body = Cleaned), Refuses<(Sent, CleanError)>),
)]
async fn clean(
    State(state): State<AppState>,
    _: May<Admin>,
    named: NamedWorkspace,
    Given(given): Given<CleanRequest>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(state.house.clean(named, given.force).await?))
}

/// A workspace that is back.
#[derive(Debug, serde::Serialize, ToSchema)]
pub(crate) struct Restored {
    /// Which one.
    workspace_id: String,
    /// Where it is: where it was.
    path: String,
    /// What it was brought back from.
    backup: Backup,
}

/// Bring a workspace back from a backup, at the identical path
#[utoipa::path(post, path = "/api/workspaces/{id}/restore", operation_id = "restoreWorkspace", tag = "workspaces",
    params(
        ("id" = String, Path, description = "The workspace's id."),
        ("projectId" = Option<Uuid>, Query, description = "The project whose workspace is meant, where several have one of this id."),
    ),
    request_body = Option<RestoreRequest>,
    responses((status = 200, description = "It is back.", body = Restored), Refuses<(Sent, RestoreError)>),
)]
async fn restore(
    State(state): State<AppState>,
    _: May<Admin>,
    named: NamedWorkspace,
    Given(given): Given<RestoreRequest>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(state.house.restore(named, given.backup).await?))
}

/// Files that differ.
#[derive(Debug, serde::Serialize, ToSchema)]
pub(crate) struct Difference {
    /// The run's short name.
    run_id: String,
    /// The step, if it is about one.
    step: Option<u32>,
    /// The run that it is compared with. Always null here.
    against: Option<String>,
    /// How many files differ.
    files_changed: u64,
    /// How many lines there are that were not.
    insertions: u64,
    /// How many lines there were that are not.
    deletions: u64,
    /// The files, or the first of them.
    files: Vec<ChangedFile>,
    /// Whether there are more.
    truncated: bool,
    /// The difference as text, or its beginning.
    text: Option<String>,
    /// Whether the text goes on.
    text_truncated: bool,
}

/// A file that differs.
#[derive(Debug, serde::Serialize, ToSchema)]
pub(crate) struct ChangedFile {
    /// Where it is. It ends with `/` if it is a folder with a repository of its own, of which nothing more is known.
    path: String,
    /// Where it was, if it has another name now.
    from: Option<String>,
    /// How many lines there are that were not.
    insertions: u64,
    /// How many lines there were that are not.
    deletions: u64,
    /// Whether it has no lines.
    binary: bool,
}

/// Show what a run, or one of its steps, has done to the files
#[utoipa::path(get, path = "/api/executions/{id}/diff", operation_id = "getDiff", tag = "executions",
    params(
        ("id" = String, Path, description = "The run: its id, or its short name."),
        ("step" = Option<String>, Query, description = "Only what this step has changed: its number, or its name."),
    ),
    responses((status = 200, description = "What differs.", body = Difference), Refuses<(OfRun, DiffError)>),
)]
async fn diff(
    State(state): State<AppState>,
    _: May<Read>,
    asked: Asked,
    TheRun(run): TheRun,
) -> Result<Json<Value>, Problem> {
    asked.only(&["step"])?;
    let step = asked.one("step")?.map(str::to_owned);
    Ok(Json(state.house.diff(run, step).await?))
}
