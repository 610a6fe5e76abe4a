//! The tones of the terminal as styles of cells.

use agentos_store::projection::WorkflowStatus;
use agentos_store::records::RunRecord;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Cells, Span};

use crate::terminal::paint::{Paint, Tone};
use crate::terminal::text::Line;

/// How a tone looks. Without colours what matters is bold, and what does not is dim.
pub(super) fn style(tone: Tone, paint: Paint) -> Style {
    let plain = Style::new();
    let (color, modifier) = match tone {
        Tone::Plain => return plain,
        Tone::Strong => return plain.add_modifier(Modifier::BOLD),
        Tone::Faint => return plain.add_modifier(Modifier::DIM),
        Tone::Good => (Color::Green, Modifier::empty()),
        Tone::Bad => (Color::Red, Modifier::BOLD),
        Tone::Busy => (Color::Cyan, Modifier::empty()),
        Tone::Warning => (Color::Yellow, Modifier::BOLD),
    };
    match paint.is_colored() {
        true => plain.fg(color),
        false => plain.add_modifier(modifier),
    }
}

/// A line of text as cells.
pub(super) fn cells(line: &Line, paint: Paint) -> Cells<'static> {
    let spans = line.pieces().iter();
    spans.map(|(tone, text)| Span::styled(text.clone(), style(*tone, paint))).collect()
}

/// The sign in front of a run.
pub(super) fn mark(run: &RunRecord, paint: Paint) -> Span<'static> {
    let (tone, sign, ascii) = match run.status {
        _ if run.elsewhere.is_some() => (Tone::Faint, "→", ">"),
        _ if run.interrupted => (Tone::Warning, "!", "!"),
        WorkflowStatus::Running if run.waiting.is_some() => (Tone::Warning, "◔", "?"),
        WorkflowStatus::Running => (Tone::Busy, "●", "*"),
        WorkflowStatus::Pending => (Tone::Faint, "○", "."),
        WorkflowStatus::Completed => (Tone::Good, "✓", "+"),
        WorkflowStatus::Failed | WorkflowStatus::TimedOut => (Tone::Bad, "✗", "x"),
        WorkflowStatus::Cancelled => (Tone::Faint, "⊘", "/"),
    };
    Span::styled(if paint.is_unicode() { sign } else { ascii }, style(tone, paint))
}
