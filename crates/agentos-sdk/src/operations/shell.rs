//! A command in the workspace.

use std::collections::BTreeMap;
use std::panic::Location;
use std::time::Duration;

use agentos_core::operation::OperationKind;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{asks_when_awaited, hashed};
use crate::answer::Answer;
use crate::ctx::{Ctx, millis, perform};

impl Ctx {
    /// Executes a command in the workspace.
    #[track_caller]
    pub fn shell(&self, command: impl Into<String>) -> Shell<'_> {
        Shell {
            ctx: self,
            command: command.into(),
            args: None,
            cwd: None,
            env: BTreeMap::new(),
            timeout: None,
            name: None,
            from: Location::caller(),
        }
    }
}

/// What a command left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// What it wrote to its standard output.
    #[serde(default)]
    pub stdout: String,
    /// What it wrote to its standard error.
    #[serde(default)]
    pub stderr: String,
    /// Its exit code.
    #[serde(alias = "exitCode")]
    pub exit_code: i32,
}

impl Output {
    /// Whether the command says that it worked.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        self.exit_code == 0
    }
}

/// A command that is about to be ordered.
#[derive(Debug)]
#[must_use = "a command is ordered when it is awaited or started"]
pub struct Shell<'a> {
    ctx: &'a Ctx,
    command: String,
    args: Option<Vec<String>>,
    cwd: Option<String>,
    env: BTreeMap<String, String>,
    timeout: Option<Duration>,
    name: Option<String>,
    from: &'static Location<'static>,
}

impl Shell<'_> {
    /// Takes the command for a program and executes it with these arguments, without a shell in between.
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.get_or_insert_default().extend(args.into_iter().map(Into::into));
        self
    }

    /// Where, relative to the workspace.
    pub fn cwd(mut self, cwd: impl Into<String>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Adds a variable to its environment.
    pub fn env(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(key.into(), value.into());
        self
    }

    /// How long it may take.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// What it is called in the log; otherwise a hash of the command.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Orders it, without waiting.
    pub fn start(self) -> Answer<Output> {
        let Self { ctx, command, args, cwd, env, timeout, name, from } = self;
        let name = name.unwrap_or_else(|| hashed(&command));
        let mut order = json!({ "command": command });
        if let Some(args) = args {
            order["args"] = json!(args);
        }
        if let Some(cwd) = cwd {
            order["cwd"] = json!(cwd);
        }
        if !env.is_empty() {
            order["env"] = json!(env);
        }
        if let Some(timeout) = timeout {
            order["timeout_ms"] = json!(millis(timeout));
        }
        ctx.ask(perform(OperationKind::Shell, &name, order), from)
    }
}

asks_when_awaited!(Shell<'_> => Output);
