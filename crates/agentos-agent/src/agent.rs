//! What every agent can do: say how it is started for a request, and translate what it writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_process::exit::Exit;
use serde_json::Value;
use thiserror::Error;

use crate::bounds::ARGUMENT_BYTES;
use crate::event::AgentEvent;
use crate::lines::Loss;
use crate::permission::Permission;
use crate::usage::Baseline;
use crate::verdict::Verdict;

/// What an agent is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What the session is called in its run.
    pub name: String,
    /// Which attempt of its step this is, from 1.
    pub attempt: u32,
    /// The prompt.
    pub prompt: String,
    /// Which conversation.
    pub session: Session,
    /// The model; the agent's own choice if left out.
    pub model: Option<String>,
    /// Said to the model before everything else, besides what the agent says itself.
    pub system_prompt: Option<String>,
    /// What it may do without asking.
    pub permission: Permission,
    /// Tools that it may use besides, by the agent's own names for them.
    pub allowed_tools: Vec<String>,
    /// How many turns it may take.
    pub max_turns: Option<u32>,
    /// How many US dollars the conversation may use, with what it has used before.
    pub max_usd: Option<f64>,
    /// MCP servers, by name, as `{command, args, env}` or `{url}`.
    pub mcp_servers: BTreeMap<String, Value>,
    /// A folder for files that the agent reads, made if there are any.
    pub folder: PathBuf,
}

/// Which conversation a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Session {
    /// A new one, of this name if the agent lets others choose it.
    New(String),
    /// One that there is already.
    Resumed(String),
}

impl Session {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::New(id) | Self::Resumed(id) => id,
        }
    }
}

/// What to start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// What it reads from its standard input.
    pub input: Option<String>,
    /// What it finds in its environment, besides what every command does.
    pub env: BTreeMap<String, String>,
    /// Files to be written before it is started.
    pub files: Vec<(PathBuf, String)>,
}

/// Why an agent can't be asked for something.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// It can't do that.
    #[error("`{agent}` can't be given `{option}`: {advice}")]
    Unsupported {
        /// The agent.
        agent: String,
        /// The option.
        option: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// It is longer than the system lets anybody hand over.
    #[error(
        "`{option}` has {length} bytes, more than the {ARGUMENT_BYTES} that can be handed over; put it into a file of the workspace and name that"
    )]
    TooLong {
        /// The option.
        option: &'static str,
        /// How long.
        length: usize,
    },
}

/// A coding agent that is driven through its command line.
pub trait Agent: Send + Sync {
    /// What to start for a request.
    ///
    /// # Errors
    /// [`RequestError`].
    fn command(&self, request: &Request) -> Result<Command, RequestError>;

    /// Reads what one process of a session writes. `before` is what the session had used before.
    fn translator(&self, before: Baseline) -> Box<dyn Translator>;

    /// Whether the agent takes the name of a new session from us: then it is known before the agent says a word.
    fn takes_session_id(&self) -> bool;

    /// Whether a session can be gone on with.
    fn can_resume(&self) -> bool {
        true
    }

    /// Whether it says how many tokens it has used.
    fn tells_usage(&self) -> bool {
        true
    }

    /// Whether it says what it has cost.
    fn tells_cost(&self) -> bool {
        false
    }

    /// Which variables of AgentOS's own environment the agent needs: its keys and addresses. One that ends in `_` stands
    /// for all that begin so.
    fn variables(&self) -> &[&'static str] {
        &[]
    }

    /// The program that has to be installed; none if that is this one.
    fn program(&self) -> Option<String> {
        self.facts().map(|facts| facts.program)
    }

    /// What is known about the program, for whoever looks whether it is there.
    fn facts(&self) -> Option<Facts> {
        None
    }
}

/// What is known about an agent's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The program, as it is started.
    pub program: String,
    /// The version that this version of AgentOS was tested with.
    pub tested: &'static str,
    /// Variables of which one is enough to have a key.
    pub keys: &'static [&'static str],
    /// Files of which one is there after a login: the variable of the folder, its place in the home without it, the name.
    pub logins: &'static [(&'static str, &'static str, &'static str)],
    /// How to get it.
    pub install: &'static str,
}

/// Reads what one process of a session writes.
pub trait Translator: Send {
    /// Whether a line is a piece of a message that comes piece by piece.
    fn is_piece(&self, _line: &str) -> bool {
        false
    }

    /// What one line of its standard output says.
    fn feed(&mut self, line: &str) -> Vec<AgentEvent>;

    /// The beginning of a line that could not be kept whole. Where lines are events, it may have been any event.
    fn feed_cut(&mut self, beginning: &str, loss: Loss) -> Vec<AgentEvent>;

    /// How the session ended, now that the process has. `complaints` is the end of its standard error.
    fn finish(&mut self, exit: &Exit, complaints: &str) -> Verdict;
}

/// Refuses arguments that the system would.
pub(crate) fn short_enough<'a>(
    option: &'static str,
    text: &'a str,
) -> Result<&'a str, RequestError> {
    match text.len() {
        0..=ARGUMENT_BYTES => Ok(text),
        length => Err(RequestError::TooLong { option, length }),
    }
}

/// The path as text; what is no text is replaced, and then not found by its name.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
