//! One call on the thread that calls git: what it needs, and clearing up before and after it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use agentos_core::failure::Failure;
use agentos_core::value::Value;
use agentos_process::leftovers::end_marked;
use agentos_process::token::Token;
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::version_control::{self, Halt, Mark, VersionControlError};
use agentos_workspace::workspace::guard;

use super::check::{self, Prospect};
use super::errand::Errand;
use super::propose::{Circumstances, Proposal, propose};
use super::{GRACE, GitSettings};
use crate::shell::Ground;

/// All that is needed on the thread that calls git.
pub(super) struct Visit {
    pub(super) errand: Arc<Errand>,
    pub(super) mark: Mark,
    /// The mark of its programs.
    pub(super) token: Token,
    /// Whether somebody who was killed may have left some at work.
    pub(super) is_recovered: bool,
    pub(super) scratch: PathBuf,
    pub(super) ground: Ground,
    /// The project's root.
    pub(super) project: PathBuf,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) halt: Halt,
    pub(super) settings: Arc<GitSettings>,
}

/// What came of it.
pub(super) enum Done {
    /// An answer.
    Answer(Value),
    /// A pull request can be opened.
    Proposal(Box<Proposal>),
    /// As far as git knows, one could be opened.
    Prospect(Box<Prospect>),
}

/// What came instead.
pub(super) enum Trouble {
    /// With the history or a remote.
    History(VersionControlError),
    /// With something else.
    Failure(Failure),
}

impl From<VersionControlError> for Trouble {
    fn from(error: VersionControlError) -> Self {
        Self::History(error)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl Visit {
    pub(super) fn run(self) -> Result<Done, Trouble> {
        let text = |(name, value): (&String, &String)| (OsString::from(name), value.into());
        let surroundings = Surroundings {
            cwd: Some(self.ground.path.clone()),
            home: self.environment.get("HOME").map(Into::into),
            environment: self.environment.iter().map(text).collect(),
        };
        let end = || end_marked(&self.token, GRACE);
        if self.is_recovered {
            end().map_err(VersionControlError::from)?;
        }
        let (scratch, halt) = (self.scratch.clone(), self.halt.clone());
        let repository = version_control::open(&self.ground.path, scratch, surroundings, halt)?;
        if self.is_recovered {
            repository.clear_up(self.errand.branch())?;
        }
        let around = Circumstances {
            forge: &self.settings.forge,
            template: self.settings.template.as_ref(),
            project: self.project.clone(),
            environment: &self.environment,
        };
        let done = match &*self.errand {
            Errand::CheckPr(wanted) => check::look(wanted, &*repository, &around)
                .map(|found| Done::Prospect(Box::new(found))),
            Errand::CreatePr(wish) => {
                if self.is_recovered && self.errand.is_change() {
                    repository.abort_rebase()?;
                }
                propose(wish, &*repository, &around).map(|made| Done::Proposal(Box::new(made)))
            }
            errand => errand.run(&*repository, &self.mark).map(Done::Answer).map_err(Trouble::from),
        };
        if done.is_ok()
            && let Some(branch) = self.errand.branch()
            && let Err(error) = guard::own_branch(&self.ground.path, branch)
        {
            tracing::warn!(%error, branch, "the branch is not known as the run's own");
        }
        if self.errand.starts_programs()
            && let Err(error) = end()
        {
            tracing::warn!(%error, "what a hook left at work can't be ended");
        }
        done
    }
}
