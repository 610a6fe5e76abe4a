//! Figures for machines that watch: what is in the databases, and how the server is doing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use agentos_store::registry::Scope;
use agentos_store::sqlite::Figures;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use tokio::sync::Mutex;
use tokio::time::Instant;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::refusals::Lists;
use crate::access::Caller;
use crate::problem::Problem;
use crate::state::AppState;

/// How long figures are told again: some of them are counted row by row.
const FRESH: Duration = Duration::from_secs(10);

/// The figures that were told last, and when.
pub(crate) type Told = Arc<Mutex<Option<(Instant, String)>>>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// Figures in the text format of Prometheus
#[utoipa::path(get, path = "/metrics", operation_id = "getMetrics", tag = "health",
    responses((status = 200, description = "The figures.", body = String, content_type = "text/plain"), Lists),
)]
async fn metrics(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<impl IntoResponse, Problem> {
    caller.may(Scope::Read)?;
    let mut told = state.figures.lock().await;
    let text = match &*told {
        Some((at, text)) if at.elapsed() < FRESH => text.clone(),
        _ => {
            let text = figures(&state).await?;
            *told = Some((Instant::now(), text.clone()));
            text
        }
    };
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}

async fn figures(state: &AppState) -> Result<String, Problem> {
    let view = state.view();
    let mut all = Figures::default();
    let mut disk = 0;
    for source in view.sources() {
        let more = source.store.figures().await?;
        disk += size_of(source.path());
        add(&mut all.runs, more.runs);
        add(&mut all.steps, more.steps);
        add(&mut all.workspaces, more.workspaces);
        all.queue += more.queue;
        all.commits += more.commits;
        all.cost_usd += more.cost_usd;
        all.artifact_bytes += more.artifact_bytes;
        all.run_duration =
            (all.run_duration.0 + more.run_duration.0, all.run_duration.1 + more.run_duration.1);
        let (one, other) = (all.tokens, more.tokens);
        all.tokens = (one.0 + other.0, one.1 + other.1, one.2 + other.2);
    }
    Ok(written(&all, (view.sources().len(), view.unreadable().len()), disk))
}

fn add(all: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    more.into_iter().for_each(|(name, count)| *all.entry(name).or_default() += count);
}

/// The database with its log.
fn size_of(path: &std::path::Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let size = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |found| found.len());
    size(path) + size(log.as_ref())
}

/// One figure, with what it is.
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, what: &str) {
        // Writing to a text can't fail.
        let _written = writeln!(self.0, "# HELP {name} {what}\n# TYPE {name} {kind}");
    }

    fn one(&mut self, name: &str, kind: &str, what: &str, value: impl std::fmt::Display) {
        self.head(name, kind, what);
        let _written = writeln!(self.0, "{name} {value}");
    }

    fn each(&mut self, name: &str, label: &str, what: &str, values: &BTreeMap<String, u64>) {
        self.head(name, "gauge", what);
        for (key, value) in values {
            let _written = writeln!(self.0, "{name}{{{label}=\"{key}\"}} {value}");
        }
    }
}

fn written(all: &Figures, (databases, unreadable): (usize, usize), disk: u64) -> String {
    let mut text = Text(String::new());
    let version = env!("CARGO_PKG_VERSION");
    text.head("agentos_info", "gauge", "The program.");
    let _written = writeln!(text.0, "agentos_info{{version=\"{version}\"}} 1");
    text.each("agentos_runs", "status", "Runs, by status.", &all.runs);
    text.one("agentos_queue", "gauge", "Runs that have not ended.", all.queue);
    let (sum, count) = all.run_duration;
    text.head("agentos_run_duration_seconds", "summary", "How long runs took that have ended.");
    let seconds = Duration::from_millis(sum.try_into().unwrap_or(0)).as_secs_f64();
    let _written = writeln!(
        text.0,
        "agentos_run_duration_seconds_sum {seconds}\nagentos_run_duration_seconds_count {count}"
    );
    text.each("agentos_steps", "status", "Steps, by status.", &all.steps);
    text.one("agentos_commits_total", "counter", "Commits of turns that are kept.", all.commits);
    let (read, wrote, cached) = all.tokens;
    text.head("agentos_agent_tokens_total", "counter", "Tokens of agents.");
    for (kind, tokens) in [("input", read), ("output", wrote), ("cached", cached)] {
        let _written = writeln!(text.0, "agentos_agent_tokens_total{{kind=\"{kind}\"}} {tokens}");
    }
    let cost = all.cost_usd;
    text.one("agentos_agent_cost_usd_total", "counter", "What agents cost, as far as known.", cost);
    text.each("agentos_workspaces", "status", "Workspaces, by status.", &all.workspaces);
    text.one("agentos_artifact_bytes", "gauge", "Bytes of artifacts.", all.artifact_bytes);
    text.one("agentos_database_bytes", "gauge", "Bytes of databases.", disk);
    text.one("agentos_databases", "gauge", "Databases that can be read.", databases);
    text.one("agentos_databases_unreadable", "gauge", "Databases that can't.", unreadable);
    text.0
}
