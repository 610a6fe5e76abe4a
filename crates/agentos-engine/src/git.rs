//! Performs what workflows ask of the history of their workspaces.
//!
//! These are short programs without a supervisor. Whoever is killed in the middle may leave one of them at work, or the
//! commit that the run does not know of. An order that is performed again therefore first ends what carries the mark of its
//! try, then clears up behind it, and then does everything once more: each verb finds out by itself what is done already.
//!
//! What a hook leaves in the background is ended with the call that ran it.

mod errand;
mod turns;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_core::entry::OperationResult;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, Try};
use agentos_core::path::OperationId;
use agentos_core::value::Value;
use agentos_process::environment::built_up;
use agentos_process::leftovers::end_marked;
use agentos_process::secret::Secrets;
use agentos_process::token::{self, Token};
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::version_control::{self, Halt, Mark, VersionControlError};
use async_trait::async_trait;
use serde_json::json;

use crate::performer::{Order, Performed, Performer, Ticket};
use crate::shell::{Ground, Grounds, Refusal, Workspaces, run_folder};
use errand::Errand;
use turns::Turns;

/// How long programs have between TERM and KILL. git takes its locks away within it.
const GRACE: Duration = Duration::from_secs(5);

/// How long to wait before looking again whether something that was stopped has ended.
const AGAIN: Duration = Duration::from_millis(50);

/// How git is called.
pub struct GitSettings {
    /// Where runs work.
    pub grounds: Box<dyn Grounds>,
    /// What git and its hooks find in their environment besides what they need.
    pub env: BTreeMap<String, String>,
    /// Values that are masked wherever they are seen, besides those of variables whose names say so.
    pub secrets: Vec<String>,
    /// Where runs have folders for what is of use only while they work, as those of commands.
    pub root: PathBuf,
}

impl GitSettings {
    /// As a rule. `root` is where the folders of runs are.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { grounds: Box::new(Workspaces), env: BTreeMap::new(), secrets: Vec::new(), root }
    }
}

/// Performs what workflows ask of git.
#[derive(Clone)]
pub struct GitPerformer {
    settings: Arc<GitSettings>,
    turns: Arc<Turns>,
}

impl GitPerformer {
    /// Performs it so.
    #[must_use]
    pub fn new(settings: GitSettings) -> Self {
        Self { settings: Arc::new(settings), turns: Arc::default() }
    }

    async fn performed(&self, order: Order, ticket: &Ticket) -> Result<OperationResult, Refusal> {
        let ground = self.settings.grounds.of(order.visitor()).await?;
        let mark = token_of(order.run, &order.operation, order.r#try);
        let environment = self.environment(&ground, &mark);
        let named = environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let declared = self.settings.secrets.iter().map(String::as_str);
        let secrets = Secrets::of(named, declared);
        let halt = Halt::default();
        let errand = Errand::parse(&order.operation, order.args)?;
        let _turn = match errand.is_change() {
            true => tokio::select! {
                turn = self.turns.of(&ground.path) => Some(turn),
                () = ticket.stop.cancelled() => {
                    // A predecessor who was killed may have left something at work.
                    end(mark).await;
                    return Ok(OperationResult::Cancelled {});
                }
            },
            false => None,
        };
        let visit = Visit {
            errand,
            mark: Mark::of(&order.run.to_string(), order.operation.as_str()),
            token: mark.clone(),
            is_recovered: order.recovered,
            scratch: self.scratch(order.run, &order.operation),
            ground,
            environment,
            halt: halt.clone(),
        };
        let mut work = tokio::task::spawn_blocking(move || visit.run());
        let done = tokio::select! {
            done = &mut work => done,
            () = ticket.stop.cancelled() => {
                halt.now();
                loop {
                    end(mark.clone()).await;
                    tokio::select! {
                        done = &mut work => break done,
                        () = tokio::time::sleep(AGAIN) => {}
                    }
                }
            }
        };
        match done {
            Ok(Ok(value)) => Ok(OperationResult::Ok { value: masked(value, &secrets) }),
            Ok(Err(_)) if ticket.stop.is_cancelled() => Ok(OperationResult::Cancelled {}),
            Ok(Err(error)) => Err(failure(&error, &secrets).into()),
            Err(_) => Err(Failure::new(FailureKind::Error, "whoever called git panicked").into()),
        }
    }

    /// Where the files of an operation are while it is performed: the same for every try, which replaces them.
    fn scratch(&self, run: RunId, operation: &OperationId) -> PathBuf {
        let mark = Mark::of(&run.to_string(), operation.as_str());
        run_folder(&self.settings.root, run).join(format!("git-{mark}"))
    }

    fn environment(&self, ground: &Ground, mark: &Token) -> BTreeMap<String, String> {
        let added = self.settings.env.iter().chain(&ground.env);
        let added = added.map(|(name, value)| (name.clone(), value.clone()));
        let outer = std::env::var(token::VARIABLE).ok();
        let marks = (token::VARIABLE.to_owned(), mark.within(outer.as_deref()));
        built_up(std::env::vars_os(), added.chain([marks]))
    }
}

/// The mark of all programs of a try.
fn token_of(run: RunId, operation: &OperationId, r#try: Try) -> Token {
    Token::of(&format!(
        "git-{}-{try}",
        Mark::of(&run.to_string(), operation.as_str()),
        r#try = r#try
    ))
}

/// Ends what carries the mark.
async fn end(mark: Token) {
    match tokio::task::spawn_blocking(move || end_marked(&mark, GRACE)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::warn!(%error, "a git can't be ended"),
        Err(error) => tracing::warn!(%error, "whoever ends a git panicked"),
    }
}

/// All that is needed on the thread that calls git.
struct Visit {
    errand: Errand,
    mark: Mark,
    /// The mark of its programs.
    token: Token,
    /// Whether somebody who was killed may have left some at work.
    is_recovered: bool,
    scratch: PathBuf,
    ground: Ground,
    environment: BTreeMap<String, String>,
    halt: Halt,
}

impl Visit {
    fn run(self) -> Result<Value, VersionControlError> {
        let Self { errand, mark, token, is_recovered, scratch, ground, environment, halt } = self;
        let text = |(name, value): (String, String)| (OsString::from(name), OsString::from(value));
        let surroundings = Surroundings {
            cwd: Some(ground.path.clone()),
            home: environment.get("HOME").map(Into::into),
            environment: environment.into_iter().map(text).collect(),
        };
        if is_recovered {
            end_marked(&token, GRACE)?;
        }
        let repository = version_control::open(&ground.path, scratch, surroundings, halt)?;
        if is_recovered {
            repository.clear_up(errand.branch())?;
        }
        let done = errand.run(&*repository, &mark);
        if errand.is_change()
            && let Err(error) = end_marked(&token, GRACE)
        {
            tracing::warn!(%error, "what a hook left at work can't be ended");
        }
        done
    }
}

fn failure(error: &VersionControlError, secrets: &Secrets) -> Failure {
    let kind = match error {
        error if error.is_timeout() => FailureKind::Timeout,
        error if error.is_final() => FailureKind::NonRetryable,
        _ => FailureKind::Error,
    };
    let detail = match error {
        VersionControlError::Hook { hook, .. } => Some(json!({ "hook": hook })),
        _ => None,
    };
    Failure { kind, message: secrets.masked(&error.to_string()), detail }
}

/// The same without what nobody may see.
fn masked(value: Value, secrets: &Secrets) -> Value {
    match value {
        Value::String(text) => Value::String(secrets.masked(&text)),
        Value::Array(items) => items.into_iter().map(|item| masked(item, secrets)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, masked(value, secrets))).collect()
        }
        other => other,
    }
}

#[async_trait]
impl Performer for GitPerformer {
    async fn perform(&self, order: Order, ticket: Ticket) -> Performed {
        let result = self.performed(order, &ticket).await;
        result.map_or_else(Performed::from, Performed::Ended)
    }

    async fn stop(&self, run: RunId, operation: &OperationId, r#try: Try) {
        end(token_of(run, operation, r#try)).await;
        // What is left of it goes with the folder of the run.
        let _left = fs::remove_dir_all(self.scratch(run, operation));
    }
}
