//! Text put into a source before it is compiled, and the way back.
//!
//! Nothing is taken out and no line is added before the last one, so a position in the edited text differs from the
//! author's only by what was put in before it on the same line.

use crate::position::{Position, number, utf16};

/// What is to be put in, and where.
#[derive(Debug, Default)]
pub(super) struct Edits(Vec<(u32, String)>);

impl Edits {
    /// Puts text in before a byte.
    pub(super) fn insert(&mut self, offset: u32, text: impl Into<String>) {
        self.0.push((offset, text.into()));
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The edited text, and what was put in on each line.
    pub(super) fn apply(mut self, text: &str) -> (String, Shifts) {
        self.0.sort_by_key(|(offset, _)| *offset);
        let mut edited = String::with_capacity(text.len() + self.0.len() * 24);
        let mut shifts = Vec::with_capacity(self.0.len());
        let (mut from, mut line, mut column) = (0, 1, 1);
        for (offset, inserted) in &self.0 {
            let to = usize::try_from(*offset).unwrap_or(usize::MAX).min(text.len());
            let between = &text[from..to];
            match between.rfind('\n') {
                Some(last) => {
                    line += number(between.matches('\n').count());
                    column = 1 + number(utf16(&between[last + 1..]));
                }
                None => column += number(utf16(between)),
            }
            edited.push_str(between);
            edited.push_str(inserted);
            let length = number(utf16(inserted));
            shifts.push(Shift { line, column, length });
            column += length;
            from = to;
        }
        edited.push_str(&text[from..]);
        (edited, Shifts(shifts))
    }
}

/// Something that was put in, by its place in the edited text.
#[derive(Debug, Clone, Copy)]
struct Shift {
    line: u32,
    column: u32,
    length: u32,
}

/// The way back from the edited text, in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct Shifts(Vec<Shift>);

impl Shifts {
    /// Where a place in the edited text is in the author's.
    pub(crate) fn original(&self, at: Position) -> Position {
        let first = self.0.partition_point(|shift| shift.line < at.line);
        let before = self.0[first..]
            .iter()
            .take_while(|shift| shift.line == at.line && shift.column < at.column);
        // What lies inside of something that was put in is where that was put.
        let inserted: u32 = before.map(|shift| shift.length.min(at.column - shift.column)).sum();
        Position { line: at.line, column: at.column - inserted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_again() {
        let text = "const é = 1;\nrun(a, b);\n";
        let mut edits = Edits::default();
        edits.insert(21, "at(");
        edits.insert(22, ", 7)");
        let (edited, shifts) = edits.apply(text);
        assert_eq!(edited, "const é = 1;\nrun(a, at(b, 7));\n");
        for (edited, original) in
            [((1, 9), (1, 9)), ((2, 5), (2, 5)), ((2, 11), (2, 8)), ((2, 17), (2, 10))]
        {
            let (line, column) = edited;
            let found = shifts.original(Position { line, column });
            assert_eq!((found.line, found.column), original);
        }
    }
}
