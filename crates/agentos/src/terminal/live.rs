//! Lines that are drawn in place on a terminal, frame over frame.
//!
//! Every frame is one write: the terminal is told to show it at once, the cursor goes up over the last frame, each line
//! replaces the one before it. Nothing is hidden and no mode outlives a frame, so whoever is killed leaves a usable
//! terminal. A closed terminal is an error for the caller.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::size::Size;
use super::text::painted_width;
use super::{Environment, variable};

/// Hold the picture back until the frame is complete; do not break lines that are wider than we think.
const BEGIN: &str = "\x1b[?2026h\x1b[?7l";
const END: &str = "\x1b[?7h\x1b[?2026l";

/// A picture at the end of a terminal's output.
#[derive(Debug)]
pub(crate) struct Live<W> {
    out: W,
    /// How wide each line of the last frame was.
    drawn: Vec<usize>,
}

/// What a frame has room for. The cursor stands below it: one as high as the screen would push its own first line out of
/// reach.
pub(crate) fn room(screen: Size) -> Size {
    Size { height: screen.height.saturating_sub(1).max(1), ..screen }
}

/// Whether frames can be drawn on a stream at all; where not, plain lines are written.
pub(crate) fn is_possible(environment: &Environment, is_terminal: bool) -> bool {
    is_terminal && variable(environment, "TERM").is_some_and(|term| term != "dumb")
}

impl<W: Write> Live<W> {
    /// Nothing drawn yet.
    pub(crate) const fn new(out: W) -> Self {
        Self { out, drawn: Vec::new() }
    }

    /// Replaces the last frame. Lines for which there is no room are cut off at the end.
    ///
    /// # Errors
    /// Those of the writer.
    pub(crate) fn draw(&mut self, lines: &[String], size: Size) -> io::Result<()> {
        let lines = &lines[..lines.len().min(room(size).height)];
        let mut frame = String::from(BEGIN);
        self.go_back(&mut frame, size);
        let widths: Vec<usize> = lines.iter().map(|line| painted_width(line)).collect();
        for (line, width) in lines.iter().zip(&widths) {
            frame.push_str(line);
            // After a full line the cursor still stands on its last sign, which would be erased.
            frame.push_str(if *width < size.width { "\x1b[K\r\n" } else { "\r\n" });
        }
        frame.push_str("\x1b[J");
        frame.push_str(END);
        self.drawn = widths;
        self.write(&frame)
    }

    /// Removes the last frame, so that something else can be written in its place.
    ///
    /// # Errors
    /// Those of the writer.
    pub(crate) fn clear(&mut self, size: Size) -> io::Result<()> {
        self.draw(&[], size)
    }

    /// To the first line of the last frame. A terminal that was made narrower has broken its lines.
    fn go_back(&self, frame: &mut String, size: Size) {
        let rows: usize =
            self.drawn.iter().map(|width| width.div_ceil(size.width.max(1)).max(1)).sum();
        let rows = rows.min(size.height.saturating_sub(1));
        frame.push('\r');
        if rows > 0 {
            let _ = write!(frame, "\x1b[{rows}A");
        }
    }

    fn write(&mut self, frame: &str) -> io::Result<()> {
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::environment;
    use super::*;

    const SIZE: Size = Size { width: 20, height: 5 };

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    /// What the frames wrote, without the brackets around each.
    fn drawn(frames: &[(&[&str], Size)]) -> Vec<String> {
        let mut live = Live::new(Vec::new());
        let mut shown = Vec::new();
        for (texts, size) in frames {
            live.out.clear();
            live.draw(&lines(texts), *size).unwrap();
            let text = String::from_utf8(live.out.clone()).unwrap();
            let text = text.strip_prefix(BEGIN).and_then(|text| text.strip_suffix(END)).unwrap();
            shown.push(text.replace('\x1b', "^"));
        }
        shown
    }

    #[test]
    fn a_frame_replaces_the_one_before() {
        let shown =
            drawn(&[(&["one", "two"], SIZE), (&["three"], SIZE), (&[], SIZE), (&["four"], SIZE)]);
        assert_eq!(
            shown,
            ["\rone^[K\r\ntwo^[K\r\n^[J", "\r^[2Athree^[K\r\n^[J", "\r^[1A^[J", "\rfour^[K\r\n^[J",]
        );
    }

    #[test]
    fn a_frame_is_never_higher_than_the_screen() {
        let shown = drawn(&[(&["1", "2", "3", "4", "5", "6"], SIZE), (&["1"], SIZE)]);
        assert_eq!(shown[0], "\r1^[K\r\n2^[K\r\n3^[K\r\n4^[K\r\n^[J");
        assert_eq!(shown[1], "\r^[4A1^[K\r\n^[J");
    }

    #[test]
    fn a_terminal_that_was_made_narrower_has_broken_the_last_frame() {
        let narrow = Size { width: 10, height: 8 };
        let shown =
            drawn(&[(&["\x1b[31m123456789012345\x1b[0m", "short"], SIZE), (&["x"], narrow)]);
        assert_eq!(shown[1], "\r^[3Ax^[K\r\n^[J");
    }

    #[test]
    fn the_last_sign_of_a_full_line_is_not_erased() {
        let full = "12345678901234567890";
        assert_eq!(drawn(&[(&[full], SIZE)]), [format!("\r{full}\r\n^[J")]);
    }

    #[test]
    fn a_terminal_of_one_row_and_one_column_is_survived() {
        let tiny = Size { width: 1, height: 1 };
        let shown = drawn(&[(&["a", "b"], tiny), (&["c"], tiny)]);
        assert_eq!(shown, ["\ra\r\n^[J", "\rc\r\n^[J"]);
    }

    #[test]
    fn frames_are_for_terminals_that_can_move_the_cursor() {
        let possible =
            |term: &str, is_terminal| is_possible(&environment(&[("TERM", term)]), is_terminal);
        assert!(possible("xterm", true));
        assert!(!possible("xterm", false));
        assert!(!possible("dumb", true));
        assert!(!possible("", true));
    }

    #[test]
    fn a_closed_pipe_is_an_error_and_no_panic() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut live = Live::new(writer);
        let error = live.draw(&lines(&["one"]), SIZE).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn the_last_frame_stays_unless_it_is_cleared() {
        let mut live = Live::new(Vec::new());
        live.draw(&lines(&["one"]), SIZE).unwrap();
        live.clear(SIZE).unwrap();
        assert!(live.out.ends_with(b"\r\x1b[1A\x1b[J\x1b[?7h\x1b[?2026l"));
    }
}
