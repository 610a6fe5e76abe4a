//! Projects: which are served, one more, one less.

use std::path::PathBuf;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::refusals::{OfProject, Refuses, Sent};
use super::unreadable::Missing;
use crate::access::may::{Admin, May, Read};
use crate::asked::{Asked, Given, Named, Nothing};
use crate::documents::{PAGING, Page, Paging, Project, ProjectRequest};
use crate::house::errors::{AddProjectError, ListProjectsError, RemoveProjectError};
use crate::problem::Problem;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list, add)).routes(routes!(show, remove))
}

/// List the projects that are served
#[utoipa::path(get, path = "/api/projects", operation_id = "listProjects", tag = "projects",
    params(Paging),
    responses((status = 200, description = "The projects.", body = Page<Project>), Refuses<ListProjectsError>),
)]
async fn list(
    State(state): State<AppState>,
    _: May<Read>,
    asked: Asked,
) -> Result<Json<Page<Value>>, Problem> {
    asked.only(&PAGING)?;
    Page::of(state.house.projects().await?, &asked).map(Json)
}

/// Serve one more project
///
/// Its templates are found, its runs are shown, and what is due is driven. It is served again after every start.
#[utoipa::path(post, path = "/api/projects", operation_id = "addProject", tag = "projects", request_body = ProjectRequest,
    responses(
        (status = 200, description = "It was served already.", body = Project),
        (status = 201, description = "It is served from now on.", body = Project,
            headers(("Location" = String, description = "Where it is."))),
        Refuses<(Sent, AddProjectError)>
    ),
)]
async fn add(
    State(state): State<AppState>,
    _: May<Admin>,
    _: Nothing,
    Given(given): Given<ProjectRequest>,
) -> Result<(StatusCode, [(header::HeaderName, String); 1], Json<Value>), Problem> {
    let path = PathBuf::from(&given.path);
    if !path.is_absolute() || given.path.contains('\0') {
        return Err(Problem::field("/path", "has to be an absolute path"));
    }
    let (project, is_new) = state.house.add_project(path).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let id = project.get("id").and_then(Value::as_str).unwrap_or_default();
    let location = [(header::LOCATION, format!("/api/projects/{id}"))];
    Ok((status, location, Json(project)))
}

/// Show one project
#[utoipa::path(get, path = "/api/projects/{id}", operation_id = "getProject", tag = "projects",
    params(("id" = String, Path, description = "The project's id.")),
    responses((status = 200, description = "The project.", body = Project), Refuses<(OfProject, ListProjectsError)>),
)]
async fn show(
    State(state): State<AppState>,
    _: May<Read>,
    _: Nothing,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let id = Named::PROJECT.id(&id)?.to_string();
    let all = state.house.projects().await?;
    let found = all.into_iter().find(|found| found.get("id").and_then(Value::as_str) == Some(&id));
    let missing = || Missing::of(&state.view()).paths();
    found.map(Json).ok_or_else(|| Named::PROJECT.not_seen(&id, &missing()))
}

/// Serve a project no more
///
/// With `purge=true` its runs are deleted too. Its checkout and its workspaces are never touched.
#[utoipa::path(delete, path = "/api/projects/{id}", operation_id = "removeProject", tag = "projects",
    params(
        ("id" = String, Path, description = "The project's id."),
        ("purge" = Option<bool>, Query, description = "Also delete its runs with their logs and artifacts."),
    ),
    responses((status = 204, description = "It is served no more."), Refuses<RemoveProjectError>),
)]
async fn remove(
    State(state): State<AppState>,
    _: May<Admin>,
    asked: Asked,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    asked.only(&["purge"])?;
    let purge = asked.flag("purge")?.unwrap_or(false);
    state.house.remove_project(Named::PROJECT.id(&id)?, purge).await?;
    Ok(StatusCode::NO_CONTENT)
}
