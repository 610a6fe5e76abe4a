//! Performs sessions of coding agents: each process under a supervisor of its own, like any command.
//!
//! A session is one or more *rounds*, each a process in a directory of its own: the first, another one if the agent does not
//! know the session that it was to go on with, and one that mends an answer of the wrong form. What comes next follows from
//! how the last round ended and from nothing else, so whoever performs the order again after a crash goes through the same
//! rounds: those that are over are read from their logs, one that runs is attached to, and only what has not begun is
//! started.
//!
//! If a process dies with the machine, the next try names the session to the agent and asks it to go on.

mod answer;
mod budget;
mod conduct;
mod files;
mod form;
mod known;
mod listener;
mod plan;
mod request;
mod round;
mod turns;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_agent::price::Prices;
use agentos_agent::roster::Roster;
use agentos_core::entry::OperationResult;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, Try};
use agentos_core::path::OperationId;
use agentos_process::directory::Directory;
use agentos_process::launch::Launcher;
use async_trait::async_trait;
use tokio::sync::oneshot;

pub use known::{KnownSession, NoSessions, Sessions};

use crate::performer::{Order, Performed, Performer, Ticket};
use crate::shell::{
    Grounds, OutputSink, Refusal, Whose, directory_name, end, is_begun, run_folder,
};
use conduct::Conduct;
use plan::Plan;
use turns::Turns;

/// The most processes that one try of a session takes: the first, one that begins anew, one that mends the answer.
const ROUNDS: u32 = 3;

/// Performs sessions of coding agents.
#[derive(Clone)]
pub struct AgentPerformer {
    settings: Arc<Settings>,
    turns: Turns,
}

/// How sessions are performed.
pub struct Settings {
    /// How supervisors are started.
    pub launcher: Launcher,
    /// Under which folder processes have their directories, one folder for each run.
    pub root: PathBuf,
    /// Where runs work.
    pub grounds: Box<dyn Grounds>,
    /// Which agents there are.
    pub roster: Roster,
    /// What tokens cost, for agents that do not say.
    pub prices: Prices,
    /// Our own environment: each agent is given what it needs of it.
    pub environment: BTreeMap<String, String>,
    /// Values that are masked wherever they are seen, besides those of variables whose names say so.
    pub secrets: Vec<String>,
    /// How long an agent may be left alone.
    pub orphan: Option<Duration>,
    /// Where what agents say goes while they work.
    pub output: Box<dyn OutputSink>,
    /// Which sessions a run has had.
    pub sessions: Box<dyn Sessions>,
}

impl Settings {
    fn directory(&self, run: RunId, operation: &OperationId, r#try: Try, round: u32) -> PathBuf {
        let name = directory_name(operation, r#try);
        // The first round is found where the directory of a command would be.
        let name = if round == 1 { name } else { format!("{name}.{round}") };
        run_folder(&self.root, run).join(name)
    }
}

impl AgentPerformer {
    /// Performs sessions so.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings), turns: Turns::default() }
    }

    async fn performed(&self, order: Order, ticket: Ticket) -> Result<Performed, Refusal> {
        let asked = request::Asked::parse(order.args.clone())?;
        let ground = self.settings.grounds.of(order.visitor()).await?;
        let member = self.settings.roster.member(&asked.agent, &order.home.agents);
        let member = member.map_err(|error| refused(error.to_string()))?;
        let looks_back = Plan::looks_back(&order, &asked);
        let known = self.known(order.run, looks_back).await?;
        let plan = Plan::of(&order, &asked, &member, &known)?;
        let _turn = tokio::select! {
            turn = self.turns.take(plan.session.id()) => turn,
            () = ticket.stop.cancelled() => {
                return Ok(Performed::Ended(OperationResult::Cancelled {}));
            }
        };
        // Whoever was before us may have used some.
        let known = self.known(order.run, looks_back).await?;
        let plan = Plan::of(&order, &asked, &member, &known)?;
        if !self.is_begun(order.run, &order.operation, order.r#try) {
            ground.unlock(order.is_again()).await;
        }
        let whose = Whose::of(&order);
        let (run, operation, r#try) = (whose.run, whose.operation.clone(), whose.r#try);
        let stop = ticket.stop.clone();
        let (tell, mut told) = oneshot::channel();
        let conduct = Conduct {
            settings: Arc::clone(&self.settings),
            whose,
            asked,
            member,
            ground,
            plan,
            ticket,
            was_begun: order.recovered,
        };
        std::thread::Builder::new()
            .name("agent".into())
            .spawn(move || conduct.see_through(tell))
            .map_err(|error| failed(format!("no thread could be started: {error}")))?;
        let conducted = tokio::select! {
            conducted = &mut told => conducted,
            () = stop.cancelled() => {
                self.end_all(run, &operation, r#try).await;
                told.await
            }
        };
        match conducted {
            // It says what was used until then.
            Ok(Ok(Performed::Ended(OperationResult::Failed { failure })))
                if failure.kind == FailureKind::Cancelled =>
            {
                Ok(Performed::Ended(OperationResult::Failed { failure }))
            }
            _ if stop.is_cancelled() => Ok(Performed::Ended(OperationResult::Cancelled {})),
            Ok(Ok(performed)) => Ok(performed),
            // What has begun is over, and what comes next begins when it may.
            Ok(Err(refusal @ Refusal::Held(_))) => Err(refusal),
            Ok(Err(refusal)) => {
                self.end_all(run, &operation, r#try).await;
                Err(refusal)
            }
            Err(_) => Err(failed("whoever followed the agent panicked".to_owned()).into()),
        }
    }

    /// Which sessions the run has had, if that is of any interest.
    async fn known(&self, run: RunId, is_wanted: bool) -> Result<Vec<KnownSession>, Failure> {
        match is_wanted {
            true => self.settings.sessions.of(run).await,
            false => Ok(Vec::new()),
        }
    }

    /// Ends every round that runs, and sees to it that none begins any more.
    async fn end_all(&self, run: RunId, operation: &OperationId, r#try: Try) {
        for round in 1..=ROUNDS {
            match Directory::at(&self.settings.directory(run, operation, r#try, round)) {
                Ok(directory) => end(directory).await,
                Err(error) => tracing::warn!(%error, "there is no current directory"),
            }
        }
    }
}

fn failed(message: String) -> Failure {
    Failure::new(FailureKind::Error, message)
}

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::NonRetryable, message)
}

#[async_trait]
impl Performer for AgentPerformer {
    async fn perform(&self, order: Order, ticket: Ticket) -> Performed {
        self.performed(order, ticket).await.unwrap_or_else(Performed::from)
    }

    fn is_begun(&self, run: RunId, operation: &OperationId, r#try: Try) -> bool {
        is_begun(&self.settings.directory(run, operation, r#try, 1))
    }

    async fn stop(&self, run: RunId, operation: &OperationId, r#try: Try) {
        self.end_all(run, operation, r#try).await;
    }
}
