//! Cuts output into lines, whatever their length. Of a line that is too long, or of which a part is missing, only the beginning is
//! kept, and the reader is told.

use crate::bounds::LINE_BYTES;

/// A line of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// All of it.
    Whole(&'a str),
    /// The beginning of one that could not be kept whole, and why.
    Cut(&'a str, Loss),
}

/// Why a line could not be kept whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// It is longer than [`LINE_BYTES`].
    TooLong,
    /// Output is missing there, or before it: there was more of it than is kept.
    Missing,
}

/// Cuts output into lines.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
    /// Why nothing more of the line that is being read is kept.
    loss: Option<Loss>,
    too_long: u64,
    cut: u64,
}

impl Lines {
    /// Takes a piece of output; `each` is called with every line that has ended, in order.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            self.close(&mut each);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    /// Output is missing here: what comes until the next line is not kept.
    pub fn gap(&mut self) {
        self.loss = self.loss.or(Some(Loss::Missing));
    }

    /// There is no more: what was begun counts as a line.
    pub fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        if !self.begun.is_empty() || self.loss.is_some() {
            self.close(&mut each);
        }
    }

    /// How many lines were too long.
    #[must_use]
    pub const fn too_long(&self) -> u64 {
        self.too_long
    }

    /// How many lines could not be kept whole.
    #[must_use]
    pub const fn cut(&self) -> u64 {
        self.cut
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.loss.is_some() {
            return;
        }
        let room = LINE_BYTES - self.begun.len();
        if bytes.len() > room {
            self.loss = Some(Loss::TooLong);
        }
        self.begun.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    fn close(&mut self, each: &mut impl FnMut(Line<'_>)) {
        if let Some(loss) = self.loss.take() {
            self.cut += 1;
            self.too_long += u64::from(loss == Loss::TooLong);
            // What is kept of a long line is not held on to.
            let begun = std::mem::take(&mut self.begun);
            each(Line::Cut(&String::from_utf8_lossy(whole_letters(&begun)), loss));
            return;
        }
        let line = String::from_utf8_lossy(&self.begun);
        let line = line.trim_end_matches('\r');
        if !line.trim().is_empty() {
            each(Line::Whole(line));
        }
        self.begun.clear();
    }
}

/// Bytes without the last letter, if only a part of that is there.
fn whole_letters(bytes: &[u8]) -> &[u8] {
    let last = bytes.len().saturating_sub(4);
    let start = bytes[last..].iter().rposition(|byte| byte & 0xC0 != 0x80);
    let Some(start) = start.map(|at| last + at) else { return bytes };
    match std::str::from_utf8(&bytes[start..]) {
        Err(error) if error.error_len().is_none() => &bytes[..start],
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines with why they are cut, and how many are.
    fn lines(pieces: &[Option<&[u8]>]) -> (Vec<(String, Option<Loss>)>, u64) {
        let (mut lines, mut seen) = (Lines::default(), Vec::new());
        let mut see = |line: Line<'_>| match line {
            Line::Whole(text) => seen.push((text.to_owned(), None)),
            Line::Cut(text, loss) => seen.push((text.to_owned(), Some(loss))),
        };
        for piece in pieces {
            match piece {
                Some(bytes) => lines.feed(bytes, &mut see),
                None => lines.gap(),
            }
        }
        lines.finish(&mut see);
        (seen, lines.cut())
    }

    fn whole(line: &str) -> (String, Option<Loss>) {
        (line.to_owned(), None)
    }

    #[test]
    fn lines_are_whole_wherever_the_output_was_cut() {
        let (seen, cut) = lines(&[Some(b"a"), Some(b"b\r\nc"), Some(b"\n\n"), Some(b"last")]);
        assert_eq!((seen, cut), (vec![whole("ab"), whole("c"), whole("last")], 0));
    }

    #[test]
    fn of_a_line_that_is_too_long_the_beginning_is_kept() {
        let piece = "ä".repeat(1 << 19);
        let mut lines = Lines::default();
        lines.feed(b"x", |_| panic!("no line"));
        for _ in 0..100 {
            lines.feed(piece.as_bytes(), |_| panic!("no line"));
            assert!(lines.begun.capacity() <= 2 * LINE_BYTES);
        }
        let mut seen = Vec::new();
        lines.feed(b"\nnext\n", |line| match line {
            Line::Cut(text, Loss::TooLong) => seen.push((text.len(), text.ends_with('ä'))),
            Line::Whole("next") => seen.push((4, true)),
            line => panic!("{line:?}"),
        });
        // A half of the last letter would be none.
        assert_eq!(seen, [(LINE_BYTES - 1, true), (4, true)]);
        assert_eq!((lines.too_long(), lines.cut()), (1, 1));
    }

    #[test]
    fn what_is_around_a_gap_is_no_whole_line() {
        let (seen, cut) = lines(&[Some(b"whole\nhal"), None, Some(b"f\nwhole again\n")]);
        let half = ("hal".to_owned(), Some(Loss::Missing));
        assert_eq!((seen, cut), (vec![whole("whole"), half, whole("whole again")], 1));
        let (seen, cut) = lines(&[Some(b"whole\n"), None]);
        assert_eq!((seen, cut), (vec![whole("whole"), (String::new(), Some(Loss::Missing))], 1));
    }
}
