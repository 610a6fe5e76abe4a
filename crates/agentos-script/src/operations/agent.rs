//! A call of `ctx.runCli`: a session of a coding agent.

use std::collections::BTreeMap;

use agentos_core::failure::Failure;
use agentos_core::operation::{OperationKind, Request};
use agentos_core::value::Value;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{fill, perform, read};
use crate::config::Milliseconds;

/// An agent as `agent(name)` makes it, or only its name.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "the second argument is an agent: `claude`, `codex`, `gemini` or `agent(name)`"
)]
enum Agent {
    Known { agent: String },
    Named(String),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Options {
    model: Option<String>,
    system_prompt: Option<String>,
    permission_mode: Option<PermissionMode>,
    allowed_tools: Option<Vec<String>>,
    max_turns: Option<u32>,
    timeout: Option<Milliseconds>,
    idle_timeout: Option<Milliseconds>,
    budget: Option<Budget>,
    json: Option<bool>,
    schema: Option<Value>,
    resume: Option<String>,
    on_retry: Option<OnRetry>,
    mcp_servers: Option<BTreeMap<String, Value>>,
    env: Option<BTreeMap<String, String>>,
    cwd: Option<String>,
    check: Option<bool>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum PermissionMode {
    ReadOnly,
    AcceptEdits,
    Full,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usd: Option<f64>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum OnRetry {
    Fresh,
    Continue,
}

/// What the call asks for. A role means whoever plays it.
///
/// # Errors
/// Its arguments are not what they should be.
pub(super) fn request(args: &str, roles: &BTreeMap<String, String>) -> Result<Request, Failure> {
    let (name, agent, prompt, options): (String, Agent, String, Option<Options>) =
        read("ctx.runCli(name, agent, prompt, options)", args)?;
    let (Agent::Known { agent } | Agent::Named(agent)) = agent;
    let agent = roles.get(&agent).cloned().unwrap_or(agent);
    let options = options.unwrap_or_default();
    let mut order = json!({ "agent": agent, "prompt": prompt });
    let text = |text: Option<String>| text.map(Value::String);
    let fields = [
        ("model", text(options.model)),
        ("system_prompt", text(options.system_prompt)),
        ("permission_mode", options.permission_mode.map(|mode| json!(mode))),
        ("allowed_tools", options.allowed_tools.map(|tools| json!(tools))),
        ("max_turns", options.max_turns.map(|turns| json!(turns))),
        ("timeout_ms", options.timeout.map(|timeout| json!(timeout.millis()))),
        ("idle_timeout_ms", options.idle_timeout.map(|timeout| json!(timeout.millis()))),
        ("budget", options.budget.map(|budget| json!(budget))),
        ("json", options.json.map(Value::Bool)),
        ("schema", options.schema),
        ("resume", text(options.resume)),
        ("on_retry", options.on_retry.map(|on_retry| json!(on_retry))),
        ("mcp_servers", options.mcp_servers.map(|servers| json!(servers))),
        ("env", options.env.map(|env| json!(env))),
        ("cwd", text(options.cwd)),
        ("check", options.check.map(Value::Bool)),
    ];
    fill(&mut order, fields);
    perform(OperationKind::Agent, &name, order)
}

/// An answer as scripts know it.
pub(super) fn answer(mut answer: Value) -> Value {
    let mut take = |field: &str| answer.get_mut(field).map(Value::take).unwrap_or_default();
    let mut known = json!({
        "text": take("text"),
        "truncated": take("truncated").as_bool().unwrap_or_default(),
        "json": take("json"),
        "sessionId": take("session_id"),
        "agent": take("agent"),
        "model": take("model"),
        "usage": {
            "inputTokens": take("input_tokens"),
            "outputTokens": take("output_tokens"),
            "cachedTokens": take("cached_tokens"),
        },
        "cost": take("cost_usd"),
        "exitReason": take("exit_reason"),
        "exitCode": take("exit_code"),
    });
    // Only of a session that was no success and may be none.
    if let message @ Value::String(_) = take("message") {
        known["message"] = message;
    }
    known
}
