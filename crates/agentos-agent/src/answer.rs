//! What an agent says, put together piece by piece: so much of it is kept, and `…` stands where something is missing.

use crate::bounds::WHOLE_ANSWER_BYTES;

/// What an agent says.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// At most [`WHOLE_ANSWER_BYTES`] and the marks.
    pub(crate) text: String,
    /// Whether something of it is not kept.
    pub(crate) is_cut: bool,
    is_full: bool,
}

impl Answer {
    /// Adds a piece, as far as there is room.
    pub(crate) fn push(&mut self, piece: &str) {
        if self.is_full {
            return;
        }
        let room = WHOLE_ANSWER_BYTES.saturating_sub(self.text.len());
        let end = piece.floor_char_boundary(room);
        self.text.push_str(&piece[..end]);
        if end < piece.len() {
            self.is_full = true;
            self.push_gap();
        }
    }

    /// Something is missing here.
    pub(crate) fn push_gap(&mut self) {
        self.is_cut = true;
        if !self.text.ends_with('…') {
            self.text.push('…');
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl From<&str> for Answer {
    fn from(text: &str) -> Self {
        let mut answer = Self::default();
        answer.push(text);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_bound_and_a_mark_where_it_is_cut() {
        let piece = "é".repeat(WHOLE_ANSWER_BYTES / 4);
        let mut answer = Answer::from(piece.as_str());
        answer.push(&piece);
        assert!(!answer.is_cut && answer.text.len() == WHOLE_ANSWER_BYTES);
        answer.push("more");
        answer.push("");
        answer.push("still more");
        answer.push_gap();
        assert!(answer.is_cut && answer.text.ends_with("é…"));
        assert_eq!(answer.text.len(), WHOLE_ANSWER_BYTES + "…".len());
    }
}
