//! Runs: which there are, and one with everything about it.

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::list::RunCursor;
use agentos_store::projection::{WaitKind, WorkflowStatus};
use agentos_store::records::{Paging, Records as _, RunDetail, RunQuery, Sort};
use agentos_store::since;
use agentos_store::unified::{Found, UnifiedListing, UnifiedRun, UnifiedView};
use axum::extract::{Path, State};
use serde::Serialize;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::refusals::{OfRun, Refuses};
use crate::access::may::{May, Read};
use crate::asked::Asked;
use crate::documents::{Execution, ExecutionDetail, Page, Unreadable, Written};
use crate::house::errors::OperationsError;
use crate::problem::Problem;
use crate::state::AppState;

/// How many runs are on a page if nobody says, and at most.
const USUAL: u64 = 50;
const MOST: u64 = 1_000;

/// How far anybody pages by number.
const PAGES: u64 = 1_000_000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show))
}

/// The parameters of the listing.
const PARAMETERS: &[&str] = &[
    "status",
    "waiting",
    "workflowId",
    "projectId",
    "worktreeId",
    "since",
    "q",
    "sort",
    "page",
    "limit",
    "after",
];

/// List runs, the latest first
#[utoipa::path(get, path = "/api/executions", operation_id = "listExecutions", tag = "executions",
    params(
        ("status" = Option<Vec<String>>, Query, description = "Only runs of these statuses: repeated, or with commas."),
        ("waiting" = Option<Vec<String>>, Query, description = "Only runs that wait for something of these kinds (`approval`, `signal`, `child`, `slot`, `disk`, `retry`, `timer`): repeated, or with commas."),
        ("workflowId" = Option<String>, Query, description = "Only runs of this workflow: its id, or its name."),
        ("projectId" = Option<uuid::Uuid>, Query, description = "Only runs of this project."),
        ("worktreeId" = Option<String>, Query, description = "Only runs of this worktree: its id (`main`), name or path."),
        ("since" = Option<String>, Query, description = "Only runs that started then or later, or have not started: a moment (RFC 3339), a date, or `30m`, `2h`, `3d`."),
        ("q" = Option<String>, Query, description = "Only runs in whose names or branch this text occurs."),
        ("sort" = Option<String>, Query, description = "`-started_at` (default) or `started_at`. What has not started counts as newest."),
        ("page" = Option<u64>, Query, minimum = 1, maximum = 1_000_000, description = "Which page, counted from 1."),
        ("limit" = Option<u64>, Query, minimum = 1, maximum = 1_000, description = "How many on a page; 50 if left out."),
        ("after" = Option<String>, Query, description = "Those behind this place: the `next` of another page, which new runs do not shift. Instead of `page`."),
    ),
    responses(
        (status = 200, description = "One page of runs.", body = Page<Execution>),
        Refuses
    )
)]
async fn list(
    State(state): State<AppState>,
    _: May<Read>,
    asked: Asked,
) -> Result<Written<Page<UnifiedRun>>, Problem> {
    let view = state.view();
    let query = query(&view, &asked)?;
    let page = match query.paging {
        Paging::Page(page) => page,
        Paging::After(_) => 1,
    };
    let limit = query.limit as u64;
    let UnifiedListing { runs, total, next, unreadable } = view.query_runs(query).await?;
    let unreadable = unreadable.into_iter().map(Unreadable::from);
    Ok(Written(Page {
        items: runs,
        page,
        limit,
        total: total.unwrap_or(0),
        next: next.map(|next| next.0),
        unreadable: unreadable.collect(),
    }))
}

fn query(view: &UnifiedView, asked: &Asked) -> Result<RunQuery, Problem> {
    asked.only(PARAMETERS)?;
    let statuses = asked.all("status").map(status_of).collect::<Result<_, _>>()?;
    let waiting = asked.all("waiting").map(kind_of).collect::<Result<_, _>>()?;
    let sort = match asked.one("sort")? {
        None | Some("-started_at" | "-startedAt") => Sort::LatestFirst,
        Some("started_at" | "startedAt") => Sort::OldestFirst,
        Some(_) => {
            return Err(Problem::parameter("sort", "has to be `started_at` or `-started_at`"));
        }
    };
    let page = asked.number("page", 1..=PAGES)?;
    let paging = match (asked.one("after")?, page) {
        (Some(_), Some(_)) => {
            return Err(Problem::parameter("after", "can't be given together with `page`"));
        }
        (Some(after), None) => Paging::After(RunCursor(after.to_owned())),
        (None, page) => Paging::Page(page.unwrap_or(1)),
    };
    Ok(RunQuery {
        statuses,
        waiting,
        sort,
        paging,
        limit: usize::try_from(asked.number("limit", 1..=MOST)?.unwrap_or(USUAL)).unwrap_or(50),
        with_total: true,
        ..which(view, asked)?
    })
}

/// Whose runs, and which of them: what lists and sums are asked with alike.
pub(super) fn which(view: &UnifiedView, asked: &Asked) -> Result<RunQuery, Problem> {
    let meant = asked.one("worktreeId")?;
    let worktree = meant.and_then(|meant| view.worktrees().find(meant));
    let since = asked.one("since")?.map(|text| {
        since::parse(text).map_err(|known| Problem::parameter("since", "is no moment").hint(known))
    });
    // Every repository has a `main`; by its name or its path one of them is meant.
    let named = worktree.filter(|found| found.id.as_deref() != meant);
    let project: Option<Uuid> = asked.parsed("projectId", "a project's id")?;
    let project = project.or_else(|| named.and_then(|found| found.project));
    Ok(RunQuery {
        workflow: asked.one("workflowId")?.map(str::to_owned),
        projects: project.into_iter().collect(),
        // One that is gone may still have runs.
        worktree: worktree.and_then(|found| found.id.clone()).or_else(|| meant.map(str::to_owned)),
        since: since.transpose()?.map(|since| since.moment(SystemClock.now())),
        text: asked.one("q")?.map(str::to_owned),
        ..RunQuery::default()
    })
}

fn kind_of(text: &str) -> Result<WaitKind, Problem> {
    WaitKind::parse(&text.to_lowercase()).ok_or_else(|| {
        let names = WaitKind::ALL.map(WaitKind::as_str).join(", ");
        Problem::parameter("waiting", format!("has to be some of {names}, and not `{text}`"))
    })
}

fn status_of(text: &str) -> Result<WorkflowStatus, Problem> {
    WorkflowStatus::parse(&text.to_uppercase().replace('-', "_")).ok_or_else(|| {
        let names: Vec<&str> = WorkflowStatus::ALL.iter().map(|status| status.as_str()).collect();
        let names = names.join(", ");
        Problem::parameter("status", format!("has to be some of {names}, and not `{text}`"))
    })
}

pub(super) fn document(of: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(of)
        .map_err(|error| Problem::internal(format!("a document can't be written: {error}")))
}

/// Show one run with everything about it
#[utoipa::path(get, path = "/api/executions/{id}", operation_id = "getExecution", tag = "executions",
    params(("id" = String, Path, description = "The run: its id, or its short name.")),
    responses(
        (status = 200, description = "The run.", body = ExecutionDetail),
        Refuses<(OfRun, OperationsError)>
    )
)]
async fn show(
    State(state): State<AppState>,
    _: May<Read>,
    Path(id): Path<String>,
    asked: Asked,
) -> Result<Written<Shown>, Problem> {
    asked.only(&[])?;
    let found = state.find_run(&id).await?;
    shown(&state, found).await.map(Written)
}

/// A run as every interface shows it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    detail: RunDetail,
    /// What is under way.
    operations: Value,
    /// Which workflow has changed since it failed, and what to retry.
    changed: Value,
}

async fn shown(state: &AppState, found: Found) -> Result<Shown, Problem> {
    let mut detail = found.source.store.run_detail(found.run.id).await?;
    state.view().hosts().tell(&mut detail.run);
    let run = &detail.run;
    // What goes on in another database is under way there.
    let is_over = run.completed_at.is_some() || run.elsewhere.is_some();
    let has_failed = matches!(run.status, WorkflowStatus::Failed | WorkflowStatus::TimedOut);
    let changed = match has_failed {
        true => state.house.changed(found.clone()).await?,
        false => Value::Null,
    };
    let operations = match is_over {
        true => Value::Array(Vec::new()),
        false => state.house.operations(found).await?,
    };
    Ok(Shown { detail, operations, changed })
}

/// The document of a run.
pub(super) async fn detail(state: &AppState, found: Found) -> Result<Value, Problem> {
    document(&shown(state, found).await?)
}
