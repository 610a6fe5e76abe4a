//! Claude Code: `claude -p --output-format stream-json`.
//!
//! An error of the model's server has the subtype `success` and is an error all the same; a tool that was not allowed ends
//! in `is_error: false`. Cost is reported as the total of the whole conversation, so the difference is taken.

mod stream;

use crate::agent::{
    Agent, Command, Facts, Request, RequestError, Session, Translator, short_enough, shown,
};
use crate::mcp::for_claude;
use crate::permission::Permission;
use crate::usage::Baseline;

/// Claude Code.
#[derive(Debug, Clone)]
pub(crate) struct Claude {
    /// The program and what is always said to it first.
    pub(crate) program: Vec<String>,
    /// More arguments, as the user wishes.
    pub(crate) args: Vec<String>,
}

impl Agent for Claude {
    fn command(&self, request: &Request) -> Result<Command, RequestError> {
        let mut argv = self.program.clone();
        argv.extend(
            ["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
                .map(str::to_owned),
        );
        let permission: &[&str] = match request.permission {
            Permission::ReadOnly => &["--permission-mode", "plan"],
            Permission::AcceptEdits => &["--permission-mode", "acceptEdits"],
            Permission::Full => &["--dangerously-skip-permissions"],
        };
        argv.extend(permission.iter().map(|word| (*word).to_owned()));
        let mut say = |flag: &str, value: &str| argv.extend([flag.to_owned(), value.to_owned()]);
        if !request.allowed_tools.is_empty() {
            say("--allowedTools", &request.allowed_tools.join(","));
        }
        if let Some(model) = &request.model {
            say("--model", model);
        }
        if let Some(prompt) = &request.system_prompt {
            say("--append-system-prompt", short_enough("systemPrompt", prompt)?);
        }
        if let Some(turns) = request.max_turns {
            say("--max-turns", &turns.to_string());
        }
        if let Some(usd) = request.max_usd {
            say("--max-budget-usd", &usd.to_string());
        }
        let mut files = Vec::new();
        if !request.mcp_servers.is_empty() {
            let path = request.folder.join(format!("mcp-{}.json", request.session.id()));
            say("--mcp-config", &shown(&path));
            argv.push("--strict-mcp-config".to_owned());
            let servers = request.mcp_servers.iter();
            let servers: serde_json::Map<String, serde_json::Value> =
                servers.map(|(name, server)| (name.clone(), for_claude(server))).collect();
            let servers = serde_json::json!({ "mcpServers": servers });
            files.push((path, servers.to_string()));
        }
        let (flag, id) = match &request.session {
            Session::New(id) => ("--session-id", id),
            Session::Resumed(id) => ("--resume", id),
        };
        argv.extend(self.args.iter().cloned());
        argv.extend([flag.to_owned(), id.clone()]);
        // An agent that replaces itself while it works is another one than the one that was started.
        let env = [("DISABLE_AUTOUPDATER".to_owned(), "1".to_owned())].into();
        Ok(Command { argv, input: Some(request.prompt.clone()), env, files })
    }

    fn translator(&self, before: Baseline) -> Box<dyn Translator> {
        Box::new(stream::Stream::new(before))
    }

    fn takes_session_id(&self) -> bool {
        true
    }

    fn tells_cost(&self) -> bool {
        true
    }

    fn variables(&self) -> &[&'static str] {
        &["ANTHROPIC_", "CLAUDE_CODE_", "CLAUDE_CONFIG_DIR", "API_TIMEOUT_MS"]
    }

    fn facts(&self) -> Option<Facts> {
        Some(Facts {
            program: self.program.first()?.clone(),
            tested: "2.1.325",
            keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            logins: &[("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json")],
            install: "npm install -g @anthropic-ai/claude-code",
        })
    }
}
