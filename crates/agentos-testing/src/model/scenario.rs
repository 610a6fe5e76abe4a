//! What the model says: a scenario of exchanges, each a prompt and the turns that follow it.
//!
//! The same in Rust, TOML and JSON:
//!
//! ```toml
//! [[exchange]]
//! when = "hello"                      # the first exchange whose text is in the prompt; without it, any prompt
//!
//! [[exchange.turn]]
//! faults = [{ status = 429 }]         # the first request that comes here; the second one is answered
//! say = "I will do it."
//! call = [{ write = { path = "hello.txt", content = "hello\n" } }]
//!
//! [[exchange.turn]]
//! say = "All done."
//! usage = { input = 100, cached = 60, output = 20 }
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::fault::Fault;

/// The largest scenario file that is read.
const MAX_FILE_BYTES: u64 = 4 << 20;
const MAX_EXCHANGES: usize = 256;
const MAX_TURNS: usize = 256;
const MAX_CALLS: usize = 32;

/// Everything that the model says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Tried in their order; the first that fits a prompt answers it.
    #[serde(rename = "exchange")]
    pub exchanges: Vec<Exchange>,
}

/// One prompt, and the turns with which the model works on it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// A piece of the prompts that this is for; without it, every prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Given one after the other: each answer follows the results of the calls before it.
    #[serde(rename = "turn")]
    pub turns: Vec<Turn>,
    /// Whether the last turn is given again and again. Otherwise a request after the last turn is refused.
    #[serde(default)]
    pub endless: bool,
}

/// One answer of the model, or the fault that comes instead.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// What happens to the first requests that come here, one fault each.
    pub faults: Vec<Fault>,
    /// What happens to every request after that; without it, they are answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// What the model says.
    pub say: String,
    /// What it then wants to be done.
    #[serde(rename = "call")]
    pub calls: Vec<Call>,
    /// What the answer is said to have cost.
    pub usage: Usage,
}

/// Something that the model wants to be done, through whatever tool the client has for it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// A new file, below the client's folder.
    Write {
        /// Where, relative to the client's folder.
        path: String,
        /// The whole content.
        content: String,
    },
    /// A command for the shell.
    Run(String),
    /// A tool by its own name, for one kind of client.
    Tool {
        /// As the client calls it.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
}

/// Tokens of one answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// All tokens that went in, the cached ones too.
    pub input: u64,
    /// Those of them that came from a cache.
    pub cached: u64,
    /// All tokens that came out.
    pub output: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 100, cached: 40, output: 20 }
    }
}

/// Why a scenario can't be used.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// The file can't be read.
    #[error("could not read the scenario {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is too large to be one.
    #[error("the scenario {0} is larger than 4 MiB")]
    TooLarge(PathBuf),
    /// It is not what it should be.
    #[error("{path} is no scenario: {why}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// There is more of something than a server keeps.
    #[error("a scenario has between 1 and {limit} {what}; this one has {found}")]
    Count {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: usize,
        /// How many there are.
        found: usize,
    },
    /// A status with which nothing can be refused.
    #[error("{0} is no HTTP status of an error; use one from 400 to 599")]
    Status(u16),
}

impl Scenario {
    /// A scenario of one exchange.
    #[must_use]
    pub fn new(exchange: Exchange) -> Self {
        Self { exchanges: vec![exchange] }
    }

    /// The same with another exchange, tried after those before it.
    #[must_use]
    pub fn and(mut self, exchange: Exchange) -> Self {
        self.exchanges.push(exchange);
        self
    }

    /// Reads a scenario from a file: JSON if it is called `*.json`, TOML otherwise.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let unreadable = |source| ScenarioError::Unreadable { path: path.to_owned(), source };
        if fs::metadata(path).map_err(unreadable)?.len() > MAX_FILE_BYTES {
            return Err(ScenarioError::TooLarge(path.to_owned()));
        }
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let malformed = |why: String| ScenarioError::Malformed { path: path.to_owned(), why };
        let scenario: Self = if path.extension().is_some_and(|extension| extension == "json") {
            serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?
        } else {
            toml::from_str(&text).map_err(|error| malformed(error.to_string()))?
        };
        scenario.check()?;
        Ok(scenario)
    }

    /// Whether a server can play it.
    pub fn check(&self) -> Result<(), ScenarioError> {
        within("exchanges", MAX_EXCHANGES, self.exchanges.len())?;
        for exchange in &self.exchanges {
            within("turns in an exchange", MAX_TURNS, exchange.turns.len())?;
            exchange.turns.iter().try_for_each(Turn::check)?;
        }
        Ok(())
    }
}

fn within(what: &'static str, limit: usize, found: usize) -> Result<(), ScenarioError> {
    if (1..=limit).contains(&found) {
        Ok(())
    } else {
        Err(ScenarioError::Count { what, limit, found })
    }
}

impl Exchange {
    /// An answer to any prompt.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: turns.into_iter().collect(), ..Self::default() }
    }

    /// The same, only for prompts that have this in them.
    #[must_use]
    pub fn when(mut self, text: impl Into<String>) -> Self {
        self.when = Some(text.into());
        self
    }

    /// The same, with the last turn given again and again.
    #[must_use]
    pub fn endless(mut self) -> Self {
        self.endless = true;
        self
    }

    /// The turn that comes after so many answers.
    pub(super) fn turn(&self, answers: usize) -> Option<(usize, &Turn)> {
        let last = self.turns.len().checked_sub(1)?;
        let at = if self.endless { answers.min(last) } else { answers };
        self.turns.get(at).map(|turn| (at, turn))
    }
}

impl Turn {
    /// The model says something.
    pub fn say(text: impl Into<String>) -> Self {
        Self { say: text.into(), ..Self::default() }
    }

    /// Every request that comes here meets this fault.
    #[must_use]
    pub fn failing(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::say("I was about to say something.") }
    }

    /// The same, with something to be done.
    #[must_use]
    pub fn call(mut self, call: Call) -> Self {
        self.calls.push(call);
        self
    }

    /// The same, after the next request that comes here has met this fault.
    #[must_use]
    pub fn after(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// The same, for so many tokens.
    #[must_use]
    pub fn using(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    fn check(&self) -> Result<(), ScenarioError> {
        if self.calls.len() > MAX_CALLS {
            let found = self.calls.len();
            return Err(ScenarioError::Count { what: "calls in a turn", limit: MAX_CALLS, found });
        }
        self.faults.iter().chain(&self.fault).try_for_each(|fault| match fault {
            Fault::Status(status) if !(400..600).contains(status) => {
                Err(ScenarioError::Status(*status))
            }
            _ => Ok(()),
        })
    }
}

impl Call {
    /// Write a file.
    pub fn write(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self::Write { path: path.into(), content: content.into() }
    }

    /// Run a command.
    pub fn run(command: impl Into<String>) -> Self {
        Self::Run(command.into())
    }
}
