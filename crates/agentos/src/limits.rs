//! What is limited for the runs of a command: from its configuration, and from what workflows say of themselves.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use agentos_agent::roster;
use agentos_core::concurrency::{Concurrency, Scope};
use agentos_core::entry::{Home, RunStarted};
use agentos_core::value::Value;
use agentos_engine::slots::{Claim, Quotas, Slots};
use agentos_process::token;
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::checkout::Checkout;
use agentos_workspace::surroundings::Surroundings;
use async_trait::async_trait;

use crate::config::{Limits, LiveConfig};
use crate::session::Session;

/// Where a command of a run knows from where it is.
const PLACE: &str = "AGENT_WORKSPACE_ID";

/// The queue of this user.
pub(crate) fn slots(session: &Session, store: &SqliteStore) -> Slots {
    let state = session.surroundings.state_folder();
    let folder = state.map_or_else(
        // Without a home, all who use the same database have one queue.
        || {
            let mut beside = store.path().as_os_str().to_owned();
            beside.push(".slots");
            beside.into()
        },
        |state| state.join("slots"),
    );
    Slots::new(&folder, Configured::new(session))
}

/// The queue of this user, for a process that somebody waits for: perhaps a run, whose command this is.
pub(crate) fn slots_awaited(session: &Session, store: &SqliteStore) -> Slots {
    let surroundings = &session.surroundings;
    let is_of_run = surroundings.variable(token::VARIABLE).is_some();
    let place = surroundings.variable(PLACE).filter(|_| is_of_run);
    slots(session, store).within(place.map(|place| place.to_string_lossy().into_owned()))
}

/// What the configuration says at each moment.
struct Configured {
    settings: Arc<LiveConfig>,
    surroundings: Surroundings,
    /// What makes checkouts one repository, by their paths.
    repositories: Mutex<HashMap<String, String>>,
}

impl Configured {
    fn new(session: &Session) -> Self {
        Self {
            settings: Arc::clone(&session.live),
            surroundings: session.surroundings.clone(),
            repositories: Mutex::default(),
        }
    }

    /// How many runs of a workflow may be at work, and which of them are counted together.
    fn of_workflow(limits: &Limits, name: &str, own: Option<Concurrency>) -> Option<Concurrency> {
        match limits.workflows.value.get(name) {
            Some(said) => {
                let scope = own.map(|own| own.scope).unwrap_or_default();
                said.0.map(|limit| Concurrency { limit, scope })
            }
            None => own,
        }
    }

    /// What the repository of a checkout is called: the git directory that all of its checkouts share.
    async fn repository(&self, project: &str) -> String {
        let known = || self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(project) {
            return found.clone();
        }
        let (surroundings, path) = (self.surroundings.clone(), project.to_owned());
        let found = tokio::task::spawn_blocking(move || {
            Checkout::of_folder(&surroundings, Path::new(&path)).ok().flatten()
        });
        let found = found.await.ok().flatten();
        let found = found
            .map_or_else(|| project.to_owned(), |found| found.repository.display().to_string());
        known().insert(project.to_owned(), found.clone());
        found
    }
}

#[async_trait]
impl Quotas for Configured {
    async fn of_run(&self, start: &RunStarted, own: Option<Concurrency>) -> Vec<Claim> {
        let (who, name) = (start.run.to_string(), start.workflow.as_str());
        let limits = &self.settings.current().limits;
        let workflow = Self::of_workflow(limits, name, own);
        let scope = workflow.or(own).map_or_else(Scope::default, |found| found.scope);
        let limit = workflow.map(|workflow| workflow.limit);
        let (per_repo, all) = (limits.runs_per_repo.value.0, limits.runs.value.0);
        if [limit, per_repo, all].iter().all(Option::is_none) {
            return Vec::new();
        }
        let repository = self.repository(&start.home.project_path).await;
        let claim = |key: String, limit: Option<u32>, what: String| Claim {
            key,
            limit,
            what,
            who: who.clone(),
        };
        let workflow = match scope {
            Scope::Repo => claim(
                format!("workflow {name} in {repository}"),
                limit,
                format!("runs of `{name}` in this repository"),
            ),
            Scope::User => claim(format!("workflow {name}"), limit, format!("runs of `{name}`")),
        };
        let per_repo =
            claim(format!("runs in {repository}"), per_repo, "runs in this repository".to_owned());
        let all = claim("runs".to_owned(), all, "runs in all repositories".to_owned());
        vec![workflow, per_repo, all]
    }

    fn of_session(&self, home: &Home, args: &Value, whose: String) -> Option<Claim> {
        let asked = args.get("agent").and_then(Value::as_str)?;
        let agent = roster::put_for(asked, &home.agents);
        let limit = self.settings.current().agents.specs.value.get(agent)?.concurrency?;
        let what = format!("sessions of `{agent}`");
        Some(Claim { key: format!("agent {agent}"), limit: Some(limit), what, who: whose })
    }
}
