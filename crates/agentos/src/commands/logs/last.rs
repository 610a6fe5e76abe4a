//! The end of a log: the last lines, and how many came before.

use std::collections::VecDeque;

/// The last of many lines.
#[derive(Debug)]
pub(crate) struct Last {
    lines: VecDeque<String>,
    /// How many lines are kept, and how many bytes of them.
    most: (usize, usize),
    bytes: usize,
    left_out: u64,
}

impl Last {
    /// Keeps so many lines and so many bytes.
    pub(crate) const fn new(lines: usize, bytes: usize) -> Self {
        Self { lines: VecDeque::new(), most: (lines, bytes), bytes: 0, left_out: 0 }
    }

    /// One more line; earlier ones are let go of when there are too many.
    pub(super) fn push(&mut self, line: String) {
        self.bytes += line.len() + 1;
        self.lines.push_back(line);
        while self.lines.len() > self.most.0 || (self.bytes > self.most.1 && self.lines.len() > 1) {
            let Some(line) = self.lines.pop_front() else { break };
            self.bytes -= line.len() + 1;
            self.left_out += 1;
        }
    }

    /// How many lines came before those that are kept.
    pub(crate) const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The lines that are kept.
    pub(crate) fn into_lines(self) -> VecDeque<String> {
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_what_came_before_is_counted() {
        let mut last = Last::new(2, 100);
        (1..=5).for_each(|number| last.push(number.to_string()));
        assert_eq!(
            (last.left_out(), Vec::from(last.into_lines())),
            (3, vec!["4".into(), "5".into()])
        );
        let mut last = Last::new(10, 8);
        ["aaaa", "bb", "cccc", "dd"].into_iter().for_each(|line| last.push(line.to_owned()));
        assert_eq!((last.left_out(), last.into_lines().len()), (2, 2));
        let mut last = Last::new(0, 8);
        last.push("a".into());
        assert_eq!((last.left_out(), last.into_lines().len()), (1, 0));
    }
}
