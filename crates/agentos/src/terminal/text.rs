//! Lines made of pieces: each piece has a tone, the line knows how wide it is on the screen and can be cut to fit.

use std::borrow::Cow;

use agentos_core::bounds;
use unicode_width::UnicodeWidthChar;

use super::paint::{Paint, Tone};

/// Longer pieces are cut. No message that a run keeps is longer.
const PIECE_CHARS: usize = bounds::MESSAGE_BYTES;

/// As much of a message as is told in passing.
const BRIEF_CHARS: usize = 500;

/// A line of text that is not painted yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Line {
    pieces: Vec<(Tone, String)>,
}

impl Line {
    /// A line of one piece.
    pub(crate) fn of(tone: Tone, text: &str) -> Self {
        Self::default().with(tone, text)
    }

    /// Adds a piece, made harmless.
    #[must_use]
    pub(crate) fn with(mut self, tone: Tone, text: &str) -> Self {
        self.push(tone, text);
        self
    }

    /// Adds a piece, made harmless.
    pub(crate) fn push(&mut self, tone: Tone, text: &str) {
        if !text.is_empty() {
            self.pieces.push((tone, harmless(text).into_owned()));
        }
    }

    /// The same, so far to the right.
    #[must_use]
    pub(crate) fn indented(mut self, columns: usize) -> Self {
        self.pieces.insert(0, (Tone::Plain, " ".repeat(columns)));
        self
    }

    /// The pieces, all harmless.
    pub(crate) fn pieces(&self) -> &[(Tone, String)] {
        &self.pieces
    }

    /// How many columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| width(text)).sum()
    }

    /// The line as it is.
    pub(crate) fn painted(&self, paint: Paint) -> String {
        let mut painted = String::new();
        for (tone, text) in &self.pieces {
            paint.write(&mut painted, *tone, text);
        }
        painted
    }

    /// The line in at most so many columns; what does not fit is replaced by an ellipsis.
    pub(crate) fn fitted(&self, columns: usize, paint: Paint) -> String {
        self.cut(columns, paint).painted(paint)
    }

    /// The same, not painted yet.
    pub(super) fn cut(&self, columns: usize, paint: Paint) -> Self {
        if self.width() <= columns {
            return self.clone();
        }
        let ellipsis = cut(paint.ellipsis(), columns);
        let mut left = columns - width(ellipsis);
        let mut fitted = Self::default();
        for (tone, text) in &self.pieces {
            let kept = cut(text, left);
            fitted.push(*tone, kept);
            left -= width(kept);
            if kept.len() < text.len() {
                break;
            }
        }
        fitted.with(Tone::Faint, ellipsis)
    }

    /// Adds all pieces of another line.
    pub(crate) fn append(&mut self, other: Self) {
        self.pieces.extend(other.pieces);
    }
}

/// The text on one line, without anything that a terminal would obey.
///
/// Line breaks and tabs become spaces, other control characters and those that turn the direction of writing become
/// question marks.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let end = text.char_indices().nth(PIECE_CHARS).map(|(at, _)| at);
    if end.is_none() && !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let kept = text[..end.unwrap_or(text.len())].chars();
    let mut clean: String =
        kept.map(|char| if is_harmful(char) { stand_in(char) } else { char }).collect();
    if end.is_some() {
        clean.push('…');
    }
    Cow::Owned(clean)
}

fn is_harmful(char: char) -> bool {
    let turns_writing = matches!(char, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    char.is_control() || turns_writing || matches!(char, '\u{2028}' | '\u{2029}')
}

const fn stand_in(char: char) -> char {
    match char {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        _ => '?',
    }
}

/// The beginning of a message, for where it is told in passing; the whole is in the documents.
pub(super) fn brief(message: &str) -> Cow<'_, str> {
    match message.char_indices().nth(BRIEF_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &message[..end])),
        None => Cow::Borrowed(message),
    }
}

/// How many columns a text takes, rather too many than too few.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// How many columns a painted text takes.
pub(crate) fn painted_width(painted: &str) -> usize {
    let mut pieces = painted.split("\x1b[");
    let first = width(pieces.next().unwrap_or_default());
    first
        + pieces
            .map(|piece| width(piece.split_once('m').map_or(piece, |(_, text)| text)))
            .sum::<usize>()
}

/// The beginning that fits into so many columns.
fn cut(text: &str, columns_left: usize) -> &str {
    let mut used = 0;
    for (at, char) in text.char_indices() {
        used += columns(char);
        if used > columns_left {
            return &text[..at];
        }
    }
    text
}

fn columns(char: char) -> usize {
    match char {
        // Asks for the wide form of the sign before it.
        '\u{fe0f}' => 1,
        char => char.width().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::COLORED_PAINT;
    use super::*;

    #[test]
    fn a_line_is_cut_by_columns_and_not_by_bytes() {
        let line = Line::of(Tone::Plain, "名前").with(Tone::Plain, " ok");
        assert_eq!(line.width(), 7);
        assert_eq!(line.fitted(7, Paint::PLAIN), "名前 ok");
        assert_eq!(line.fitted(6, Paint::PLAIN), "名前 …");
        assert_eq!(line.fitted(4, Paint::PLAIN), "名…");
        assert_eq!(line.fitted(1, Paint::PLAIN), "…");
        assert_eq!(line.fitted(0, Paint::PLAIN), "");
    }

    #[test]
    fn a_cut_line_ends_its_colour() {
        let line = Line::of(Tone::Bad, "failed badly");
        assert_eq!(line.fitted(7, *COLORED_PAINT), "\x1b[31mfailed\x1b[0m\x1b[2m…\x1b[0m");
        assert_eq!(painted_width(&line.fitted(7, *COLORED_PAINT)), 7);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        assert_eq!(
            harmless("a\x1b]0;title\x07b\u{9b}2J\u{202e}c\r\nd\te\u{7f}"),
            "a?]0;title?b?2J?c  d e?"
        );
        assert_eq!(harmless("plain — ünï ✓"), "plain — ünï ✓");
    }

    #[test]
    fn a_long_text_is_bounded() {
        let long = harmless(&"ä".repeat(100_000)).into_owned();
        assert_eq!(long.chars().count(), PIECE_CHARS + 1);
        assert!(long.ends_with('…'));
        assert_eq!(brief(&long).chars().count(), BRIEF_CHARS + 1);
        assert_eq!(brief("short"), "short");
    }
}
