//! Places in a text, as people count them: lines and columns from 1, columns in UTF-16 units as editors count them.

/// A line and a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// Where the lines of a text begin.
#[derive(Debug)]
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let after = |(index, byte): (usize, u8)| (byte == b'\n').then_some(index + 1);
        let starts = std::iter::once(0).chain(text.bytes().enumerate().filter_map(after)).collect();
        Self { text, starts }
    }

    /// The position of a byte.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts[line - 1];
        Position { line: number(line), column: number(utf16(&self.text[start..offset]) + 1) }
    }

    /// The text of a line, without its end.
    pub(crate) fn line(&self, line: u32) -> Option<&'t str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = *self.starts.get(index)?;
        let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        Some(self.text[start..end].trim_end_matches(['\n', '\r']))
    }
}

/// How many UTF-16 units a text has.
pub(crate) fn utf16(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

pub(crate) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
