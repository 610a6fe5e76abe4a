//! Every limit of this crate: whatever an agent can make grow has a number here.

/// Longest line of a stream that is read, in bytes. Of a longer one only the beginning is kept.
pub const LINE_BYTES: usize = 8 << 20;

/// Longest answer of an agent that becomes part of the run's log, in bytes. A longer one is cut off there.
pub const ANSWER_BYTES: usize = 1 << 20;

/// Longest answer of an agent that is kept at all, in bytes. Of a longer one the rest is lost, and `…` stands in its place.
pub const WHOLE_ANSWER_BYTES: usize = 16 << 20;

/// How much of a tool's arguments or output an event carries, in bytes.
pub const TOOL_BYTES: usize = 4 << 10;

/// How much of a text an event carries, in bytes.
pub const TEXT_BYTES: usize = 256 << 10;

/// Longest message of a failure, in bytes.
pub const MESSAGE_BYTES: usize = 4 << 10;

/// Most denied tool calls that are listed.
pub const DENIALS: usize = 20;

/// Most messages of one session whose usage is told apart while it runs.
pub const OPEN_MESSAGES: usize = 256;

/// Longest text that is handed over as an argument, in bytes: the system takes no longer ones.
pub const ARGUMENT_BYTES: usize = 100 << 10;

/// Largest scenario of the scripted agent, in bytes.
pub const SCENARIO_BYTES: u64 = 4 << 20;

/// Most items that a scenario may have.
pub const SCENARIO_ITEMS: usize = 10_000;

/// How many sessions the scripted agent remembers.
pub const SESSIONS: usize = 1_000;

/// A text, cut off where it is too long.
pub(crate) fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(longest);
    format!("{}…", &text[..end])
}
