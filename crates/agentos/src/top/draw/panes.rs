//! What is known of the selected run: its steps, and the end of its log.

use agentos_store::records::StepRecord;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line as Cells;
use ratatui::widgets::Paragraph;

use super::{Look, block};
use crate::terminal::duration;
use crate::terminal::mark;
use crate::terminal::paint::Tone;
use crate::terminal::text::Line;
use crate::top::board::{Board, Detail};
use crate::top::style::cells;

/// The steps, and before them what somebody should know at once.
pub(super) fn steps(frame: &mut Frame<'_>, area: Rect, board: &Board, look: &Look) {
    let name = board.selected().map_or("no run", |found| &found.run.run_id);
    let block = block(name, look);
    let room = usize::from(block.inner(area).height);
    let lines = board.detail().map(|detail| about(detail, room, look)).unwrap_or_default();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn about(detail: &Detail, room: usize, look: &Look) -> Vec<Cells<'static>> {
    let run = &detail.run.run;
    let mut lines: Vec<Line> = Vec::new();
    for question in &detail.questions {
        lines.push(Line::of(Tone::Warning, "asks  ").with(Tone::Strong, &question.text));
    }
    let error = run.error.as_ref().and_then(|error| error.get("message")?.as_str());
    lines.extend(error.map(|error| Line::of(Tone::Bad, "error  ").with(Tone::Plain, error)));
    let branch = run.branch_name.as_ref();
    lines.extend(branch.map(|branch| Line::of(Tone::Faint, "branch  ").with(Tone::Plain, branch)));
    lines.truncate(room / 2);
    // The latest steps tell most; of those before, how many there are.
    let left = room.saturating_sub(lines.len());
    let all = &detail.run.steps;
    let hidden = if all.len() > left { all.len() + 1 - left.max(1) } else { 0 };
    if hidden > 0 && left > 0 {
        let text = format!("{} {hidden} steps before", look.paint.ellipsis());
        lines.push(Line::of(Tone::Faint, &text));
    }
    lines.extend(all.iter().skip(hidden).map(|step| line(step, look)));
    lines.iter().map(|line| cells(line, look.paint)).collect()
}

fn line(step: &StepRecord, look: &Look) -> Line {
    let (tone, sign) = mark::of_step(step.status, look.paint);
    let taken = step.started_at.map(|at| step.completed_at.unwrap_or(look.now).0 - at.0);
    let mut line = Line::of(tone, &format!("{sign} "))
        .with(Tone::Faint, &format!("{:>2}  ", step.step_number))
        .with(Tone::Plain, &step.name);
    if let Some(taken) = taken {
        line.push(Tone::Faint, &format!("  {}", duration::span(taken)));
    }
    if step.superseded {
        line.push(Tone::Faint, "  superseded");
    }
    if step.attempt_number > 1 {
        line.push(Tone::Warning, &format!("  attempt {}", step.attempt_number));
    }
    line
}

/// The log, from so many lines before its end.
pub(super) fn log(frame: &mut Frame<'_>, area: Rect, board: &Board, (back, look): (usize, &Look)) {
    let name = board.selected().map_or("", |found| &found.run.run_id);
    let title = if back > 0 {
        format!("log of {name}, {back} lines back")
    } else {
        format!("log of {name}")
    };
    let block = block(&title, look);
    let room = usize::from(block.inner(area).height);
    let all = board.detail().map_or(&[][..], |detail| &detail.log);
    let end = all.len().saturating_sub(back);
    let begin = end.saturating_sub(room);
    let mut lines: Vec<Cells<'static>> =
        all[begin..end].iter().map(|line| cells(line, look.paint)).collect();
    if all.is_empty() {
        lines.push(cells(&Line::of(Tone::Faint, "nothing was logged yet"), look.paint));
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
