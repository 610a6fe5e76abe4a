//! Figures for machines that watch: what is in the databases, and how the server is doing.

mod text;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentos_store::sqlite::Figures;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use tokio::sync::Mutex;
use tokio::time::Instant;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::refusals::Refuses;
use super::unreadable::Missing;
use crate::access::may::{May, Read};
use crate::problem::Problem;
use crate::state::AppState;

/// How long figures of databases are told again: some of them are counted row by row.
const FRESH: Duration = Duration::from_secs(10);

/// The figures that were told last, and when.
pub(crate) type Told = Arc<Mutex<Option<(Instant, String)>>>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// Figures in the text format of Prometheus
#[utoipa::path(get, path = "/metrics", operation_id = "getMetrics", tag = "health",
    responses((status = 200, description = "The figures.", body = String, content_type = "text/plain"), Refuses),
)]
async fn metrics(
    State(state): State<AppState>,
    _: May<Read>,
) -> Result<impl IntoResponse, Problem> {
    let mut told = state.figures.lock().await;
    let text = match &*told {
        Some((at, text)) if at.elapsed() < FRESH => text.clone(),
        _ => {
            let text = figures(&state).await;
            *told = Some((Instant::now(), text.clone()));
            text
        }
    };
    drop(told);
    let groups = state.view().sources().iter().map(|source| source.store.commit_groups()).collect();
    let own = text::of_this_process(&state.traffic.answered(), state.live.figures(), groups);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text + &own))
}

/// What is in the databases that can be read; the others are counted.
async fn figures(state: &AppState) -> String {
    let view = state.view();
    let (mut readable, mut missing) = (0, Missing::of(&view));
    let mut all = Figures::default();
    let mut disk = 0;
    for source in view.sources() {
        let more = match source.store.figures().await {
            Ok(more) => more,
            Err(error) => {
                missing.add(source, &error);
                continue;
            }
        };
        readable += 1;
        disk += size_of(source.path());
        add(&mut all.runs, more.runs);
        add(&mut all.steps, more.steps);
        add(&mut all.workspaces, more.workspaces);
        all.queue += more.queue;
        all.commits += more.commits;
        all.cost_usd += more.cost_usd;
        all.artifact_bytes += more.artifact_bytes;
        all.step_durations.add(&more.step_durations);
        for (workflow, durations) in more.run_durations {
            all.run_durations.entry(workflow).or_default().add(&durations);
        }
        let (one, other) = (all.tokens, more.tokens);
        all.tokens = (one.0 + other.0, one.1 + other.1, one.2 + other.2);
    }
    text::of_databases(&all, (readable, missing.count()), disk)
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
