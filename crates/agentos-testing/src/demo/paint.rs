//! Colour, where it is wanted.

/// Whether to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Text alone.
    Plain,
    /// The colours of a terminal.
    Ansi,
}

/// What a piece of text is to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// Something that went well.
    Good,
    /// Something that did not.
    Bad,
    /// Something that is still open.
    Open,
    /// What the eye should find first.
    Strong,
    /// What it may skip.
    Quiet,
}

impl Paint {
    /// The text in its tone. Pad before painting: a terminal counts what it does not show.
    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Open => "33",
            Tone::Strong => "1",
            Tone::Quiet => "2",
        };
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}
