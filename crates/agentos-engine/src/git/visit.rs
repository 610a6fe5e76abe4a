//! One call on the thread that calls git: what it needs, and clearing up before and after it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentos_core::failure::Failure;
use agentos_core::value::Value;
use agentos_process::clock::pause;
use agentos_process::leftovers::end_marked;
use agentos_process::token::Token;
use agentos_process::tool::killed_by;
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

/// How often a call is made from its beginning that a signal ends, and how long the pause before the second is; it doubles.
const CALLS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(250);

impl Visit {
    /// Makes the call. If a signal ends git in the middle of it, it is made again from its beginning, as after a crash: it
    /// finds out by itself what is done already, and what git has left is cleared up first.
    pub(super) fn run(self) -> Result<Done, Trouble> {
        let note = self.scratch.with_extension("killed");
        let mut is_recovered = self.is_recovered || note.exists();
        let mut wait = PAUSE;
        for _ in 1..CALLS {
            match self.call(is_recovered) {
                Err(Trouble::History(error)) if self.is_killed(&error) => is_recovered = true,
                done => return settled(&note, done),
            }
            pause(wait);
            wait *= 2;
        }
        let done = self.call(is_recovered);
        if matches!(&done, Err(Trouble::History(error)) if self.is_killed(error)) {
            // The next visit has to clear up, too. A folder, which goes with the others of the run.
            if let Err(error) = fs::create_dir_all(&note) {
                tracing::warn!(%error, "it can't be noted that a git was killed");
            }
            return done;
        }
        settled(&note, done)
    }

    fn is_killed(&self, error: &VersionControlError) -> bool {
        !self.halt.is_now() && killed_by(error).is_some()
    }

    fn call(&self, is_recovered: bool) -> Result<Done, Trouble> {
        let text = |(name, value): (&String, &String)| (OsString::from(name), value.into());
        let surroundings = Surroundings {
            cwd: Some(self.ground.path.clone()),
            home: self.environment.get("HOME").map(Into::into),
            environment: self.environment.iter().map(text).collect(),
        };
        let end = || end_marked(&self.token, GRACE);
        if is_recovered {
            end().map_err(VersionControlError::from)?;
        }
        let (scratch, halt) = (self.scratch.clone(), self.halt.clone());
        let repository = version_control::open(&self.ground.path, scratch, surroundings, halt)?;
        if is_recovered {
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
                if is_recovered && self.errand.is_change() {
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

/// No git was killed in the end, whether or not it succeeded.
fn settled(note: &Path, done: Result<Done, Trouble>) -> Result<Done, Trouble> {
    let _none = fs::remove_dir(note);
    done
}
