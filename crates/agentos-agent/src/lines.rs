//! Cuts output into lines, whatever their length: one that is too long is passed over without being kept.

use crate::bounds::LINE_BYTES;

/// Cuts output into lines.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
    /// The line that is being read can't be used: it is too long, or a part of it is missing.
    is_spoiled: bool,
    spoiled: u64,
}

impl Lines {
    /// Takes a piece of output; `each` is called with every line that is whole now, in order.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(&str)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            self.close(&mut each);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    /// Output is missing here: the line that was being read is none.
    pub fn gap(&mut self) {
        self.begun.clear();
        self.is_spoiled = true;
    }

    /// There is no more: what was begun counts as a line.
    pub fn finish(&mut self, mut each: impl FnMut(&str)) {
        if !self.begun.is_empty() || self.is_spoiled {
            self.close(&mut each);
        }
    }

    /// How many lines could not be used.
    #[must_use]
    pub const fn spoiled(&self) -> u64 {
        self.spoiled
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.begun.len() + bytes.len() > LINE_BYTES {
            self.begun = Vec::new();
            self.is_spoiled = true;
        }
        if !self.is_spoiled {
            self.begun.extend_from_slice(bytes);
        }
    }

    fn close(&mut self, each: &mut impl FnMut(&str)) {
        if std::mem::take(&mut self.is_spoiled) {
            self.spoiled += 1;
        } else {
            let line = String::from_utf8_lossy(&self.begun);
            let line = line.trim_end_matches('\r');
            if !line.trim().is_empty() {
                each(line);
            }
        }
        self.begun.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> (Vec<String>, u64) {
        let (mut lines, mut seen) = (Lines::default(), Vec::new());
        for piece in pieces {
            lines.feed(piece, |line| seen.push(line.to_owned()));
        }
        lines.finish(|line| seen.push(line.to_owned()));
        (seen, lines.spoiled())
    }

    #[test]
    fn lines_are_whole_wherever_the_output_was_cut() {
        let (seen, spoiled) = lines(&[b"a", b"b\r\nc", b"\n\n", b"last"]);
        assert_eq!((seen, spoiled), (["ab", "c", "last"].map(str::to_owned).to_vec(), 0));
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_nothing_of_it_is_kept() {
        let piece = vec![b'x'; 1 << 20];
        let mut lines = Lines::default();
        for _ in 0..100 {
            lines.feed(&piece, |_| panic!("no line"));
            assert!(lines.begun.capacity() <= 2 * LINE_BYTES);
        }
        let mut seen = Vec::new();
        lines.feed(b"\nnext\n", |line| seen.push(line.to_owned()));
        assert_eq!((seen, lines.spoiled()), (vec!["next".to_owned()], 1));
    }

    #[test]
    fn what_is_around_a_gap_is_no_line() {
        let (mut lines, mut seen) = (Lines::default(), Vec::new());
        lines.feed(b"whole\nhal", |line| seen.push(line.to_owned()));
        lines.gap();
        lines.feed(b"f\nwhole again\n", |line| seen.push(line.to_owned()));
        assert_eq!(seen, ["whole", "whole again"]);
        assert_eq!(lines.spoiled(), 1);
    }
}
