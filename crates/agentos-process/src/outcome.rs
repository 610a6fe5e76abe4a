//! What a command left, as far as it is returned: the beginning and the end of both streams.

use std::collections::VecDeque;

use crate::exit::Exit;
use crate::frame::{Frame, Stream};

/// Output of one stream, with the middle left out where there is too much.
#[derive(Debug, Default)]
struct Ends {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Ends {
    fn add(&mut self, mut bytes: &[u8], half: usize) {
        if self.left_out == 0 && self.tail.is_empty() {
            let (head, rest) =
                bytes.split_at(bytes.len().min(half.saturating_sub(self.head.len())));
            self.head.extend_from_slice(head);
            bytes = rest;
        }
        self.tail.extend(bytes);
        let too_many = self.tail.len().saturating_sub(half);
        self.tail.drain(..too_many);
        self.left_out += too_many as u64;
    }

    fn text(mut self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.left_out > 0 {
            text.push_str(&format!("\n[… {} bytes left out …]\n", self.left_out));
            text.push_str(&String::from_utf8_lossy(self.tail.make_contiguous()));
        } else {
            // A letter may lie across both.
            self.head.extend(self.tail);
            text = String::from_utf8_lossy(&self.head).into_owned();
        }
        text
    }
}

/// Collects output, so much of each stream and no more.
#[derive(Debug)]
pub struct Collector {
    half: usize,
    stdout: Ends,
    stderr: Ends,
}

/// How a command ended, and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// What it wrote to its standard output. What is no text is replaced.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
    /// Whether anything of it was left out.
    pub truncated: bool,
}

impl Collector {
    /// Collects up to so many bytes of each stream.
    #[must_use]
    pub fn new(longest: usize) -> Self {
        Self { half: longest / 2, stdout: Ends::default(), stderr: Ends::default() }
    }

    /// One more piece.
    pub fn add(&mut self, frame: &Frame) {
        let ends = match frame.stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        ends.add(&frame.bytes, self.half);
    }

    /// So many bytes were written that nobody can see. Of which stream is not known any more: the first that is cut.
    pub fn add_gap(&mut self, bytes: u64) {
        let ends = if self.stdout.head.len() >= self.stderr.head.len() {
            &mut self.stdout
        } else {
            &mut self.stderr
        };
        ends.left_out += bytes + ends.tail.len() as u64;
        ends.tail.clear();
    }

    /// What was collected.
    #[must_use]
    pub fn outcome(self, exit: Exit) -> Outcome {
        let left_out = self.stdout.left_out + self.stderr.left_out;
        let truncated = left_out > 0 || exit.dropped_bytes > 0;
        Outcome { exit, stdout: self.stdout.text(), stderr: self.stderr.text(), truncated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Reason;

    fn collected(longest: usize, pieces: &[&str]) -> Outcome {
        let mut collector = Collector::new(longest);
        for piece in pieces {
            let bytes = piece.as_bytes().to_vec();
            collector.add(&Frame { at_ms: 0, stream: Stream::Stdout, bytes });
        }
        collector.outcome(Exit::bare(Reason::Exited, None))
    }

    #[test]
    fn what_fits_is_returned_whole_even_where_it_was_cut_inside_a_letter() {
        let outcome = collected(6, &["ab", "cé", "d"]);
        assert_eq!((outcome.stdout.as_str(), outcome.truncated), ("abcéd", false));
    }

    #[test]
    fn of_too_much_the_beginning_and_the_end_are_returned() {
        let outcome = collected(8, &["0123456", "789", "abcdef"]);
        assert_eq!(outcome.stdout, "0123\n[… 8 bytes left out …]\ncdef");
        assert!(outcome.truncated);
    }
}
