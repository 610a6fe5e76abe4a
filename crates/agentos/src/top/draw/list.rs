//! The list of runs.

use std::collections::BTreeSet;

use agentos_store::projection::{WaitKind, Waiting};
use agentos_store::records::RunRecord;
use agentos_store::unified::UnifiedRun;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};

use super::{Look, NARROW, block};
use crate::commands::status::{is_overdue, status_line};
use crate::terminal::paint::Tone;
use crate::terminal::text::{Line, width};
use crate::terminal::{duration, moment, wait};
use crate::top::board::Board;
use crate::top::style::{cells, mark, style};

/// The widest that names get.
const NAME: usize = 32;
const WORKTREE: usize = 22;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, board: &Board, look: &Look) {
    let shown = board.shown();
    let block = block(&heading(board, shown.len()), look);
    if shown.is_empty() {
        let words = match board.all().is_empty() {
            true => "no runs yet; `agentos run` starts one",
            false => "no run fits the filter",
        };
        let words = Line::of(Tone::Faint, words);
        return frame.render_widget(Paragraph::new(cells(&words, look.paint)).block(block), area);
    }
    let columns = Columns::of(&shown, area.width);
    let rows = shown.iter().map(|found| columns.row(found, look));
    let table = Table::new(rows, columns.widths())
        .header(columns.titles(look))
        .column_spacing(2)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(block);
    let mut state = TableState::new().with_selected(board.position());
    frame.render_stateful_widget(table, area, &mut state);
}

fn heading(board: &Board, shown: usize) -> String {
    let count = match (board.filter.is_empty(), board.total > board.all().len() as u64) {
        (false, _) => format!("{shown} of {} runs, filter `{}`", board.total, board.filter),
        (true, true) => format!("latest {shown} of {} runs", board.total),
        (true, false) if shown == 1 => "1 run".to_owned(),
        (true, false) => format!("{shown} runs"),
    };
    format!("{count}, {}", board.order.as_str())
}

/// How a run stands: what it waits for says more than that it runs.
fn standing(run: &RunRecord, look: &Look) -> Line {
    let is_attended = |waiting: &&Waiting| !run.interrupted && !is_overdue(waiting, look.now);
    match run.waiting.as_ref().filter(is_attended) {
        Some(waiting) => {
            let tone = if waiting.kind == WaitKind::Approval { Tone::Warning } else { Tone::Faint };
            Line::of(tone, &wait::words(waiting, look.now))
        }
        None => status_line(run, look.now),
    }
}

/// Which columns there is room for.
struct Columns {
    name: usize,
    worktree: Option<usize>,
    status: usize,
    has_start: bool,
}

impl Columns {
    fn of(shown: &[&UnifiedRun], room: u16) -> Self {
        let worktrees: BTreeSet<&str> = shown.iter().map(|run| &*run.worktree).collect();
        let widest = |of: &dyn Fn(&UnifiedRun) -> usize, least: usize, most: usize| {
            shown.iter().map(|run| of(run)).max().unwrap_or(0).clamp(least, most)
        };
        let worktree = widest(&|run| width(&run.worktree), 8, WORKTREE);
        Self {
            name: widest(&|run| width(&run.run.run_id), 3, NAME.min(usize::from(room / 3)).max(3)),
            worktree: (worktrees.len() > 1 && room >= 76).then_some(worktree),
            status: if room >= NARROW { 30 } else { 14 },
            has_start: room >= NARROW,
        }
    }

    fn widths(&self) -> Vec<Constraint> {
        let length = |width: usize| Constraint::Length(u16::try_from(width).unwrap_or(u16::MAX));
        let mut widths = vec![length(1), length(self.name)];
        widths.extend(self.worktree.map(length));
        widths.extend([length(self.status), Constraint::Fill(1)]);
        if self.has_start {
            widths.push(length(14));
        }
        widths.push(length(9));
        widths
    }

    fn titles(&self, look: &Look) -> Row<'static> {
        let mut titles = vec!["", "RUN"];
        titles.extend(self.worktree.map(|_| "WORKTREE"));
        titles.extend(["STATUS", "STEP"]);
        titles.extend(self.has_start.then_some("STARTED"));
        let mut cells: Vec<Cell<'static>> = titles.into_iter().map(Cell::from).collect();
        cells.push(Cell::from(Text::from("TIME").right_aligned()));
        Row::new(cells).style(style(Tone::Faint, look.paint))
    }

    fn row(&self, found: &UnifiedRun, look: &Look) -> Row<'static> {
        let (run, paint) = (&found.run, look.paint);
        let cell = |tone: Tone, text: &str| Cell::from(cells(&Line::of(tone, text), paint));
        let mut row = vec![Cell::from(mark(run, paint)), cell(Tone::Strong, &run.run_id)];
        row.extend(self.worktree.map(|_| cell(Tone::Plain, &found.worktree)));
        row.push(Cell::from(cells(&standing(run, look), paint)));
        let step = run.current_step.as_ref().map(|step| step.name.clone()).unwrap_or_default();
        row.push(cell(Tone::Plain, &step));
        if self.has_start {
            let started = run.started_at.map(|at| moment::seen_from(at, look.now));
            row.push(cell(Tone::Faint, &started.unwrap_or_default()));
        }
        let taken = run.started_at.map(|at| run.completed_at.unwrap_or(look.now).0 - at.0);
        let taken = Line::of(Tone::Plain, &taken.map(duration::span).unwrap_or_default());
        row.push(Cell::from(Text::from(cells(&taken, paint)).right_aligned()));
        Row::new(row)
    }
}
