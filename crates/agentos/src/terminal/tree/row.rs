//! One row of the tree as a line.

use agentos_core::time::Timestamp;
use agentos_store::projection::{StepStatus, WaitKind, WorkflowStatus};
use agentos_store::records::{RunRecord, StepRecord};

use super::super::paint::Tone;
use super::super::text::{Line, brief};
use super::super::{duration, mark, session, title, wait};
use super::Frame;
use super::outline::{Row, What, name_of_phase};

/// The row as it is written, however wide.
pub(super) fn line(row: &Row<'_>, frame: &Frame) -> Line {
    let line = Line::of(Tone::Plain, &indent(row.depth, frame));
    match row.what {
        What::Run(run) => run_line(line, run, frame),
        What::Phase(path) => line.with(Tone::Strong, &name_of_phase(path)),
        What::Step { step, run, digits } => step_line(line, step, (run, digits), frame),
        What::Session(known, doing) => session::pushed(line.with(Tone::Plain, "  "), known, doing),
        What::Why(message) => line.with(Tone::Plain, "  ").with(Tone::Bad, &brief(message)),
    }
}

/// Two columns a level, but never more than a third of the screen.
pub(super) fn indent(depth: usize, frame: &Frame) -> String {
    let most = frame.size.map_or(64, |size| size.width / 3);
    " ".repeat((depth * 2).min(most))
}

fn run_line(mut line: Line, run: &RunRecord, frame: &Frame) -> Line {
    line.push(Tone::Strong, &run.run_id);
    if run.run_id.rsplit_once('-').is_none_or(|(start, _)| start != run.workflow) {
        line.push(Tone::Plain, "  ");
        line.push(Tone::Plain, &run.workflow);
    }
    line.push(Tone::Plain, "  ");
    line.push(mark::tone_of_run(run.status), run.status.as_str());
    let now = as_of(run, frame);
    detail(&mut line, elapsed(run.started_at, (run.completed_at, run.duration), now));
    let is_open = matches!(run.status, WorkflowStatus::Pending | WorkflowStatus::Running);
    if let Some(other) = &run.elsewhere {
        line.push(Tone::Warning, &format!("  {other}"));
    } else if run.interrupted && is_open {
        line.push(Tone::Warning, "  interrupted");
    } else if let Some(waiting) =
        run.waiting.as_ref().filter(|_| is_open && !wait::is_in_a_step(run))
    {
        line.push(Tone::Warning, &format!("  {}", wait::words(waiting, frame.now)));
    }
    line
}

fn step_line(
    mut line: Line,
    step: &StepRecord,
    (run, digits): (&RunRecord, usize),
    frame: &Frame,
) -> Line {
    let (tone, sign) = mark::of_step(step.status, frame.paint);
    line.push(tone, sign);
    line.push(Tone::Faint, &format!(" {:>digits$} ", step.step_number));
    line.push(Tone::Plain, &step.name);
    if step.attempt_number > 1 {
        let attempt = format!("  (attempt {}/{})", step.attempt_number, step.max_attempts);
        line.push(Tone::Warning, &attempt);
    }
    if step.status != StepStatus::Skipped {
        let now = as_of(run, frame);
        detail(&mut line, elapsed(step.started_at, (step.completed_at, step.duration), now));
    }
    if step.superseded {
        line.push(Tone::Faint, "  superseded");
    }
    match (&run.waiting, step.status) {
        // The run that it waits for stands below it.
        (Some(waiting), _) if waiting.kind == WaitKind::Child && wait::is_in(run, step) => {}
        (Some(waiting), _) if wait::is_in(run, step) => {
            line.push(Tone::Warning, &format!("  {}", wait::words(waiting, frame.now)));
        }
        (_, StepStatus::Retrying) => line.push(Tone::Warning, "  another attempt follows"),
        (_, StepStatus::Skipped) => {
            if let Some(reason) = title::skip_reason(step) {
                line.push(Tone::Faint, &format!("  {reason}"));
            }
        }
        _ => {}
    }
    line
}

/// Nothing has gone on in an interrupted run since it last changed.
const fn as_of(run: &RunRecord, frame: &Frame) -> Timestamp {
    if run.interrupted { run.updated_at } else { frame.now }
}

fn detail(line: &mut Line, elapsed: Option<String>) {
    if let Some(elapsed) = elapsed {
        line.push(Tone::Faint, &format!("  {elapsed}"));
    }
}

/// How long it took, or has taken so far.
fn elapsed(
    from: Option<Timestamp>,
    (to, known): (Option<Timestamp>, Option<i64>),
    now: Timestamp,
) -> Option<String> {
    let measured = || Some(to.unwrap_or(now).0.saturating_sub(from?.0));
    known.or_else(measured).map(duration::span)
}
