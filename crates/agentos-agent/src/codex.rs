//! Codex CLI: `codex exec --json`.
//!
//! It has no limit of turns and chooses the names of its sessions itself. Its usage is the total of the whole
//! conversation, told at the end, so the difference is taken. An `error` is not the end: it may be trying again.

mod stream;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::agent::{
    Agent, Command, Facts, Request, RequestError, Session, Translator, short_enough,
};
use crate::mcp::for_codex;
use crate::permission::Permission;
use crate::usage::Baseline;

/// Codex CLI.
#[derive(Debug, Clone)]
pub(crate) struct Codex {
    /// The program and what is always said to it first.
    pub(crate) program: Vec<String>,
    /// More arguments, as the user wishes.
    pub(crate) args: Vec<String>,
}

impl Agent for Codex {
    fn command(&self, request: &Request) -> Result<Command, RequestError> {
        let unsupported = |option, advice| {
            Err(RequestError::Unsupported { agent: "codex".to_owned(), option, advice })
        };
        if request.max_turns.is_some() {
            return unsupported("maxTurns", "it has no limit of turns; use `timeout` or `budget`");
        }
        if !request.allowed_tools.is_empty() {
            return unsupported("allowedTools", "it has a sandbox instead; see `permissionMode`");
        }
        let mut argv = self.program.clone();
        argv.push("exec".to_owned());
        if let Session::Resumed(_) = request.session {
            argv.push("resume".to_owned());
        }
        argv.extend(["--json", "--skip-git-repo-check"].map(str::to_owned));
        let mut set = |key: &str, value: &str| {
            argv.extend(["-c".to_owned(), format!("{key}={}", quoted(value))]);
        };
        match request.permission {
            Permission::ReadOnly => set("sandbox_mode", "read-only"),
            Permission::AcceptEdits => set("sandbox_mode", "workspace-write"),
            Permission::Full => {}
        }
        if let Some(prompt) = &request.system_prompt {
            set("developer_instructions", short_enough("systemPrompt", prompt)?);
        }
        let mut env = BTreeMap::new();
        for (name, server) in &request.mcp_servers {
            let text = toml_of(&for_codex(name, server, &mut env)?);
            argv.extend(["-c".to_owned(), format!("mcp_servers.{name}={text}")]);
        }
        if request.permission == Permission::Full {
            argv.push("--dangerously-bypass-approvals-and-sandbox".to_owned());
        }
        if let Some(model) = &request.model {
            argv.extend(["-m".to_owned(), model.clone()]);
        }
        argv.extend(self.args.iter().cloned());
        if let Session::Resumed(id) = &request.session {
            argv.push(id.clone());
        }
        // The prompt is read from the standard input.
        argv.push("-".to_owned());
        Ok(Command { argv, input: Some(request.prompt.clone()), env, ..Command::default() })
    }

    fn translator(&self, before: Baseline) -> Box<dyn Translator> {
        Box::new(stream::Stream::new(before))
    }

    fn takes_session_id(&self) -> bool {
        false
    }

    fn variables(&self) -> &[&'static str] {
        &["OPENAI_", "CODEX_"]
    }

    fn facts(&self) -> Option<Facts> {
        Some(Facts {
            program: self.program.first()?.clone(),
            tested: "0.166.0",
            keys: &["CODEX_API_KEY"],
            logins: &[("CODEX_HOME", ".codex", "auth.json")],
            install: "npm install -g @openai/codex",
        })
    }
}

/// A text of TOML, which JSON's are.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A value of TOML, on one line.
fn toml_of(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| format!("{}={}", quoted(name), toml_of(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(members) => {
            let members: Vec<String> = members.iter().map(toml_of).collect();
            format!("[{}]", members.join(","))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_set_is_toml() {
        let server = json!({ "command": "a \"b\"", "args": ["x", "y"], "env": { "K": "v" } });
        let text = format!("server = {}", toml_of(&server));
        let read: toml::Table = text.parse().expect("TOML");
        assert_eq!(serde_json::to_value(&read["server"]).unwrap(), server);
    }
}
