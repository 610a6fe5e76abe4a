//! A session of a coding agent.

use std::panic::Location;
use std::time::Duration;

use agentos_core::failure::Failure;
use agentos_core::operation::OperationKind;
use agentos_core::value::Value;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::asks_when_awaited;
use crate::answer::Answer;
use crate::ctx::{Ctx, millis, perform};
use crate::json;

impl Ctx {
    /// A session of a coding agent in the workspace: `claude`, `codex`, `gemini`, or one that the configuration knows. One
    /// that is no success is a failure, unless [`Session::unchecked`] says otherwise.
    #[track_caller]
    pub fn run_cli(
        &self,
        name: impl Into<String>,
        agent: impl Into<String>,
        prompt: impl Into<String>,
    ) -> Session<'_> {
        let order = json!({ "agent": agent.into(), "prompt": prompt.into() });
        Session { ctx: self, name: name.into(), order, from: Location::caller() }
    }
}

/// What an agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Look, and change nothing.
    ReadOnly,
    /// Change files of the workspace; commands only within the agent's own sandbox, or if they are allowed by name.
    AcceptEdits,
    /// Everything that the user may do.
    Full,
}

/// What a session came to.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct SessionResult {
    /// What the agent said last.
    #[serde(default)]
    pub text: String,
    /// Whether it said more than `text` has, which is 1 MiB at most. Up to 16 MiB of it are an artifact of the
    /// session.
    #[serde(default)]
    pub truncated: bool,
    /// The answer as JSON, if that was asked for.
    #[serde(default)]
    pub json: Value,
    /// What the agent calls the session.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// Tokens sent, if all are known: not where a process of the session ended before it said what it had used.
    #[serde(default)]
    pub input_tokens: Option<u64>,
    /// Tokens written, if that is known.
    #[serde(default)]
    pub output_tokens: Option<u64>,
    /// Tokens sent, and read from a cache, if that is known.
    #[serde(default)]
    pub cached_tokens: Option<u64>,
    /// What it cost in US dollars, if that is known.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// How it ended: `completed`, or what went wrong.
    #[serde(default)]
    pub exit_reason: String,
}

impl SessionResult {
    /// Whether all went well.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.exit_reason == "completed"
    }

    /// The answer, as a type of yours.
    ///
    /// # Errors
    /// It is not of that type.
    pub fn answer<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        json::decode(|| "the agent's answer".to_owned(), self.json.clone())
    }
}

/// A session that is about to begin.
#[derive(Debug)]
#[must_use = "a session is ordered when it is awaited or started"]
pub struct Session<'a> {
    ctx: &'a Ctx,
    name: String,
    order: Value,
    from: &'static Location<'static>,
}

impl Session<'_> {
    /// The model; otherwise the agent's own choice.
    pub fn model(self, model: impl Into<String>) -> Self {
        self.with("model", json!(model.into()))
    }

    /// Said to the model before the prompt, besides what the agent says itself.
    pub fn system_prompt(self, prompt: impl Into<String>) -> Self {
        self.with("system_prompt", json!(prompt.into()))
    }

    /// What it may do without asking; otherwise [`PermissionMode::AcceptEdits`].
    pub fn permission_mode(self, mode: PermissionMode) -> Self {
        self.with("permission_mode", json!(mode))
    }

    /// Tools that it may use besides, by the agent's own names for them.
    pub fn allowed_tools<T: Into<String>>(self, tools: impl IntoIterator<Item = T>) -> Self {
        let tools: Vec<String> = tools.into_iter().map(Into::into).collect();
        self.with("allowed_tools", json!(tools))
    }

    /// How many turns it may take.
    pub fn max_turns(self, turns: u32) -> Self {
        self.with("max_turns", json!(turns))
    }

    /// How long it may take. Waiting for room on a full disk does not count.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with("timeout_ms", json!(millis(timeout)))
    }

    /// How long it may say nothing; otherwise half an hour.
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        self.with("idle_timeout_ms", json!(millis(timeout)))
    }

    /// How many tokens it may send and write. It is ended when it uses more.
    pub fn token_budget(self, tokens: u64) -> Self {
        self.within("budget", "tokens", json!(tokens))
    }

    /// How many US dollars it may cost. It is ended when it uses more.
    pub fn usd_budget(self, usd: f64) -> Self {
        self.within("budget", "usd", json!(usd))
    }

    /// The answer is to be JSON. One that is not is asked for again, once.
    pub fn json(self) -> Self {
        self.with("json", json!(true))
    }

    /// The answer is to be JSON as this schema says.
    pub fn schema(self, schema: Value) -> Self {
        self.with("schema", schema)
    }

    /// Goes on with an earlier session of this run.
    pub fn resume(self, name: impl Into<String>) -> Self {
        self.with("resume", json!(name.into()))
    }

    /// A further attempt of the step goes on with the session of the one before; otherwise it begins a new one.
    pub fn continue_on_retry(self) -> Self {
        self.with("on_retry", json!("continue"))
    }

    /// An MCP server: `{"command": …, "args": …}` or `{"url": …}`.
    pub fn mcp_server(self, name: &str, server: Value) -> Self {
        self.within("mcp_servers", name, server)
    }

    /// Adds a variable to its environment.
    pub fn env(self, name: &str, value: impl Into<String>) -> Self {
        self.within("env", name, json!(value.into()))
    }

    /// Where, relative to the workspace.
    pub fn cwd(self, cwd: impl Into<String>) -> Self {
        self.with("cwd", json!(cwd.into()))
    }

    /// Takes however it ends for an answer: see [`SessionResult::exit_reason`].
    pub fn unchecked(self) -> Self {
        self.with("check", json!(false))
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.order[key] = value;
        self
    }

    fn within(mut self, key: &str, name: &str, value: Value) -> Self {
        self.order[key][name] = value;
        self
    }

    /// Orders it, without waiting.
    pub fn start(self) -> Answer<SessionResult> {
        self.ctx.ask(perform(OperationKind::Agent, &self.name, self.order), self.from)
    }
}

asks_when_awaited!(Session<'_> => SessionResult);
