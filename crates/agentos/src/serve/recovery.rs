//! What became of the runs that were under way when nobody was here: one line for each.

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::held::Held;
use agentos_store::projection::WorkflowStatus;
use agentos_store::records::{Records as _, RunQuery, RunRecord};
use agentos_store::sqlite::OwnerLife;
use agentos_store::store::Store as _;

use super::room::Room;
use crate::error::Result;
use crate::terminal::wait;
use crate::workspace;

/// Most runs that are told of one by one.
const TOLD: usize = 100;

/// Sees to the runs of a project that have not ended, before somebody attends to them.
pub(super) async fn recover(room: &Room) -> Result<Vec<String>> {
    let query = RunQuery {
        statuses: vec![WorkflowStatus::Pending, WorkflowStatus::Running],
        limit: TOLD,
        with_total: true,
        ..RunQuery::default()
    };
    let listing = room.store().query_runs(query).await?;
    let held = Held::of(room.store().path()).all();
    let mut lines = Vec::new();
    for run in &listing.runs {
        let is_held = held.contains(&run.id);
        lines.push(format!("{}: {}", run.run_id, becomes(room, run, is_held).await));
    }
    let more = listing.total.unwrap_or(0).saturating_sub(lines.len() as u64);
    if more > 0 {
        lines.push(format!("and {more} more that have not ended"));
    }
    Ok(lines)
}

async fn becomes(room: &Room, run: &RunRecord, is_held: bool) -> String {
    let owner = room.store().head(run.id).await.ok().and_then(|head| head.owner);
    match owner.map(|owner| room.store().owner_life(owner)) {
        Some(OwnerLife::Alive { pid: Some(pid) }) => {
            return format!("is being run by process {pid}");
        }
        Some(OwnerLife::Alive { pid: None }) => {
            return "is being run by a process in another container".to_owned();
        }
        Some(OwnerLife::Dead) | None => {}
    }
    if is_held {
        return format!("was stopped; `agentos resume {}` goes on", run.run_id);
    }
    // Whoever had it may have been killed; what it waits for is the same.
    if let Some(waiting) = &run.waiting {
        return wait::words(waiting, SystemClock.now());
    }
    if let Err(error) = workspace::ensure(&room.session(), room.store(), run).await {
        return format!("can't go on: {}", error.message);
    }
    match (&run.current_step, run.interrupted) {
        (Some(step), true) => format!("was interrupted at step {}; it goes on", step.name),
        (None, true) => "was interrupted; it goes on".to_owned(),
        (_, false) => "begins".to_owned(),
    }
}
