//! Performs what workflows ask of the history of their workspaces.
//!
//! These are short programs without a supervisor. Whoever is killed in the middle may leave one of them at work, or the
//! commit that the run does not know of. An order that is performed again therefore first ends what carries the mark of its
//! try, then clears up behind it, and then does everything once more: each verb finds out by itself what is done already.
//!
//! What a hook leaves in the background is ended with the call that ran it.

//! A pull request takes two steps: what is git's is done like everything else (`propose`), then the forge is asked
//! (`open`), which needs no thread to wait. Whether one could be opened is looked at in the same two steps (`check`).

mod check;
mod door;
mod errand;
mod open;
mod propose;
mod summary;
mod template;
mod turns;
mod visit;
mod wish;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_core::entry::OperationResult;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, Try};
use agentos_core::path::OperationId;
use agentos_core::time::Timestamp;
use agentos_core::value::Value;
use agentos_process::environment::built_up;
use agentos_process::leftovers::end_marked;
use agentos_process::secret::Secrets;
use agentos_process::token::{self, Token};
use agentos_process::tool::killed_by;
use agentos_store::records::Records;
use agentos_workspace::version_control::{Halt, Mark, VersionControlError};
use async_trait::async_trait;
use serde_json::json;

use crate::clock::{Clock as _, SystemClock};
use crate::performer::{Order, Performed, Performer, Ticket};
use crate::shell::{Ground, Grounds, NoOutput, OutputSink, Refusal, Whose, Workspaces, run_folder};
use crate::tool_hold;
pub use agentos_forge::{Kind as ForgeKind, RetryPolicy};
pub use door::{ForgeSettings, GITHUB_API};
use errand::Errand;
use open::Request;
use propose::Proposal;
pub use template::PROJECT_TEMPLATE;
use turns::Turns;
use visit::{Done, Trouble, Visit};

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
    /// What is known of forges.
    pub forge: ForgeSettings,
    /// The file with the template of pull requests, relative to the project; [`PROJECT_TEMPLATE`] if nothing is said.
    pub template: Option<PathBuf>,
    /// Where is looked up what a run has done, for its pull request.
    pub records: Option<Arc<dyn Records>>,
    /// Where remarks go.
    pub output: Box<dyn OutputSink>,
}

impl GitSettings {
    /// As a rule. `root` is where the folders of runs are.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self {
            grounds: Box::new(Workspaces),
            env: BTreeMap::new(),
            secrets: Vec::new(),
            root,
            forge: ForgeSettings::default(),
            template: None,
            records: None,
            output: Box::new(NoOutput),
        }
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

    async fn performed(
        &self,
        mut order: Order,
        ticket: &Ticket,
    ) -> Result<OperationResult, Refusal> {
        let ground = self.settings.grounds.of(order.visitor()).await?;
        let mark = token_of(order.run, &order.operation, order.r#try);
        let environment = self.environment(&ground, &mark);
        let named = environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let declared = self.settings.secrets.iter().map(String::as_str);
        let secrets = Secrets::of(named, declared);
        let errand = Arc::new(Errand::parse(&order.operation, order.args.take())?);
        let turn = match errand.is_change() {
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
            errand: Arc::clone(&errand),
            mark: Mark::of(&order.run.to_string(), order.operation.as_str()),
            token: mark,
            is_recovered: order.recovered,
            scratch: self.scratch(order.run, &order.operation),
            ground,
            project: PathBuf::from(&order.home.project_path),
            environment,
            halt: Halt::default(),
            settings: Arc::clone(&self.settings),
        };
        let done = visited(visit, ticket).await;
        drop(turn);
        let done = match (done, &*errand) {
            (Ok(Done::Proposal(proposal)), Errand::CreatePr(wish)) => {
                let whose = Whose::of(&order);
                let opening =
                    Opening { whose: &whose, wish, proposal: &proposal, secrets: &secrets };
                self.opened(opening, ticket).await
            }
            (Ok(Done::Answer(value)), _) => Ok(value),
            (Ok(Done::Prospect(prospect)), _) => unless_stopped(ticket, prospect.answer()).await,
            (Ok(Done::Proposal(_)), _) => Ok(Value::Null),
            (Err(trouble), _) => Err(trouble),
        };
        match done {
            Ok(value) => Ok(OperationResult::Ok { value: masked(value, &secrets) }),
            Err(_) if ticket.stop.is_cancelled() => Ok(OperationResult::Cancelled {}),
            Err(Trouble::History(error)) => match killed_by(&error) {
                Some(killed) => {
                    let message = secrets.masked(&error.to_string());
                    let since = self.created_at(order.run).await;
                    Err(Refusal::Held(tool_hold::hold(message, since, killed.is_helper)))
                }
                None => Err(failure(&error, &secrets).into()),
            },
            Err(Trouble::Failure(failure)) => {
                let message = secrets.masked(&failure.message);
                Err(Failure { message, ..failure }.into())
            }
        }
    }

    /// Opens the pull request, unless somebody wants it to stop.
    async fn opened(&self, opening: Opening<'_>, ticket: &Ticket) -> Result<Value, Trouble> {
        let Opening { whose, wish, proposal, secrets } = opening;
        let mark = Mark::of(&whose.run.to_string(), whose.operation.as_str()).to_string();
        let step = whose.step.as_ref().map(|(number, _)| number.0);
        let settings = &self.settings;
        let request = Request { settings, run: whose.run, step, mark, wish, proposal, secrets };
        let value = unless_stopped(ticket, request.answer()).await?;
        for line in remarks(&value) {
            settings.output.remark(whose, &secrets.masked(&line));
        }
        Ok(value)
    }

    /// When a run was created; now, if that is not known.
    async fn created_at(&self, run: RunId) -> Timestamp {
        let known = match &self.settings.records {
            Some(records) => records.run_detail(run).await.ok(),
            None => None,
        };
        known.map_or_else(|| SystemClock.now(), |detail| detail.run.created_at)
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

/// An answer of a forge, unless somebody wants it to stop.
async fn unless_stopped(
    ticket: &Ticket,
    answer: impl Future<Output = Result<Value, Failure>>,
) -> Result<Value, Trouble> {
    tokio::select! {
        answer = answer => answer.map_err(Trouble::from),
        () = ticket.stop.cancelled() => Err(Failure::cancelled().into()),
    }
}

/// A pull request that is about to be opened.
struct Opening<'a> {
    whose: &'a Whose,
    wish: &'a wish::Wish,
    proposal: &'a Proposal,
    secrets: &'a Secrets,
}

/// Calls git on a thread of its own, and ends what it started if somebody wants it to stop.
async fn visited(visit: Visit, ticket: &Ticket) -> Result<Done, Trouble> {
    let (halt, mark) = (visit.halt.clone(), visit.token.clone());
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
    let panicked = |_| Failure::new(FailureKind::Error, "whoever called git panicked");
    done.map_err(panicked)?
}

/// What is said in the run's log about a pull request.
fn remarks(answer: &Value) -> Vec<String> {
    let text = |key: &str| answer[key].as_str().unwrap_or_default();
    let behind = match (answer["rebased"] == true, answer["behind"].as_u64().unwrap_or_default()) {
        (true, _) => Some(format!("rebased `{}` onto `{}`", text("branch"), text("base"))),
        (false, 0) => None,
        (false, 1) => Some(format!("`{}` is 1 commit behind `{}`", text("branch"), text("base"))),
        (false, count) => {
            Some(format!("`{}` is {count} commits behind `{}`", text("branch"), text("base")))
        }
    };
    let opened = answer["pr_url"].as_str().map(|url| format!("pull request: {url}"));
    let note = answer["note"].as_str().map(str::to_owned);
    behind.into_iter().chain(opened).chain(note).collect()
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
