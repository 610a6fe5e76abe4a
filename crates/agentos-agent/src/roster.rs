//! Which agents there are, by name: the built-in ones, those of the configuration, and what a run has put in their place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::agent::Agent;
use crate::configured::{AgentSpec, Kind};
use crate::scripted::Scripted;

/// Names that everybody has.
const BUILT_IN: [&str; 4] = ["claude", "codex", "gemini", "scripted"];

/// Between the name of an agent and its scenario.
const BEFORE_SCENARIO: char = ':';

/// Why there is no such agent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RosterError {
    /// Nobody of that name.
    #[error(
        "there is no agent `{name}`; there are {known}. Add it to the configuration as [agents.{name}]"
    )]
    Unknown {
        /// The name.
        name: String,
        /// Who there is.
        known: String,
    },
    /// Only the scripted agent plays scenarios.
    #[error("`{name}` plays no scenario; say `scripted:FILE`, or `{name}` without a file")]
    PlaysNothing {
        /// The name.
        name: String,
    },
    /// The scripted agent has nothing to play.
    #[error(
        "`{name}` has no scenario to play; say `--agent {name}=scripted:FILE`, or set `scenario` in [agents.{name}]"
    )]
    NoScenario {
        /// The name.
        name: String,
    },
}

/// The name of the agent that works under this name, when `instead` puts others in the place of some.
#[must_use]
pub fn put_for<'a>(name: &'a str, instead: &'a BTreeMap<String, String>) -> &'a str {
    let put = instead.get(name).map_or(name, String::as_str);
    put.split_once(BEFORE_SCENARIO).filter(|_| put != name).map_or(put, |(put, _)| put)
}

/// An agent and what it is given.
pub struct Member {
    /// What it is called, after everything was put in its place.
    pub name: String,
    /// The agent.
    pub agent: Box<dyn Agent>,
    /// The model, where nobody names one.
    pub model: Option<String>,
    /// What it finds in its environment.
    pub env: BTreeMap<String, String>,
    /// Which variables of AgentOS's own environment it is given: names, and beginnings that end in `_`.
    pub variables: Vec<String>,
}

impl Member {
    /// Whether it is given this variable of AgentOS's own environment.
    #[must_use]
    pub fn takes(&self, variable: &str) -> bool {
        self.variables.iter().any(|known| {
            known == variable || (known.ends_with('_') && variable.starts_with(known.as_str()))
        })
    }
}

/// Which agents there are.
#[derive(Debug, Clone, Default)]
pub struct Roster {
    specs: BTreeMap<String, AgentSpec>,
    /// How the scripted agent is started: a program with a verb that plays, and where it remembers sessions.
    player: Vec<String>,
    /// Where scenarios of the configuration are looked for.
    folder: PathBuf,
}

impl Roster {
    /// Those of the configuration and the built-in ones. `player` starts the scripted agent.
    #[must_use]
    pub fn new(specs: BTreeMap<String, AgentSpec>, player: Vec<String>, folder: &Path) -> Self {
        Self { specs, player, folder: folder.to_owned() }
    }

    /// All names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = BUILT_IN.map(str::to_owned).to_vec();
        names.extend(self.specs.keys().filter(|name| !BUILT_IN.contains(&name.as_str())).cloned());
        names
    }

    /// The agent of this name, or whoever `instead` puts in its place: another name, or `scripted:FILE`.
    ///
    /// # Errors
    /// [`RosterError`].
    pub fn member(
        &self,
        name: &str,
        instead: &BTreeMap<String, String>,
    ) -> Result<Member, RosterError> {
        // A scenario is named by whoever starts the run, not by the workflow.
        let put = instead.get(name).map(|put| match put.split_once(BEFORE_SCENARIO) {
            Some((put, scenario)) => (put, Some(PathBuf::from(scenario))),
            None => (put.as_str(), None),
        });
        let (put, scenario) = put.unwrap_or((name, None));
        let spec = self.specs.get(put).cloned().unwrap_or_default();
        if !self.specs.contains_key(put) && Kind::named(put).is_none() {
            let known = self.names().join(", ");
            return Err(RosterError::Unknown { name: put.to_owned(), known });
        }
        if scenario.is_some() && spec.kind(put) != Kind::Scripted {
            return Err(RosterError::PlaysNothing { name: put.to_owned() });
        }
        let scripted = || {
            let own = spec.scenario.as_ref().map(|scenario| self.folder.join(scenario));
            let scenario = scenario.or(own);
            let scenario =
                scenario.ok_or_else(|| RosterError::NoScenario { name: name.to_owned() })?;
            Ok(Scripted { player: self.player.clone(), scenario, as_name: name.to_owned() })
        };
        let agent = match spec.agent(put) {
            Some(agent) => agent,
            None => Box::new(scripted()?) as Box<dyn Agent>,
        };
        let own = agent.variables().iter().map(|name| (*name).to_owned());
        let variables = own.chain(spec.pass.iter().cloned()).collect();
        Ok(Member { name: put.to_owned(), agent, model: spec.model, env: spec.env, variables })
    }
}
