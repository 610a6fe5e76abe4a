//! Pushing, once: whoever wants a branch on a remote first asks whether it is there.
//!
//! Every push says what it expects to find over there (git's lease), so nobody's commits are lost in the moment between
//! asking and pushing. What may be replaced is decided here, and not by git's memory of the remote alone, which a `fetch` of
//! anybody brings up to date: unless it is said otherwise only commits that were once part of this branch, as its reflog
//! knows.

use agentos_process::clock::{moment, pause};
use agentos_process::tool::Answer;

use super::super::Result;
use super::super::bounds::{LOCK_LOOK, LOCK_TIMEOUT, POSITIONS, SAID_BYTES};
use super::super::call::CallKind;
use super::super::error::VersionControlError;
use super::super::remote::error::RemoteError;
use super::super::remote::trouble::{is_of_the_moment, rejection, remote_words};
use super::super::remote::{Force, PushOutcome, PushRequest, Pushed, Remote, without_password};
use super::super::request::input;
use super::branch::HEADS;
use super::hooks;
use super::remote::{Deadline, patiently, place_of, trouble};
use super::revision::shown;
use super::{GitRepository, refused, text};

/// A branch on its way.
struct Parcel<'a> {
    wanted: &'a PushRequest,
    remote: Remote,
    branch: String,
    commit: String,
    deadline: Deadline,
}

impl GitRepository {
    pub(super) fn push_once(&self, wanted: &PushRequest) -> Result<Pushed> {
        let branch = self.branch_or_current(wanted.branch.as_deref())?;
        let remote = self.remote_for(wanted.remote.as_deref(), Some(&branch))?;
        let commit = self.commit_of_branch(&branch)?;
        let deadline = Deadline::after(wanted.timeout());
        let parcel = Parcel { wanted, remote, branch, commit, deadline };
        let pushed = patiently(&self.halt, || self.deliver(&parcel))?;
        if wanted.set_upstream.unwrap_or(true) {
            self.follow(&parcel)?;
        }
        Ok(pushed)
    }

    /// The branch that is named, else the one that is checked out.
    pub(super) fn branch_or_current(&self, named: Option<&str>) -> Result<String> {
        if let Some(named) = named {
            return self.branch_name(named).map(str::to_owned);
        }
        self.checked_out()?.ok_or_else(|| {
            input("no branch is checked out; call `ensureBranch` first, or name a branch")
        })
    }

    pub(super) fn commit_of_branch(&self, branch: &str) -> Result<String> {
        let full = format!("{HEADS}{branch}^{{commit}}");
        let question = ["rev-parse", "--verify", "--quiet", "--end-of-options", &full];
        let answer = self.ask("rev-parse", &self.question(question))?;
        if answer.is_success() {
            return Ok(text(&answer.output).trim().to_owned());
        }
        Err(input(format!("the branch `{}` has no commit here; commit first", shown(branch))))
    }

    fn deliver(&self, parcel: &Parcel<'_>) -> Result<Pushed> {
        let Parcel { remote, branch, commit, .. } = parcel;
        let there = self.remote_commit(remote, branch, parcel.deadline)?;
        let outcome = match &there {
            Some(there) if there == commit => PushOutcome::Unchanged,
            None => PushOutcome::Created,
            Some(there) if self.is_ancestor(there, commit)? => PushOutcome::Updated,
            Some(there) => {
                self.refuse_loss_over_there(parcel, there)?;
                PushOutcome::Rewritten
            }
        };
        if outcome != PushOutcome::Unchanged {
            self.send(parcel, there.as_deref())?;
        }
        Ok(Pushed {
            remote: remote.name.clone(),
            url: without_password(&remote.url),
            branch: branch.clone(),
            commit_sha: commit.clone(),
            previous: there.filter(|_| outcome != PushOutcome::Unchanged),
            outcome,
        })
    }

    /// Whether what is over there may go.
    fn refuse_loss_over_there(&self, parcel: &Parcel<'_>, there: &str) -> Result<()> {
        let Parcel { branch, remote, wanted, .. } = parcel;
        let place = place_of(remote);
        let is_ours = match wanted.force {
            Some(Force::Never) => {
                let is_known = self.was_ours(branch, there)?;
                let branch = branch.clone();
                return Err(match is_known {
                    true => RemoteError::NotForward { remote: place, branch },
                    false => {
                        RemoteError::NotOurs { remote: place, branch, commit: there.to_owned() }
                    }
                }
                .into());
            }
            Some(Force::Lease) => self.last_seen(remote, branch)?.as_deref() == Some(there),
            None => self.was_ours(branch, there)?,
        };
        if is_ours {
            return Ok(());
        }
        let (branch, commit) = (branch.clone(), there.to_owned());
        Err(RemoteError::NotOurs { remote: place, branch, commit }.into())
    }

    /// Whether a commit was once part of this branch here.
    fn was_ours(&self, branch: &str, commit: &str) -> Result<bool> {
        let most = format!("--max-count={POSITIONS}");
        let full = format!("{HEADS}{branch}");
        let walk = ["log", "--walk-reflogs", "--format=%H", &most, &full, "--"];
        let positions = text(&self.answer("log", &self.question(walk))?.output);
        let not: Vec<String> = positions.lines().map(|position| format!("^{position}")).collect();
        if not.is_empty() {
            // Nothing is remembered, so nothing is known to be ours.
            return Ok(false);
        }
        let question = ["rev-list", "--max-count=1", commit].map(str::to_owned);
        let question = question.into_iter().chain(not).chain(["--".to_owned()]);
        let left = self.ask("rev-list", &self.question(question))?;
        Ok(left.is_success() && left.output.is_empty())
    }

    /// Where this repository last saw a branch of a remote.
    fn last_seen(&self, remote: &Remote, branch: &str) -> Result<Option<String>> {
        let full = format!("refs/remotes/{}/{branch}", remote.name);
        self.line("rev-parse", &["rev-parse", "--verify", "--quiet", "--end-of-options", &full])
    }

    fn send(&self, parcel: &Parcel<'_>, expected: Option<&str>) -> Result<()> {
        let Parcel { remote, branch, commit, deadline, .. } = parcel;
        let lease = format!("--force-with-lease={HEADS}{branch}:{}", expected.unwrap_or_default());
        let what = format!("{commit}:{HEADS}{branch}");
        let words = ["push", "--porcelain", "--no-progress", &lease, "--", &remote.name, &what];
        let tool = self.exchange_tool(words)?;
        let answer =
            self.run("push", &tool.timeout(deadline.left("git push")?), CallKind::HookedChange)?;
        if answer.is_success() {
            return Ok(());
        }
        Err(why_not_sent(parcel, &answer))
    }

    /// The branch follows the one over there from now on. Runs in other worktrees write the same file.
    fn follow(&self, parcel: &Parcel<'_>) -> Result<()> {
        let Parcel { remote, branch, .. } = parcel;
        let settings = [
            (format!("branch.{branch}.remote"), remote.name.clone()),
            (format!("branch.{branch}.merge"), format!("{HEADS}{branch}")),
        ];
        for (key, value) in settings {
            if self.line("config", &["config", "--get", &key])?.as_deref() != Some(&value) {
                self.configure(&key, &value)?;
            }
        }
        Ok(())
    }

    fn configure(&self, key: &str, value: &str) -> Result<()> {
        let begun = moment();
        loop {
            let tool = self.tool(["config", "--replace-all", key, value]);
            let answer = self.run("config", &tool, CallKind::Question)?;
            if answer.is_success() {
                return Ok(());
            }
            let is_locked = answer.complaint_text().contains("could not lock config file");
            if !is_locked || moment() - begun > LOCK_TIMEOUT {
                return Err(refused("config", &answer));
            }
            pause(LOCK_LOOK);
        }
    }
}

fn why_not_sent(parcel: &Parcel<'_>, said: &Answer) -> VersionControlError {
    let Parcel { remote, branch, .. } = parcel;
    let Some(reason) = rejection(&text(&said.output)) else {
        let refusal = hooks::refusal(said, || words_of_hook(said));
        return refusal.unwrap_or_else(|| trouble(remote, said));
    };
    let (place, branch) = (place_of(remote), branch.clone());
    if is_of_the_moment(&reason) {
        return RemoteError::Moved { remote: place, branch }.into();
    }
    let said = remote_words(&said.complaint_text());
    RemoteError::Rejected { remote: place, branch, reason, said }.into()
}

/// What a hook said, wherever it said it, without what git has to add.
fn words_of_hook(answer: &Answer) -> String {
    let both = [text(&answer.output), answer.complaint_text()].join("\n");
    let of_git = |line: &&str| line.starts_with("error: failed to push") || line.trim().is_empty();
    let lines: Vec<&str> = both.lines().filter(|line| !of_git(line)).collect();
    let said = lines.join("\n");
    let start = said.ceil_char_boundary(said.len().saturating_sub(SAID_BYTES));
    said[start..].to_owned()
}
