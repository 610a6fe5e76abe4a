//! The line at the bottom, and what opens over the rest when something is asked.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line as Cells;
use ratatui::widgets::{Clear, Paragraph, Wrap};

use super::{Look, block};
use crate::terminal::paint::Tone;
use crate::terminal::text::Line;
use crate::top::board::{Board, Mode};
use crate::top::style::cells;

const KEYS: [(&str, &str); 9] = [
    ("up/down", "select"),
    ("enter", "log"),
    ("a", "answer"),
    ("c", "cancel"),
    ("/", "filter"),
    ("s", "sort"),
    ("?", "keys"),
    ("q", "quit"),
    ("pgup/pgdn, g/G", "far"),
];

pub(super) fn draw(frame: &mut Frame<'_>, (body, foot): (Rect, Rect), board: &Board, look: &Look) {
    match board.mode {
        Mode::Cancel => cancel(frame, body, board, look),
        Mode::Answer(number) => answer(frame, body, board, (number, look)),
        Mode::Help => help(frame, body, look),
        Mode::Browse | Mode::Filter | Mode::Log(_) => {}
    }
    let line = match (board.mode, &board.message) {
        (Mode::Filter, _) => Line::of(Tone::Strong, "filter: ")
            .with(Tone::Plain, &board.filter)
            .with(Tone::Faint, "_   enter keeps it, esc clears it"),
        (Mode::Log(_), _) => keys(&[("up/down", "scroll"), ("esc", "back")]),
        (Mode::Cancel, _) => keys(&[("y", "cancel the run"), ("any other key", "leave it")]),
        (Mode::Answer(_), _) => {
            keys(&[("y", "approve"), ("n", "deny"), ("tab", "next"), ("esc", "back")])
        }
        (Mode::Help, _) => keys(&[("any key", "back")]),
        (Mode::Browse, Some(message)) => message.clone(),
        (Mode::Browse, None) => keys(&KEYS[..8]),
    };
    frame.render_widget(Paragraph::new(cells(&line.indented(1), look.paint)), foot);
}

fn keys(keys: &[(&str, &str)]) -> Line {
    let mut line = Line::default();
    for (key, word) in keys {
        line.push(Tone::Strong, key);
        line.push(Tone::Faint, &format!(" {word}   "));
    }
    line
}

/// A window in the middle.
fn window(frame: &mut Frame<'_>, area: Rect, title: &str, (lines, look): (Vec<Line>, &Look)) {
    let width = area.width.saturating_sub(4).min(72);
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2).min(area.height);
    let x = area.x + (area.width.saturating_sub(width)) / 2;
    let y = area.y + (area.height.saturating_sub(height)) / 2;
    let area = Rect { x, y, width, height };
    let lines: Vec<Cells<'static>> = lines.iter().map(|line| cells(line, look.paint)).collect();
    let text = Paragraph::new(lines).wrap(Wrap { trim: false }).block(block(title, look));
    frame.render_widget(Clear, area);
    frame.render_widget(text, area);
}

fn cancel(frame: &mut Frame<'_>, area: Rect, board: &Board, look: &Look) {
    let Some(found) = board.selected() else { return };
    let lines = vec![
        Line::of(Tone::Strong, &found.run.run_id)
            .with(Tone::Faint, &format!("  {}", found.worktree)),
        Line::default(),
        Line::of(Tone::Plain, "Cancel it? Whatever it has started is ended."),
    ];
    window(frame, area, "cancel", (lines, look));
}

fn answer(frame: &mut Frame<'_>, area: Rect, board: &Board, (number, look): (usize, &Look)) {
    let Some(detail) = board.detail() else { return };
    let Some(question) = detail.questions.get(number) else { return };
    let mut lines = vec![Line::of(Tone::Strong, &question.text), Line::default()];
    lines.extend(question.changes());
    let count = detail.questions.len();
    let of = if count > 1 { format!(", {} of {count}", number + 1) } else { String::new() };
    window(frame, area, &format!("{} asks{of}", detail.run.run.run_id), (lines, look));
}

fn help(frame: &mut Frame<'_>, area: Rect, look: &Look) {
    let line = |(key, word): &(&str, &str)| {
        Line::of(Tone::Strong, &format!("{key:>16}  ")).with(Tone::Plain, word)
    };
    window(frame, area, "keys", (KEYS.iter().map(line).collect(), look));
}
