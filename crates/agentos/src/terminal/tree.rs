//! The live tree of a run and the runs that it invoked: a pure function from the documents to lines that fit the screen.
//!
//! `outline.rs` puts steps, phases and runs in order, `fold.rs` decides what is left out when the screen is too low, and
//! `row.rs` writes what remains. Only what is shown is written: a run with ten thousand finished steps costs an outline.

mod fold;
mod outline;
mod row;

use agentos_core::time::Timestamp;

use super::FamilyView;
use super::paint::{Paint, Tone};
use super::size::Size;
use super::text::Line;
use fold::Shown;

/// At most so many notes, and so many lines of the log, are shown below the tree, and never more than a quarter of the screen.
const LOG_LINES: usize = 5;

/// How one frame is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// When.
    pub(crate) now: Timestamp,
    /// What there is room for. No limit if nobody scrolls back: a file, the last frame.
    pub(crate) size: Option<Size>,
    /// How it is coloured.
    pub(crate) paint: Paint,
}

/// The lines of one frame, none wider and together not higher than the screen.
pub(crate) fn lines(view: &FamilyView, frame: &Frame) -> Vec<String> {
    let height = frame.size.map_or(usize::MAX, |size| size.height);
    let notes = latest(&view.notes, height);
    let log = latest(&view.lines, height.saturating_sub(notes.len()));
    let rows = outline::of(view);
    let mut lines = Vec::new();
    for shown in fold::fitted(&rows, height.saturating_sub(notes.len() + log.len())) {
        lines.push(match shown {
            Shown::Row(row) => row::line(row, frame),
            Shown::Folded { depth, count, what } => folded(depth, count, what.words(count), frame),
        });
    }
    lines
        .extend(notes.iter().map(|note| Line::of(Tone::Warning, "note: ").with(Tone::Plain, note)));
    let bar = if frame.paint.is_unicode() { "│ " } else { "| " };
    lines.extend(log.iter().map(|line| Line::of(Tone::Faint, bar).with(Tone::Faint, line)));
    let fit = |line: Line| match frame.size {
        Some(size) => line.fitted(size.width, frame.paint),
        None => line.painted(frame.paint),
    };
    lines.into_iter().map(fit).collect()
}

fn latest(lines: &[String], height: usize) -> &[String] {
    let most = LOG_LINES.min(height / 4);
    &lines[lines.len().saturating_sub(most)..]
}

fn folded(depth: usize, count: usize, what: &str, frame: &Frame) -> Line {
    let text = format!("{} {count} {what}", frame.paint.ellipsis());
    Line::of(Tone::Plain, &row::indent(depth, frame)).with(Tone::Faint, &text)
}

#[cfg(test)]
mod tests;
