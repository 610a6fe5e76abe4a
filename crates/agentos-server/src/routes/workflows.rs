//! Workflows: which there are, one with its source and how its runs went, and a run of it.

use agentos_store::records::{Definition, Records as _};
use agentos_store::sqlite::SqliteStore;
use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::deeds::created;
use super::executions::document;
use super::refusals::{OfWorkflow, Refuses, Sent};
use super::unreadable::{Missing, naming};
use crate::access::may::{Admin, May, Read, Run};
use crate::asked::{Asked, Given, Named, Nothing};
use crate::documents::{
    ExecuteRequest, ExecutionDetail, PAGING, Page, Paging, Workflow, WorkflowDetail,
};
use crate::house::errors::{ExecuteError, ListProjectsError, OperationsError, RemoveWorkflowError};
use crate::house::{Order, Place};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// The longest key, in bytes.
const LONGEST: usize = 255;

/// The header under whose value something is asked for once.
struct Key(Option<String>);

impl Key {
    const NAME: &'static str = "Idempotency-Key";
}

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(key) = parts.headers.get(Self::NAME) else { return Ok(Self(None)) };
        let key = key.to_str().ok().filter(|key| (1..=LONGEST).contains(&key.len()));
        let wrong = || {
            let what = format!("has to be 1 to {LONGEST} characters of printable ASCII");
            Problem::parameter(Self::NAME, what)
        };
        Ok(Self(Some(key.ok_or_else(wrong)?.to_owned())))
    }
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, remove))
        .routes(routes!(execute))
}

/// A workflow as the API shows it.
fn shown(definition: &Definition) -> Result<Value, Problem> {
    let mut shown = document(definition)?;
    let input = definition.config.as_ref().and_then(|config| config.get("input")).cloned();
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("input".to_owned(), input.unwrap_or_default());
    }
    Ok(shown)
}

/// A workflow, and the database that it is in.
struct Known {
    store: SqliteStore,
    definition: Definition,
    /// Whether it is one of a project that is served. Those of other worktrees are only looked at.
    is_served: bool,
}

/// Every workflow in the databases of the projects that are served; and databases that can't tell theirs.
async fn all(state: &AppState) -> Result<(Vec<Known>, Missing), Problem> {
    let served: Vec<Uuid> = state.house.projects().await?.iter().filter_map(id_in).collect();
    let mut found: Vec<Known> = Vec::new();
    let view = state.view();
    let mut missing = Missing::of(&view);
    for source in view.sources() {
        let definitions = source.store.definitions(None).await.unwrap_or_else(|error| {
            missing.add(source, &error);
            Vec::new()
        });
        for mut definition in definitions {
            let is_served = served.contains(&definition.project_id);
            definition.project_id = view.hosts().of(definition.project_id);
            definition.is_active &= is_served;
            let is_known = found.iter().any(|known| known.definition.id == definition.id);
            if !is_known && served.contains(&definition.project_id) {
                found.push(Known { store: source.store.clone(), definition, is_served });
            }
        }
    }
    found.sort_by(|Known { definition: one, .. }, Known { definition: other, .. }| {
        (&one.name, one.project_id).cmp(&(&other.name, other.project_id))
    });
    Ok((found, missing))
}

/// The workflow that somebody means, by its id or its name. Only ids mean workflows of worktrees that are not served: runs
/// refer to them.
fn meant((all, missing): (Vec<Known>, Missing), said: &str) -> Result<Known, Problem> {
    let is_meant = |Known { definition, is_served, .. }: &Known| {
        definition.id.to_string() == said || (*is_served && definition.name == said)
    };
    let mut meant: Vec<Known> = all.into_iter().filter(is_meant).collect();
    match (meant.pop(), meant.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => {
            let none = Named::WORKFLOW.not_seen(said, &missing.paths());
            let lists = || "`GET /api/workflows` lists them".to_owned();
            Err(Problem { hint: none.hint.clone().or_else(|| Some(lists())), ..none })
        }
        (Some(last), false) => {
            meant.push(last);
            let ids: Vec<String> =
                meant.iter().map(|found| found.definition.id.to_string()).collect();
            let detail = format!("several projects have a workflow `{said}`");
            Err(Problem::new(ProblemKind::AmbiguousWorkflow, detail)
                .hint(format!("name it by its id: {}", ids.join(", "))))
        }
    }
}

fn id_in(project: &Value) -> Option<Uuid> {
    project.get("id")?.as_str()?.parse().ok()
}

/// List workflows, by name
#[utoipa::path(get, path = "/api/workflows", operation_id = "listWorkflows", tag = "workflows",
    params(
        ("isActive" = Option<bool>, Query, description = "Only those that can be started, or only those that can't any more."),
        ("projectId" = Option<Uuid>, Query, description = "Only those of this project."),
        Paging
    ),
    responses((status = 200, description = "The workflows.", body = Page<Workflow>), Refuses<ListProjectsError>),
)]
async fn list(
    State(state): State<AppState>,
    _: May<Read>,
    asked: Asked,
) -> Result<Json<Page<Value>>, Problem> {
    asked.only(&[&["isActive", "projectId"], &PAGING[..]].concat())?;
    let is_active = asked.flag("isActive")?;
    let project: Option<Uuid> = asked.parsed("projectId", "a project's id")?;
    let is_wanted = |Known { definition: found, is_served, .. }: &&Known| {
        *is_served
            && is_active.is_none_or(|wanted| wanted == found.is_active)
            && project.is_none_or(|wanted| wanted == found.project_id)
    };
    let (all, missing) = all(&state).await?;
    let items = all.iter().filter(is_wanted).map(|found| shown(&found.definition));
    let page = Page::of(items.collect::<Result<_, _>>()?, &asked)?;
    Ok(Json(Page { unreadable: missing.listed(), ..page }))
}

/// Show one workflow with its source, its versions and how its runs went
#[utoipa::path(get, path = "/api/workflows/{id}", operation_id = "getWorkflow", tag = "workflows",
    params(("id" = String, Path, description = "The workflow: its id, or its name.")),
    responses((status = 200, description = "The workflow.", body = WorkflowDetail), Refuses<(OfWorkflow, ListProjectsError)>),
)]
async fn show(
    State(state): State<AppState>,
    _: May<Read>,
    _: Nothing,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let Known { store, definition, .. } = meant(all(&state).await?, &id)?;
    let named = naming(store.path());
    let versions = store.definition_versions(definition.id).await.map_err(&named)?;
    let current = versions.iter().find(|found| found.version == definition.version);
    let source = current.filter(|found| !found.source.is_empty());
    let source = source.map(|found| {
        serde_json::from_str(&found.source).unwrap_or_else(|_| Value::String(found.source.clone()))
    });
    let figures = store.definition_figures(definition.id).await.map_err(&named)?;
    let versions: Vec<Value> = versions
        .iter()
        .map(|found| {
            let created_at = agentos_store::moment::written(found.created_at);
            json!({ "version": found.version, "hash": found.hash, "author_version": found.author_version,
                "created_at": created_at })
        })
        .collect();
    let mut shown = shown(&definition)?;
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("source".to_owned(), source.unwrap_or_default());
        fields.insert("versions".to_owned(), versions.into());
        let statistics = json!({
            "runs": figures.runs.values().sum::<u64>(),
            "by_status": figures.runs,
            "average_duration": figures.average_duration,
            "last_started_at": figures.last_started_at.map(agentos_store::moment::written),
        });
        fields.insert("statistics".to_owned(), statistics);
    }
    Ok(Json(shown))
}

/// Remove a workflow that nobody can start any more and that has no runs
#[utoipa::path(delete, path = "/api/workflows/{id}", operation_id = "removeWorkflow", tag = "workflows",
    params(("id" = String, Path, description = "The workflow's id.")),
    responses((status = 204, description = "It is gone."), Refuses<RemoveWorkflowError>),
)]
async fn remove(
    State(state): State<AppState>,
    _: May<Admin>,
    _: Nothing,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    state.house.remove_workflow(Named::WORKFLOW.id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Start a run
///
/// It is driven in the background. Asked for twice with the same `Idempotency-Key`, it is started once: the second answer
/// is about the same run, also after a restart, and has the header `Idempotent-Replayed`.
#[utoipa::path(post, path = "/api/workflows/{id}/execute", operation_id = "executeWorkflow", tag = "workflows",
    params(
        ("id" = String, Path, description = "The workflow: its id, or its name."),
        ("Idempotency-Key" = Option<String>, Header, description = "A key of your own, up to 255 bytes."),
    ),
    request_body = Option<ExecuteRequest>,
    responses((status = 201, description = "The run.", body = ExecutionDetail,
        headers(("Location" = String, description = "Where it is."))), Refuses<(Sent, ExecuteError, OperationsError)>),
)]
async fn execute(
    State(state): State<AppState>,
    _: May<Run>,
    (Key(key), Nothing, Path(id)): (Key, Nothing, Path<String>),
    Given(given): Given<ExecuteRequest>,
) -> Result<Response, Problem> {
    let workspace = given.workspace.unwrap_or_default();
    let order = Order {
        workflow: id,
        project: given.project_id,
        input: given.input,
        workspace: Place { id: workspace.id, kind: workspace.kind, base: workspace.base },
        agents: given.agents,
        key,
    };
    let started = state.house.execute(order).await?;
    let mut response = created(&state, started.run).await?.into_response();
    if started.is_replayed {
        let replayed = HeaderValue::from_static("true");
        response.headers_mut().insert("idempotent-replayed", replayed);
    }
    Ok(response)
}
