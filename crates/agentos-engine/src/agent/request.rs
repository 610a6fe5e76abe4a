//! What a workflow asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use agentos_agent::permission::Permission;
use agentos_core::failure::Failure;
use agentos_core::value::Value;
use agentos_process::bounds::INPUT_BYTES;
use serde::Deserialize;

use super::refused;

/// How long an agent may say nothing unless it is said otherwise: a tool that builds for half an hour is rare, an agent that
/// hangs is not.
const IDLE_MS: u64 = 30 * 60 * 1_000;

/// Most that may be added to a prompt by us, in bytes.
const ADDED: usize = 256 << 10;

/// A session, as a workflow asks for it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Asked {
    /// Which agent.
    pub(super) agent: String,
    pub(super) prompt: String,
    pub(super) model: Option<String>,
    pub(super) system_prompt: Option<String>,
    #[serde(default, rename = "permission_mode")]
    pub(super) permission: Permission,
    #[serde(default)]
    pub(super) allowed_tools: Vec<String>,
    pub(super) max_turns: Option<u32>,
    timeout_ms: Option<u64>,
    idle_timeout_ms: Option<u64>,
    #[serde(default)]
    pub(super) budget: Budget,
    /// Whether the answer is to be JSON.
    #[serde(default)]
    json: bool,
    /// What the JSON is to look like.
    pub(super) schema: Option<Value>,
    /// The name of an earlier session of the run that is gone on with.
    pub(super) resume: Option<String>,
    #[serde(default)]
    pub(super) on_retry: OnRetry,
    #[serde(default)]
    pub(super) mcp_servers: BTreeMap<String, Value>,
    /// Added to the agent's environment.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Where, relative to the workspace.
    pub(super) cwd: Option<String>,
    /// Whether a session that is no success is a failure.
    #[serde(default = "checked")]
    pub(super) check: bool,
}

const fn checked() -> bool {
    true
}

/// How much a session may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Budget {
    /// Tokens, sent and written.
    pub(super) tokens: Option<u64>,
    /// US dollars.
    pub(super) usd: Option<f64>,
}

/// What a further attempt of the step does with the session of the one before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnRetry {
    /// Nothing: a new one begins.
    #[default]
    Fresh,
    /// It is gone on with.
    Continue,
}

impl Asked {
    pub(super) fn parse(args: Value) -> Result<Self, Failure> {
        let asked: Self = serde_json::from_value(args)
            .map_err(|error| refused(format!("this is no session of an agent: {error}")))?;
        if asked.prompt.trim().is_empty() {
            return Err(refused("the prompt is empty; say what the agent is to do".to_owned()));
        }
        let longest = INPUT_BYTES - ADDED;
        if asked.prompt.len() > longest {
            let length = asked.prompt.len();
            let advice = "put it into a file in the workspace and name that";
            return Err(refused(format!("a prompt of {length} bytes is too long; {advice}")));
        }
        asked.check_numbers()?;
        // It would be taken for an option.
        let words = asked.model.iter().chain(&asked.allowed_tools);
        if let Some(word) = words.into_iter().find(|word| word.trim_start().starts_with('-')) {
            return Err(refused(format!("`{word}` is neither a model nor a tool")));
        }
        let is_plain = |name: &str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
        };
        if let Some(name) = asked.mcp_servers.keys().find(|name| !is_plain(name)) {
            let advice = "use letters, digits, `-` and `_`";
            return Err(refused(format!("`{name}` can't be the name of an MCP server; {advice}")));
        }
        Ok(asked)
    }

    /// Limits that nothing could keep are mistakes.
    fn check_numbers(&self) -> Result<(), Failure> {
        let limits = [
            ("maxTurns", self.max_turns == Some(0)),
            ("timeout", self.timeout_ms == Some(0)),
            ("budget.tokens", self.budget.tokens == Some(0)),
            ("budget.usd", self.budget.usd.is_some_and(|usd| !(usd > 0.0 && usd.is_finite()))),
        ];
        match limits.iter().find(|(_, is_wrong)| *is_wrong) {
            Some((name, _)) => Err(refused(format!("`{name}` has to be more than 0"))),
            None => Ok(()),
        }
    }

    /// Whether the answer is to be JSON.
    pub(super) const fn wants_json(&self) -> bool {
        self.json || self.schema.is_some()
    }

    /// How long it may take, of which so much is gone.
    pub(super) fn time_left(&self, gone: Duration) -> Option<Duration> {
        let left = Duration::from_millis(self.timeout_ms?).saturating_sub(gone);
        // Whoever has no time left is to notice, and not to run for ever.
        Some(left.max(Duration::from_millis(1)))
    }

    /// How long it may say nothing; 0 is for ever.
    pub(super) fn idle(&self) -> Option<Duration> {
        match self.idle_timeout_ms.unwrap_or(IDLE_MS) {
            0 => None,
            ms => Some(Duration::from_millis(ms)),
        }
    }
}
