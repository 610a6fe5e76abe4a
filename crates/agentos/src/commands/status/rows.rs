//! Runs as rows of a table.

use std::collections::BTreeSet;

use agentos_core::time::Timestamp;
use agentos_store::projection::Waiting;
use agentos_store::records::RunRecord;
use agentos_store::unified::UnifiedRun;

use crate::terminal::mark::tone_of_run;
use crate::terminal::paint::Tone;
use crate::terminal::table::{Column, Table};
use crate::terminal::text::Line;
use crate::terminal::{duration, moment, wait};

/// Whoever attends to a run notices within so many milliseconds that its time has come.
const NOTICED_MS: i64 = 2_000;

/// A table of runs; with their worktrees if that tells anything.
pub(super) fn table<'a>(
    runs: impl IntoIterator<Item = &'a UnifiedRun> + Clone,
    now: Timestamp,
) -> Table {
    let worktrees: BTreeSet<&str> = runs.clone().into_iter().map(|run| &*run.worktree).collect();
    let has_several = worktrees.len() > 1 || worktrees.first().is_some_and(|only| *only != "main");
    let mut columns = vec![
        Column::precious("RUN"),
        Column::precious("STATUS"),
        Column::text("STEP"),
        Column::text("STARTED"),
        Column::number("TIME"),
    ];
    if has_several {
        columns.insert(1, Column::text("WORKTREE"));
    }
    let mut table = Table::new(&columns);
    for found in runs {
        let mut cells = row(&found.run, now);
        if has_several {
            cells.insert(1, Line::of(Tone::Plain, &found.worktree));
        }
        table.row(cells);
    }
    table
}

/// Whether the time of a wait has passed without anybody noticing: nobody attends to the run.
pub(crate) fn is_overdue(waiting: &Waiting, now: Timestamp) -> bool {
    waiting.until.is_some_and(|until| until.0.saturating_add(NOTICED_MS) < now.0)
}

/// How a run stands, in a few words.
pub(crate) fn status_line(run: &RunRecord, now: Timestamp) -> Line {
    if let Some(other) = &run.elsewhere {
        return Line::of(Tone::Faint, &other.to_string());
    }
    match (run.interrupted, &run.waiting) {
        (true, _) => Line::of(Tone::Warning, "INTERRUPTED"),
        (false, Some(waiting)) if is_overdue(waiting, now) => Line::of(Tone::Warning, "OVERDUE"),
        (false, Some(waiting)) => Line::of(tone_of_run(run.status), run.status.as_str())
            .with(Tone::Faint, &format!(" ({})", wait::words(waiting, now))),
        (false, None) => Line::of(tone_of_run(run.status), run.status.as_str()),
    }
}

fn row(run: &RunRecord, now: Timestamp) -> Vec<Line> {
    let step = run.current_step.as_ref().map(|step| step.name.clone()).unwrap_or_default();
    let started = run.started_at.map(|at| moment::seen_from(at, now)).unwrap_or_default();
    let taken = run.started_at.map(|at| run.completed_at.unwrap_or(now).0 - at.0);
    let taken = taken.map(duration::span).unwrap_or_default();
    vec![
        Line::of(Tone::Strong, &run.run_id),
        status_line(run, now),
        Line::of(Tone::Plain, &step),
        Line::of(Tone::Faint, &started),
        Line::of(Tone::Plain, &taken),
    ]
}
