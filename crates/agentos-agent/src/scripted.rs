//! The built-in agent: it plays a scenario, and real files change. It needs no key and no network, and the same scenario
//! does the same every time.
//!
//! It is a program of its own like any other agent (a hidden verb of ours), so that it is supervised, killed, found again
//! and resumed in exactly the same way.

pub mod play;
pub mod scenario;
mod state;

use std::path::PathBuf;

use crate::agent::{Agent, Command, Request, RequestError, Session, Translator, shown};
use crate::own::Own;
use crate::usage::Baseline;

/// The agent that plays a scenario.
pub(crate) struct Scripted {
    pub(crate) player: Vec<String>,
    pub(crate) scenario: PathBuf,
    /// In whose place it plays.
    pub(crate) as_name: String,
}

impl Agent for Scripted {
    fn command(&self, request: &Request) -> Result<Command, RequestError> {
        let mut argv = self.player.clone();
        let mut say = |flag: &str, value: String| argv.extend([flag.to_owned(), value]);
        say("--scenario", shown(&self.scenario));
        say("--as", self.as_name.clone());
        say("--name", request.name.clone());
        say("--attempt", request.attempt.to_string());
        say("--permission", request.permission.as_str().to_owned());
        if let Some(model) = &request.model {
            say("--model", model.clone());
        }
        if let Some(turns) = request.max_turns {
            say("--max-turns", turns.to_string());
        }
        match &request.session {
            Session::New(id) => say("--session", id.clone()),
            Session::Resumed(id) => say("--resume", id.clone()),
        }
        Ok(Command { argv, input: Some(request.prompt.clone()), ..Command::default() })
    }

    fn translator(&self, _: Baseline) -> Box<dyn Translator> {
        Box::new(Own::default())
    }

    fn takes_session_id(&self) -> bool {
        true
    }

    fn tells_cost(&self) -> bool {
        true
    }
}
