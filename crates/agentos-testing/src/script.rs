//! A small language that can express what workflows do.
//!
//! Real workflows are written in TypeScript or Rust. The simulation needs programs that it can make up, print, store and
//! shrink; so these are trees. Each one keeps a number, its *account*, into which every answer, read and random draw is
//! mixed: two executions that end with the same account have seen the same things in the same order.

pub mod build;
mod edit;
mod evaluate;
mod generate;
mod shrink;

use std::fmt::{self, Display as _};

use serde::{Deserialize, Serialize};

pub use edit::{edited, in_plain_words, in_sequence, with_own_accounts};
pub use evaluate::{Script, Trace};
pub use generate::{Generator, Shape};
pub use shrink::{shrinks, size};

/// A piece of a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Node {
    /// One after the other.
    Seq {
        /// The pieces.
        of: Vec<Node>,
    },
    /// A command, awaited.
    Shell {
        /// Its name.
        name: String,
    },
    /// An operation that is answered within the turn: a sleep of no length.
    Pure {
        /// Its name.
        name: String,
    },
    /// A command that nobody awaits; its rejection is caught or not.
    Forget {
        /// Its name.
        name: String,
        /// Whether a rejection is caught.
        caught: bool,
    },
    /// An artifact, kept with the run.
    Artifact {
        /// Its name.
        name: String,
    },
    /// A child run, awaited.
    Invoke {
        /// The workflow's name.
        name: String,
    },
    /// A durable sleep.
    Sleep {
        /// Its name.
        name: String,
        /// Its length.
        ms: u64,
    },
    /// A wait for a signal.
    Wait {
        /// The signal's name.
        name: String,
        /// Its timeout; 0 for none.
        ms: u64,
    },
    /// A question to a person.
    Approve {
        /// Its name.
        name: String,
        /// Its timeout; 0 for none.
        ms: u64,
    },
    /// A write to the state, mixed with the account.
    Set {
        /// The key.
        key: String,
        /// The value.
        value: i64,
    },
    /// A read of the state.
    Get {
        /// The key.
        key: String,
    },
    /// A removal from the state.
    Delete {
        /// The key.
        key: String,
    },
    /// A random draw.
    Random,
    /// A look at the clock.
    Now,
    /// A comment on the step, or on the run.
    Comment {
        /// Whether it is on the run.
        on_run: bool,
    },
    /// A log line.
    Log,
    /// A step.
    Step {
        /// Its name.
        name: String,
        /// Its body.
        body: Box<Node>,
        /// How many attempts it has.
        attempts: u32,
        /// The delay between attempts.
        delay: u64,
        /// How long an attempt may take; 0 for as long as it takes.
        #[serde(default)]
        timeout: u64,
        /// Whether its body keeps an account of its own, and returns it. Otherwise it writes to that of the code around
        /// it, which can therefore tell whether it was executed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        own: bool,
    },
    /// A phase.
    Phase {
        /// Its name.
        name: String,
        /// Its body.
        body: Box<Node>,
    },
    /// All at once; the first failure fails it.
    All {
        /// The branches.
        of: Vec<Node>,
    },
    /// All at once; the first to settle decides. The losers go on.
    Race {
        /// The branches.
        of: Vec<Node>,
    },
    /// `try { body } catch { rescue } finally { cleanup }`
    Try {
        /// The body.
        body: Box<Node>,
        /// What is done about an error; without it the error is swallowed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rescue: Option<Box<Node>>,
        /// What is done in any case.
        cleanup: Box<Node>,
    },
    /// The same, several times.
    Repeat {
        /// How often.
        times: u32,
        /// What.
        body: Box<Node>,
    },
    /// An error.
    Throw {
        /// Whether a retry may help.
        retryable: bool,
    },
    /// The end of the step as skipped.
    Skip,
    /// `await new Promise(() => {})`
    Never,
}

/// Writes pieces with a separator.
fn join(f: &mut fmt::Formatter<'_>, of: &[Node], separator: &str) -> fmt::Result {
    for (index, node) in of.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        node.fmt(f)?;
    }
    Ok(())
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seq { of } if of.len() == 1 => of[0].fmt(f),
            Self::Seq { of } => {
                f.write_str("{")?;
                join(f, of, "; ")?;
                f.write_str("}")
            }
            Self::Shell { name } => write!(f, "shell {name}"),
            Self::Pure { name } => write!(f, "pure {name}"),
            Self::Forget { name, caught: true } => write!(f, "forget {name}"),
            Self::Forget { name, caught: false } => write!(f, "forget! {name}"),
            Self::Artifact { name } => write!(f, "artifact {name}"),
            Self::Invoke { name } => write!(f, "invoke {name}"),
            Self::Sleep { name, ms } => write!(f, "sleep {name} {ms}"),
            Self::Wait { name, ms: 0 } => write!(f, "wait {name}"),
            Self::Wait { name, ms } => write!(f, "wait {name} {ms}"),
            Self::Approve { name, ms: 0 } => write!(f, "approve {name}"),
            Self::Approve { name, ms } => write!(f, "approve {name} {ms}"),
            Self::Set { key, .. } => write!(f, "set {key}"),
            Self::Get { key } => write!(f, "get {key}"),
            Self::Delete { key } => write!(f, "delete {key}"),
            Self::Random => f.write_str("random"),
            Self::Now => f.write_str("now"),
            Self::Comment { .. } => f.write_str("comment"),
            Self::Log => f.write_str("log"),
            Self::Step { name, body, attempts, timeout, own, .. } => {
                let own = if *own { "own " } else { "" };
                write!(f, "{own}step {name}×{attempts}")?;
                if *timeout > 0 {
                    write!(f, " within {timeout}")?;
                }
                write!(f, "({body})")
            }
            Self::Phase { name, body } => write!(f, "phase {name}({body})"),
            Self::All { of } => {
                f.write_str("all[")?;
                join(f, of, " | ")?;
                f.write_str("]")
            }
            Self::Race { of } => {
                f.write_str("race[")?;
                join(f, of, " | ")?;
                f.write_str("]")
            }
            Self::Try { body, rescue: Some(rescue), cleanup } => {
                write!(f, "try {body} catch {rescue} finally {cleanup}")
            }
            Self::Try { body, rescue: None, cleanup } => write!(f, "try {body} finally {cleanup}"),
            Self::Repeat { times, body } => write!(f, "repeat {times}({body})"),
            Self::Throw { retryable: true } => f.write_str("throw"),
            Self::Throw { retryable: false } => f.write_str("throw!"),
            Self::Skip => f.write_str("skip"),
            Self::Never => f.write_str("never"),
        }
    }
}
