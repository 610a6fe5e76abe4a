//! Scenarios: what the scripted agent plays, as TOML or JSON.
//!
//! ```toml
//! model = "scripted-1"
//!
//! [[session]]
//! name = "implement"                 # which session; all if left out
//! prompt = "hello"                   # only if the prompt has this in it
//! play = [
//!     { think = "A file is all it takes." },
//!     { say = "I will write it." },
//!     { write = { file = "hello.txt", content = "hello\n" } },
//!     { run = "wc -l hello.txt" },
//!     { tokens = { input = 1200, output = 80, cost_usd = 0.004 } },
//!     { say = "Done." },
//! ]
//! ```

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::bounds::{SCENARIO_BYTES, SCENARIO_ITEMS};
use crate::verdict::TroubleKind;

/// Why there is nothing to play.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// The file can't be read.
    #[error("the scenario {} can't be read: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no scenario.
    #[error("{} is no scenario: {why}", path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// What the scripted agent plays.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Which model it says that it is.
    #[serde(default = "model")]
    pub model: String,
    /// What it plays in which session. The first that fits and was not played in the session yet.
    #[serde(default, rename = "session")]
    pub parts: Vec<Part>,
}

fn model() -> String {
    "scripted".to_owned()
}

/// What is played in some sessions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Only in sessions of this name.
    pub name: Option<String>,
    /// Only in place of this agent.
    pub agent: Option<String>,
    /// Only for prompts that have this in them.
    pub prompt: Option<String>,
    /// Only in this attempt of the step.
    pub attempt: Option<u32>,
    /// What is played.
    #[serde(default)]
    pub play: Vec<Item>,
}

/// Who asks for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    /// In place of which agent.
    pub agent: &'a str,
    /// What the session is called.
    pub name: &'a str,
    /// With what.
    pub prompt: &'a str,
    /// In which attempt of the step.
    pub attempt: u32,
}

impl Part {
    fn fits(&self, asked: &Asked<'_>) -> bool {
        self.name.as_deref().is_none_or(|name| name == asked.name)
            && self.agent.as_deref().is_none_or(|agent| agent == asked.agent)
            && self.prompt.as_deref().is_none_or(|part| asked.prompt.contains(part))
            && self.attempt.is_none_or(|attempt| attempt == asked.attempt)
    }
}

/// What whoever wrote an item wrongly should know: where it was is told by the format's own reader.
const ITEMS: &str = "each item of `play` is one thing to do, such as { say = \"…\" } or \
                     { write = { file = \"…\", content = \"…\" } }";

/// One thing that the agent does.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Item {
    /// Says something. The last is its answer.
    Say(String),
    /// Thinks aloud.
    Think(String),
    /// Uses a tool that does nothing.
    Call {
        /// Which.
        tool: String,
        /// With what.
        #[serde(default)]
        input: Value,
        /// What it answers.
        #[serde(default)]
        output: String,
        /// Whether it works.
        #[serde(default = "works")]
        ok: bool,
    },
    /// Writes a file of the workspace.
    Write {
        /// Which.
        file: String,
        /// What is in it from then on.
        content: String,
    },
    /// Replaces the first occurrence of a text in a file.
    Patch {
        /// Which.
        file: String,
        /// What is looked for.
        find: String,
        /// What takes its place.
        replace: String,
    },
    /// Removes a file.
    Delete(String),
    /// Executes a command in the workspace. It fails where the command does, unless another tool call is asked for.
    Run(String),
    /// Waits, so many milliseconds.
    Wait(u64),
    /// Says nothing more, for ever.
    Hang {},
    /// Writes so many bytes that nobody needs.
    Flood(u64),
    /// Writes a line as it is, whatever it may be.
    Line(String),
    /// Has used so much.
    Tokens {
        /// Sent.
        #[serde(default)]
        input: u64,
        /// Written.
        #[serde(default)]
        output: u64,
        /// Sent, and read from a cache.
        #[serde(default)]
        cached: u64,
        /// What it cost.
        cost_usd: Option<f64>,
    },
    /// Tries something again.
    Retry(String),
    /// Was not allowed to use a tool.
    Deny(String),
    /// Fails.
    Fail {
        /// How.
        #[serde(default = "failing")]
        kind: TroubleKind,
        /// In which words.
        #[serde(default)]
        message: String,
    },
    /// Ends with this status, without a word about how it went.
    Exit(i32),
}

const fn works() -> bool {
    true
}

const fn failing() -> TroubleKind {
    TroubleKind::Api
}

impl Scenario {
    /// Reads a scenario: JSON if the file's name says so, else TOML.
    ///
    /// # Errors
    /// [`ScenarioError`].
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let io = |source| ScenarioError::Io { path: path.to_owned(), source };
        let mut text = String::new();
        let file = File::open(path).map_err(io)?;
        file.take(SCENARIO_BYTES).read_to_string(&mut text).map_err(io)?;
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        Self::parse(&text, is_json)
            .map_err(|why| ScenarioError::Format { path: path.to_owned(), why })
    }

    fn parse(text: &str, is_json: bool) -> Result<Self, String> {
        let read: Result<Self, String> = if is_json {
            serde_json::from_str(text).map_err(|error| error.to_string())
        } else {
            toml::from_str(text).map_err(|error| error.to_string())
        };
        let scenario = read.map_err(|why| format!("{}\n{ITEMS}", why.trim_end()))?;
        let items: usize = scenario.parts.iter().map(|part| part.play.len()).sum();
        if items > SCENARIO_ITEMS {
            return Err(format!("it has {items} items, more than {SCENARIO_ITEMS}"));
        }
        Ok(scenario)
    }

    /// What is played: the first part that fits and was not played yet, else the last that fits.
    #[must_use]
    pub fn part(&self, asked: &Asked<'_>, played: &[usize]) -> Option<(usize, &Part)> {
        let fitting = || self.parts.iter().enumerate().filter(|(_, part)| part.fits(asked));
        fitting().find(|(at, _)| !played.contains(at)).or_else(|| fitting().next_back())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        [[session]]
        name = "plan"
        play = [{ say = "first" }]
        [[session]]
        name = "plan"
        prompt = "again"
        play = [{ write = { file = "a", content = "b" } }, { hang = {} }]
        [[session]]
        play = [{ fail = {} }]
    "#;

    fn asked<'a>(name: &'a str, prompt: &'a str) -> Asked<'a> {
        Asked { agent: "claude", name, prompt, attempt: 1 }
    }

    #[test]
    fn the_first_part_that_fits_and_was_not_played_is_played() {
        let scenario = Scenario::parse(TEXT, false).expect("a scenario");
        let part =
            |asked: &Asked<'_>, played: &[usize]| scenario.part(asked, played).map(|(at, _)| at);
        assert_eq!(part(&asked("plan", "go"), &[]), Some(0));
        assert_eq!(part(&asked("plan", "once again"), &[0]), Some(1));
        assert_eq!(part(&asked("plan", "once more"), &[0]), Some(2));
        assert_eq!(part(&asked("other", ""), &[2]), Some(2));
    }

    #[test]
    fn what_is_misspelt_is_named() {
        let error = Scenario::parse("[[session]]\nplay = [{ sya = \"x\" }]", false).unwrap_err();
        assert!(error.contains("sya"), "{error}");
        let two = "[[session]]\nplay = [{ write = \"a.txt\", text = \"x\" }]";
        let error = Scenario::parse(two, false).unwrap_err();
        assert!(error.contains("{ write = { file = "), "{error}");
        let json = r#"{"session": [{"play": [{"say": "x"}, {"wait": 5}]}]}"#;
        assert_eq!(Scenario::parse(json, true).expect("JSON").parts[0].play.len(), 2);
    }
}
