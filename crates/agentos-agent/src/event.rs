//! What happens in a session, in the same words for every agent.

use serde::Serialize;

use crate::usage::Usage;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The agent has said who it is. Comes again when a session is resumed.
    SessionStarted {
        /// Under which name the agent finds the session again.
        session_id: String,
        /// The model, if it is known.
        model: Option<String>,
    },
    /// The agent says something. A piece (`partial`) is followed by the whole.
    Text {
        /// What.
        text: String,
        /// Whether it is a piece of something that comes whole later.
        partial: bool,
    },
    /// The agent thinks aloud; pieces as for text.
    Thinking {
        /// What.
        text: String,
        /// Whether it is a piece.
        partial: bool,
    },
    /// A tool is used.
    ToolCall {
        /// The agent's name for the call.
        id: String,
        /// Which tool.
        name: String,
        /// With what, as far as it is short.
        input: String,
    },
    /// A tool has answered.
    ToolResult {
        /// The agent's name for the call.
        id: String,
        /// Whether it worked.
        ok: bool,
        /// What it said, as far as it is short.
        output: String,
    },
    /// So much was used since this process of the session began.
    Usage {
        /// Tokens.
        usage: Usage,
        /// US dollars, if the agent knows.
        cost_usd: Option<f64>,
    },
    /// The agent tries something again by itself.
    Retrying {
        /// Which try.
        attempt: u64,
        /// Of how many; 0 if that is not known.
        of: u64,
        /// Why.
        why: String,
    },
    /// The agent was not allowed to do something.
    Denied {
        /// Which tool.
        tool: String,
        /// In its own words.
        why: String,
    },
    /// The agent says that it is done. Whether that is believed depends on how the process ends.
    Finished {
        /// Whether it says that all went well.
        ok: bool,
        /// If not, why.
        why: Option<String>,
    },
}
