//! The picture of a board, for a screen of any size.

mod list;
mod panes;
mod prompt;

use agentos_core::time::Timestamp;
use agentos_store::projection::WorkflowStatus;
use agentos_store::unified::UnifiedRun;
use jiff::tz::TimeZone;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line as Cells, Span};
use ratatui::widgets::{Block, BorderType, Borders, Padding};

use super::board::{Board, Mode};
use super::style::style;
use crate::terminal::moment;
use crate::terminal::paint::{Paint, Tone};

/// Below this there is only the list.
const LOW: u16 = 14;

/// Below this the log is not beside the steps.
const NARROW: u16 = 90;

/// How it is drawn.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub(crate) now: Timestamp,
    pub(crate) zone: TimeZone,
    pub(crate) paint: Paint,
}

/// Draws the whole screen.
pub(crate) fn draw(frame: &mut Frame<'_>, board: &Board, look: &Look) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(headline(board, look, head.width), head);
    match board.mode {
        Mode::Log(back) => panes::log(frame, body, board, (back, look)),
        _ if body.height < LOW => list::draw(frame, body, board, look),
        _ => {
            let below = (body.height * 2 / 5).clamp(6, 18);
            let [above, below] =
                Layout::vertical([Constraint::Min(0), Constraint::Length(below)]).areas(body);
            list::draw(frame, above, board, look);
            details(frame, below, board, look);
        }
    }
    prompt::draw(frame, (body, foot), board, look);
}

fn details(frame: &mut Frame<'_>, area: Rect, board: &Board, look: &Look) {
    if area.width < NARROW {
        return panes::steps(frame, area, board, look);
    }
    let [steps, log] =
        Layout::horizontal([Constraint::Percentage(45), Constraint::Percentage(55)]).areas(area);
    panes::steps(frame, steps, board, look);
    panes::log(frame, log, board, (0, look));
}

/// A frame around a part of the screen.
fn block<'a>(title: &str, look: &Look) -> Block<'a> {
    let faint = style(Tone::Faint, look.paint);
    let title = Span::styled(format!(" {title} "), style(Tone::Strong, look.paint));
    let block = Block::new()
        .padding(Padding::horizontal(1))
        .borders(Borders::ALL)
        .border_style(faint)
        .title(title);
    match look.paint.is_unicode() {
        true => block.border_type(BorderType::Rounded),
        false => block.border_set(ASCII),
    }
}

const ASCII: ratatui::symbols::border::Set<'static> = ratatui::symbols::border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// ` AgentOS  2 running  1 waiting … 12:03:05 `
fn headline(board: &Board, look: &Look, width: u16) -> Cells<'static> {
    let paint = look.paint;
    let name = style(Tone::Strong, paint).add_modifier(Modifier::REVERSED);
    let mut spans = vec![Span::styled(" AgentOS ", name)];
    let count = |is_it: &dyn Fn(&UnifiedRun) -> bool| {
        board.all().iter().filter(|found| is_it(found)).count()
    };
    let is = |status: WorkflowStatus| move |found: &UnifiedRun| found.run.status == status;
    let running = |found: &UnifiedRun| {
        let run = &found.run;
        is(WorkflowStatus::Running)(found)
            && run.waiting.is_none()
            && !run.interrupted
            && run.elsewhere.is_none()
    };
    let failed = |found: &UnifiedRun| {
        matches!(found.run.status, WorkflowStatus::Failed | WorkflowStatus::TimedOut)
    };
    let counts = [
        (count(&running), "running", Tone::Busy),
        (count(&|found| found.run.waiting.is_some()), "waiting", Tone::Warning),
        (count(&|found| found.run.interrupted), "interrupted", Tone::Warning),
        (count(&failed), "failed", Tone::Bad),
        (count(&is(WorkflowStatus::Completed)), "completed", Tone::Good),
    ];
    for (count, word, tone) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        spans.push(Span::styled(format!("  {count}"), style(tone, paint)));
        spans.push(Span::styled(format!(" {word}"), style(Tone::Faint, paint)));
    }
    if board.unreadable > 0 {
        let text = format!("  {} unreadable", board.unreadable);
        spans.push(Span::styled(text, style(Tone::Bad, paint)));
    }
    let clock = format!("{} ", moment::clock(look.now, &look.zone));
    let taken: usize = spans.iter().map(Span::width).sum::<usize>() + clock.len();
    if let Some(space) = usize::from(width).checked_sub(taken) {
        spans.push(Span::raw(" ".repeat(space)));
        spans.push(Span::styled(clock, style(Tone::Faint, paint)));
    }
    Cells::from(spans)
}
