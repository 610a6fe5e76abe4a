//! What a run says while it works: the lines of its log file, a few times a second, to whoever listens.
//!
//! They are no part of the run's log, so nothing is promised about them: who comes late or is slow misses some. Everything
//! is in the file. Lines of agents are among them as far as whoever drives the run writes them down.

use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_store::folder::LogReader;
use agentos_store::store::Store as _;
use agentos_store::unified::Found;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::sleep;

use super::batch::text;
use super::bounds::{PROGRESS, PROGRESS_BYTES};
use super::hub::HubRef;
use crate::house::House;

/// How many lines are read at a time.
const LINES: usize = 1_000;

/// After how many looks without news it is asked whether there can be any.
const SILENT_LOOKS: u32 = 20;

/// Reads what the run says until nobody listens, or the run has ended.
pub(super) async fn read(hub: HubRef, house: Arc<dyn House>, found: Found) {
    let run = found.run.id;
    let mut reader = open(&*house, &found).await;
    if let Some(reader) = &mut reader
        && let Err(error) = reader.skip_to_end()
    {
        tracing::debug!(%run, %error, "a log can't be read from its end");
    }
    let mut silent = 0;
    loop {
        sleep(PROGRESS).await;
        let is_over = silent % SILENT_LOOKS == 0 && has_ended(&found).await;
        if reader.is_none() {
            reader = open(&*house, &found).await;
        }
        let (lines, left) = next_lines(reader.take()).await;
        reader = left;
        let Some(hub) = hub.upgrade() else { return };
        if !hub.is_read_on(run, is_over && lines.is_empty()) {
            return;
        }
        silent = if lines.is_empty() { silent + 1 } else { 1 };
        if !lines.is_empty() {
            hub.tell_progress(run, &appended(run, &lines).into());
        }
    }
}

async fn open(house: &dyn House, found: &Found) -> Option<LogReader> {
    house.open_log(found.clone(), None).await.ok().flatten().map(LogReader::of)
}

async fn has_ended(found: &Found) -> bool {
    let head = found.source.store.head(found.run.id).await;
    head.map_or(true, |head| head.standing.is_ended())
}

/// The next lines, and the reader if it can go on.
async fn next_lines(reader: Option<LogReader>) -> (Vec<String>, Option<LogReader>) {
    let Some(mut reader) = reader else { return (Vec::new(), None) };
    let read = tokio::task::spawn_blocking(move || {
        let lines = reader.next_lines(LINES);
        (lines, reader)
    });
    match read.await {
        Ok((Ok(lines), reader)) => (lines, Some(reader)),
        _ => (Vec::new(), None),
    }
}

/// The message about these lines: the latest, if they are too many.
fn appended(run: RunId, lines: &[String]) -> String {
    #[derive(Serialize)]
    struct Appended<'a> {
        r#type: &'static str,
        execution_id: RunId,
        ephemeral: bool,
        data: Lines<'a>,
    }
    #[derive(Serialize)]
    struct Lines<'a> {
        lines: Vec<&'a RawValue>,
        skipped: usize,
    }
    let mut room = PROGRESS_BYTES;
    let mut latest = Vec::new();
    for line in lines.iter().rev() {
        let Some(left) = room.checked_sub(line.len()) else { break };
        room = left;
        // What is no line of ours is not passed on.
        latest.extend(serde_json::from_str::<&RawValue>(line));
    }
    latest.reverse();
    let data = Lines { skipped: lines.len() - latest.len(), lines: latest };
    text(&Appended { r#type: "workflow:log:appended", execution_id: run, ephemeral: true, data })
}
