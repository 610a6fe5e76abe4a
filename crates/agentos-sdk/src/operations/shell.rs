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
    /// Executes a command in the workspace. One that exits with anything but 0 is a failure, unless
    /// [`Shell::unchecked`] says otherwise.
    #[track_caller]
    pub fn shell(&self, command: impl Into<String>) -> Shell<'_> {
        Shell {
            ctx: self,
            command: command.into(),
            args: None,
            cwd: None,
            env: BTreeMap::new(),
            timeout: None,
            idle_timeout: None,
            input: None,
            check: true,
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
    /// The signal that ended it; then the exit code is 128 and the signal.
    #[serde(default)]
    pub signal: Option<i32>,
    /// How long it took.
    #[serde(default, alias = "durationMs")]
    pub duration_ms: u64,
    /// Whether the middle of its output was left out because there was too much of it.
    #[serde(default)]
    pub truncated: bool,
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
    idle_timeout: Option<Duration>,
    input: Option<String>,
    check: bool,
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

    /// How long it may take. Waiting for room on a full disk does not count.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long it may say nothing.
    pub const fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// What it reads from its standard input; otherwise there is nothing to read.
    pub fn input(mut self, input: impl Into<String>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// Takes whatever it exits with for an answer: see [`Output::exit_code`].
    pub const fn unchecked(mut self) -> Self {
        self.check = false;
        self
    }

    /// What it is called in the log; otherwise a hash of the command.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Orders it, without waiting.
    pub fn start(self) -> Answer<Output> {
        let Self { ctx, command, args, cwd, env, timeout, idle_timeout, input, check, name, from } =
            self;
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
        if let Some(timeout) = idle_timeout {
            order["idle_timeout_ms"] = json!(millis(timeout));
        }
        if let Some(input) = input {
            order["input"] = json!(input);
        }
        if !check {
            order["check"] = json!(false);
        }
        ctx.ask(perform(OperationKind::Shell, &name, order), from)
    }
}

asks_when_awaited!(Shell<'_> => Output);
