//! What a workflow asked for becomes a command.

use std::collections::BTreeMap;
use std::time::Duration;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::value::Value;
use agentos_process::bounds::INPUT_BYTES;
use agentos_process::environment::built_up;
use agentos_process::secret::Secrets;
use agentos_process::spec::{CommandSpec, Limits, Program};
use serde::Deserialize;

use super::{Ground, Settings};

/// A command, as a workflow asks for it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) struct Request {
    command: String,
    /// Without a shell, if there are any.
    args: Option<Vec<String>>,
    cwd: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(alias = "timeout")]
    timeout_ms: Option<u64>,
    #[serde(alias = "idleTimeout")]
    idle_timeout_ms: Option<u64>,
    input: Option<String>,
    /// Whether a command that says it failed is a failure.
    #[serde(default = "checked")]
    pub(super) check: bool,
}

const fn checked() -> bool {
    true
}

impl Request {
    pub(super) fn parse(args: Value) -> Result<Self, Failure> {
        let request: Self = serde_json::from_value(args)
            .map_err(|error| refused(format!("this is no command: {error}")))?;
        match request.input.as_ref().map_or(0, String::len) {
            0..=INPUT_BYTES => Ok(request),
            length => {
                let advice = "put it into a file in the workspace";
                Err(refused(format!("an input of {length} bytes is too long; {advice}")))
            }
        }
    }

    /// What it is called, for people.
    pub(super) fn title(&self) -> &str {
        &self.command
    }

    pub(super) fn spec(
        &self,
        settings: &Settings,
        ground: &Ground,
    ) -> Result<CommandSpec, Failure> {
        let program = match &self.args {
            Some(args) => Program::Argv([std::slice::from_ref(&self.command), args].concat()),
            None => Program::Line(self.command.clone()),
        };
        let added = settings.env.iter().chain(&ground.env).chain(&self.env);
        let added = added.map(|(name, value)| (name.clone(), value.clone()));
        let env = built_up(std::env::vars_os(), added);
        let named = env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let secrets = Secrets::of(named, settings.secrets.iter().map(String::as_str));
        let limits = Limits {
            wall: self.timeout_ms.map(Duration::from_millis),
            idle: self.idle_timeout_ms.map(Duration::from_millis),
            orphan: settings.orphan,
            room: settings.room,
            ..Limits::default()
        };
        let spec = CommandSpec::new(program, ground.inside(self.cwd.as_deref())?);
        let spec = spec.map_err(|error| refused(format!("no mark could be drawn: {error}")))?;
        Ok(CommandSpec { env, secrets, limits, input: self.input.clone(), ..spec })
    }
}

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::NonRetryable, message)
}
