//! Gemini CLI: `gemini -o stream-json`.
//!
//! A limit of turns and MCP servers can only be written into settings files of the user or of the workspace, which are not
//! ours: it passes over any other file that is not root's. So both are refused. It has nothing for words before the prompt,
//! so those come first in the prompt. A stream that was cut off ends in exit status 0: only its last event is believed.

mod stream;

use crate::agent::{Agent, Command, Facts, Request, RequestError, Session, Translator};
use crate::permission::Permission;
use crate::usage::Baseline;

/// Gemini CLI.
#[derive(Debug, Clone)]
pub(crate) struct Gemini {
    /// The program and what is always said to it first.
    pub(crate) program: Vec<String>,
    /// More arguments, as the user wishes.
    pub(crate) args: Vec<String>,
}

impl Agent for Gemini {
    fn command(&self, request: &Request) -> Result<Command, RequestError> {
        let unsupported = |option, advice| {
            Err(RequestError::Unsupported { agent: "gemini".to_owned(), option, advice })
        };
        if request.max_turns.is_some() {
            let advice = "set `model.maxSessionTurns` in .gemini/settings.json of the workspace, or use `timeout` or `budget`";
            return unsupported("maxTurns", advice);
        }
        if !request.mcp_servers.is_empty() {
            let advice = "put `mcpServers` into .gemini/settings.json of the workspace";
            return unsupported("mcpServers", advice);
        }
        let mut argv = self.program.clone();
        // Without trust in the folder it does nothing at all, and the workflow has chosen the folder.
        argv.extend(["-o", "stream-json", "--skip-trust"].map(str::to_owned));
        let mut say = |flag: &str, value: &str| argv.extend([flag.to_owned(), value.to_owned()]);
        say(
            "--approval-mode",
            match request.permission {
                Permission::ReadOnly => "plan",
                Permission::AcceptEdits => "auto_edit",
                Permission::Full => "yolo",
            },
        );
        if !request.allowed_tools.is_empty() {
            say("--allowed-tools", &request.allowed_tools.join(","));
        }
        if let Some(model) = &request.model {
            say("-m", model);
        }
        let (flag, id) = match &request.session {
            Session::New(id) => ("--session-id", id),
            Session::Resumed(id) => ("--resume", id),
        };
        say(flag, id);
        argv.extend(self.args.iter().cloned());
        let mut command = Command { argv, ..Command::default() };
        // Without this it starts itself again and does not pass signals on.
        command.env.insert("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned());
        let prompt = match &request.system_prompt {
            Some(first) => format!("{first}\n\n{}", request.prompt),
            None => request.prompt.clone(),
        };
        Ok(Command { input: Some(prompt), ..command })
    }

    fn translator(&self, _: Baseline) -> Box<dyn Translator> {
        // It counts from 0 whenever it is started.
        Box::new(stream::Stream::default())
    }

    fn takes_session_id(&self) -> bool {
        true
    }

    fn variables(&self) -> &[&'static str] {
        &["GEMINI_", "GOOGLE_"]
    }

    fn facts(&self) -> Option<Facts> {
        Some(Facts {
            program: self.program.first()?.clone(),
            tested: "0.61.0",
            keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"],
            logins: &[("GEMINI_CLI_HOME", "", ".gemini/oauth_creds.json")],
            install: "npm install -g @google/gemini-cli",
        })
    }
}
