//! What to execute, and the limits that hold for it whoever is alive.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::secret::Secrets;
use crate::token::Token;

/// What to execute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// The program.
    pub program: Program,
    /// Where.
    pub cwd: PathBuf,
    /// All of its environment but the operation's mark, which is added.
    pub env: BTreeMap<String, String>,
    /// What it reads from its standard input; nothing if left out.
    pub input: Option<String>,
    /// What is not to be seen in its output.
    pub secrets: Secrets,
    /// How long it may go on.
    pub limits: Limits,
    /// How much of its output is kept, in bytes: the beginning and the end.
    pub kept_bytes: u64,
    /// Whether it gets a control group of its own, where there is one to be had: what hides from everything else is then
    /// found even after its supervisor was killed. Costs some milliseconds.
    pub grouped: bool,
    /// The mark of the operation.
    pub token: Token,
}

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// A line for `sh -c`.
    Line(String),
    /// A program and its arguments, without a shell in between.
    Argv(Vec<String>),
}

/// How long a command may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// In all, without the time in which its output could not be written.
    pub wall: Option<Duration>,
    /// Without a word, while its output can be written.
    pub idle: Option<Duration>,
    /// While nobody is attached.
    pub orphan: Option<Duration>,
    /// Between TERM and KILL.
    pub grace: Duration,
    /// After its exit, while others hold its pipes.
    pub drain: Duration,
    /// While its output can't be written. The command waits in the meantime; after this it is ended, as lost.
    #[serde(default = "room")]
    pub room: Duration,
}

const fn room() -> Duration {
    bounds::ROOM
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: None,
            idle: None,
            orphan: None,
            grace: bounds::GRACE,
            drain: bounds::DRAIN,
            room: bounds::ROOM,
        }
    }
}

impl CommandSpec {
    /// A command with an empty environment and no limits.
    ///
    /// # Errors
    /// The system has no random numbers for its mark.
    pub fn new(program: Program, cwd: impl Into<PathBuf>) -> std::io::Result<Self> {
        Ok(Self {
            program,
            cwd: cwd.into(),
            env: BTreeMap::new(),
            input: None,
            secrets: Secrets::default(),
            limits: Limits::default(),
            kept_bytes: bounds::KEPT_BYTES,
            grouped: false,
            token: Token::random()?,
        })
    }
}
