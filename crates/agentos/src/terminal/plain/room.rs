//! Waits that are tried again every few seconds, and are not told each time.
//!
//! Those for room on the disk are told when they begin, when what is in the way changes, and when they are over; those for a tool
//! that signals end, when they begin. What such a tool said last may differ from try to try.

use std::collections::HashMap;

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_store::projection::{WaitKind, Waiting};
use agentos_store::records::RunRecord;

use super::super::FamilyView;
use super::super::text::harmless;
use super::News;

/// How long a wait has to be gone before it is over, in milliseconds: while it is tried again a run does not wait.
const TRY_MS: i64 = 3_000;

/// The waits that were told and are not over.
#[derive(Default)]
pub(super) struct RoomWaits {
    room: HashMap<RunId, RoomWait>,
    /// When the wait for a tool has begun that was told last. It stays the same however often it is tried again.
    tools: HashMap<RunId, Timestamp>,
}

struct RoomWait {
    /// What was in the way when it was told last.
    why: String,
    /// When the run was first seen not to wait.
    gone_at: Option<Timestamp>,
}

impl RoomWaits {
    /// What is new about the waits of a family.
    pub(super) fn news(&mut self, view: &FamilyView, now: Timestamp) -> Vec<News> {
        let run = &view.run.run;
        let is_for_room = |waiting: &&Waiting| waiting.kind == WaitKind::Disk;
        let mut news: Vec<News> = match run.waiting.as_ref().filter(is_for_room) {
            Some(waiting) => self.waits(run, waiting, now),
            None => self.is_gone(run, now),
        }
        .into_iter()
        .collect();
        news.extend(run.waiting.as_ref().and_then(|waiting| self.waits_for_tool(run, waiting)));
        news.extend(view.children.iter().flat_map(|child| self.news(child, now)));
        news
    }

    fn waits(&mut self, run: &RunRecord, waiting: &Waiting, now: Timestamp) -> Option<News> {
        let why = waiting.why.as_deref().map(|why| format!(": {}", harmless(why)));
        let why = why.unwrap_or_default();
        let at = match self.room.get_mut(&run.id) {
            None => waiting.since,
            Some(told) => {
                told.gone_at = None;
                if is_about_the_same(&told.why, &why) {
                    return None;
                }
                now
            }
        };
        let news = News::of(run, at, format!("waits for room on the disk{why}"));
        self.room.insert(run.id, RoomWait { why, gone_at: None });
        Some(news)
    }

    /// The next attempt at a step, which has no reason of its own, is told with the step.
    fn waits_for_tool(&mut self, run: &RunRecord, waiting: &Waiting) -> Option<News> {
        let why = waiting.why.as_deref().filter(|_| waiting.kind == WaitKind::Retry)?;
        let told = self.tools.insert(run.id, waiting.since);
        let is_new = told != Some(waiting.since);
        is_new
            .then(|| News::of(run, waiting.since, format!("waits to try again: {}", harmless(why))))
    }

    fn is_gone(&mut self, run: &RunRecord, now: Timestamp) -> Option<News> {
        let told = self.room.get_mut(&run.id)?;
        let at = *told.gone_at.get_or_insert(now);
        let is_over = run.waiting.is_some() || run.completed_at.is_some();
        if !is_over && now.0.saturating_sub(at.0) < TRY_MS {
            return None;
        }
        self.room.remove(&run.id);
        let at = run.completed_at.map_or(at, |end| end.min(at));
        Some(News::of(run, at, "goes on: there is room on the disk"))
    }
}

/// Whether two texts say the same, but for numbers that differ by a tenth at most.
fn is_about_the_same(one: &str, other: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split_whitespace().map(|word| word.trim_matches([',', ';']).to_owned()).collect()
    };
    let (one, other) = (words(one), words(other));
    let is_near = |one: &str, other: &str| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= one.abs() / 10.0,
        _ => one == other,
    };
    one.len() == other.len() && one.iter().zip(&other).all(|(one, other)| is_near(one, other))
}
