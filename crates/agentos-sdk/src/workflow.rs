//! A workflow: an async function with a name and a config.

use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;
use std::time::Duration;

use agentos_core::concurrency::{Concurrency, Scope};
use agentos_core::entry::RunStarted;
use agentos_core::id::{RunId, Seed};
use agentos_core::name::{Name, NameError};
use agentos_core::program::BodyOutcome;
use agentos_core::retry::RetryPolicy;
use agentos_core::time::Timestamp;
use agentos_core::value::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::body::{self, BodyFuture};
use crate::ctx::{Ctx, millis};
use crate::error::Result;
use crate::input::{InputError, accept_input};
use crate::json;
use crate::program::RustProgram;
use crate::run::RunInfo;

type Function = Arc<dyn Fn(Ctx, Value) -> BodyFuture + Send + Sync>;

/// What is known of a workflow without executing it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WorkflowConfig {
    /// What it does, for people.
    pub description: Option<String>,
    /// The author's version.
    pub version: Option<String>,
    /// How long a run may be active: have something open that is not a wait.
    pub timeout: Duration,
    /// How long a run may take at all.
    pub deadline: Option<Duration>,
    /// How steps are retried that say nothing about it.
    pub retry: RetryPolicy,
    /// A JSON schema for the input.
    pub input: Option<Value>,
    /// Where it works: `auto`, `worktree`, `clone`, `jj` or `none`.
    pub workspace: Option<String>,
    /// How many runs of it are at work at once.
    pub concurrency: Option<Concurrency>,
}

impl Default for WorkflowConfig {
    fn default() -> Self {
        Self {
            description: None,
            version: None,
            timeout: Duration::from_secs(3_600),
            deadline: None,
            retry: RetryPolicy::default(),
            input: None,
            workspace: None,
            concurrency: None,
        }
    }
}

/// A workflow. Cheap to clone.
#[derive(Clone)]
pub struct Workflow {
    name: Arc<str>,
    config: WorkflowConfig,
    definition: Option<String>,
    function: Function,
}

impl Workflow {
    /// A workflow of this name, made of lower-case letters, digits and `-`.
    ///
    /// The function must be deterministic: whatever it wants from the world, it asks `ctx` for.
    pub fn new<I, O, F, Fut>(name: impl AsRef<str>, function: F) -> Self
    where
        I: DeserializeOwned,
        O: Serialize,
        F: Fn(Ctx, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O>> + Send + 'static,
    {
        let function = move |ctx: Ctx, input: Value| -> BodyFuture {
            match json::decode(|| "the input".to_owned(), input) {
                Ok(input) => body::future(function(ctx, input)),
                Err(failure) => Box::pin(std::future::ready(BodyOutcome::Threw(failure))),
            }
        };
        Self {
            name: name.as_ref().into(),
            config: WorkflowConfig::default(),
            definition: None,
            function: Arc::new(function),
        }
    }

    /// Says what it does.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.config.description = Some(description.into());
        self
    }

    /// The author's version. Change it with the code: it is part of the definition that a run keeps.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.config.version = Some(version.into());
        self
    }

    /// How long a run may be active: have something open that is not a wait. Output that waits for room on a
    /// full disk is none. One hour, if nothing is said.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.config.timeout = timeout;
        self
    }

    /// How long a run may take at all.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.config.deadline = Some(deadline);
        self
    }

    /// How steps are retried that say nothing about it.
    #[must_use]
    pub const fn retry(mut self, retry: RetryPolicy) -> Self {
        self.config.retry = retry;
        self
    }

    /// A JSON schema for the input. A run is started only with an input that fits. Defaults are applied first; a property
    /// that the schema does not list is refused, unless it says `additionalProperties`.
    ///
    /// Help and forms ask for its properties in the order of their letters, unless the schema says another: a map of
    /// `serde_json` does not remember how it was written. `"x-order": ["title", "folder"]` beside `"properties"` does.
    #[must_use]
    pub fn input(mut self, schema: Value) -> Self {
        self.config.input = Some(schema);
        self
    }

    /// Works in a workspace of this kind unless whoever starts it says otherwise: `auto`, `worktree`, `clone`, `jj`, or
    /// `none` for the checkout itself.
    #[must_use]
    pub fn workspace(mut self, kind: impl Into<String>) -> Self {
        self.config.workspace = Some(kind.into());
        self
    }

    /// Lets so many runs of it be at work at once in a repository, at least one; the others wait for a slot. A run that only
    /// waits (for a person, a time, another run) does not count.
    #[must_use]
    pub const fn concurrency(self, limit: u32) -> Self {
        self.limited(limit, Scope::Repo)
    }

    /// As [`Self::concurrency`], over all repositories of the user.
    #[must_use]
    pub const fn concurrency_of_user(self, limit: u32) -> Self {
        self.limited(limit, Scope::User)
    }

    const fn limited(mut self, limit: u32, scope: Scope) -> Self {
        let limit = if limit == 0 { 1 } else { limit };
        self.config.concurrency = Some(Concurrency { limit, scope });
        self
    }

    /// Completes an input with the schema's defaults and checks it, if there is a schema.
    ///
    /// # Errors
    /// As [`accept_input`].
    pub fn accept_input(&self, input: Value) -> Result<Value, InputError> {
        accept_input(self.config.input.as_ref(), input)
    }

    /// The definition's hash, for whoever knows a better one than that of name and version (a hash of the binary, say).
    #[must_use]
    pub fn definition_hash(mut self, hash: impl Into<String>) -> Self {
        self.definition = Some(hash.into());
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is known of it.
    #[must_use]
    pub const fn config(&self) -> &WorkflowConfig {
        &self.config
    }

    /// The hash of its definition: runs under another one have to be moved. A function can't be hashed, so this is as good
    /// as the version that its author gave.
    #[must_use]
    pub fn definition(&self) -> String {
        if let Some(hash) = &self.definition {
            return hash.clone();
        }
        let mut hash = SipHasher24::new();
        let version = self.config.version.as_deref().unwrap_or_default();
        for part in ["rust", &*self.name, version] {
            hash.write_usize(part.len());
            hash.write(part.as_bytes());
        }
        format!("{:032x}", hash.finish128().as_u128())
    }

    /// A fresh execution of it. Every replay needs a new one.
    #[must_use]
    pub fn program(&self, info: RunInfo) -> RustProgram {
        RustProgram::new(self.clone(), info)
    }

    /// What a run of it starts with at this time.
    ///
    /// # Errors
    /// Its name is none; a [`crate::Workflows`] takes no such workflow.
    pub fn run_started(
        &self,
        run: RunId,
        input: Value,
        seed: Seed,
        now: Timestamp,
    ) -> Result<RunStarted, NameError> {
        Ok(RunStarted {
            definition: self.definition(),
            input,
            seed,
            timeout_ms: Some(millis(self.config.timeout)),
            deadline: self.config.deadline.map(|deadline| now.after(millis(deadline))),
            ..RunStarted::new(run, Name::new(&self.name)?)
        })
    }

    pub(crate) fn call(&self, ctx: Ctx, input: Value) -> BodyFuture {
        (self.function)(ctx, input)
    }
}

impl fmt::Debug for Workflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workflow")
            .field("name", &self.name)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
