//! Pushing a bookmark, once.
//!
//! What the remote has is asked of git, which jj keeps its commits in, and the push is jj's: it replaces what it last saw
//! over there and nothing else, and refuses commits without a message or with conflicts. A jj that was killed after the
//! remote took the bookmark does not know of it; that is told to it first.

use agentos_process::tool::Answer;

use super::super::Result;
use super::super::error::VersionControlError;
use super::super::git::remote::{Deadline, patiently, place_of};
use super::super::git::revision::shown;
use super::super::remote::error::RemoteError;
use super::super::remote::trouble::{is_lasting, is_of_the_moment, remote_words};
use super::super::remote::{Force, PushOutcome, PushRequest, Pushed, Remote, without_password};
use super::super::request::input;
use super::super::said::last_words;
use super::{JjRepository, UNRECORDED};
use crate::jj::quoted;

/// A bookmark on its way.
struct Parcel<'a> {
    wanted: &'a PushRequest,
    remote: Remote,
    branch: String,
    commit: String,
    deadline: Deadline,
}

impl JjRepository {
    pub(super) fn push_once(&self, wanted: &PushRequest) -> Result<Pushed> {
        let remote = self.store.remote_for(wanted.remote.as_deref(), None)?;
        let (branch, commit) = self.branch_and_commit(wanted.branch.as_deref())?;
        let deadline = Deadline::after(wanted.timeout());
        let parcel = Parcel { wanted, remote, branch, commit, deadline };
        patiently(&self.halt, || self.deliver(&parcel))
    }

    /// The bookmark that is named, else the one that the work belongs to, and its commit.
    pub(super) fn branch_and_commit(&self, named: Option<&str>) -> Result<(String, String)> {
        let branch = match named {
            Some(named) => self.store.branch_name(named)?.to_owned(),
            None => self.checked_out()?.ok_or_else(|| {
                input("no branch is checked out; call `ensureBranch` first, or name a branch")
            })?,
        };
        match self.bookmark(&branch)?.as_slice() {
            [one] => Ok((branch.clone(), one.clone())),
            [] => Err(input(format!(
                "the branch `{}` has no commit here; commit first",
                shown(&branch)
            ))),
            _ => Err(input(format!("`{}` is in conflict: it names several", shown(&branch)))),
        }
    }

    fn deliver(&self, parcel: &Parcel<'_>) -> Result<Pushed> {
        let Parcel { remote, branch, commit, wanted, deadline } = parcel;
        let there = self.store.remote_commit(remote, branch, *deadline)?;
        let outcome = match &there {
            Some(there) if there == commit => PushOutcome::Unchanged,
            None => PushOutcome::Created,
            Some(there) if self.store.is_ancestor(there, commit)? => PushOutcome::Updated,
            Some(_) if wanted.force == Some(Force::Never) => {
                let (remote, branch) = (place_of(remote), branch.clone());
                return Err(RemoteError::NotForward { remote, branch }.into());
            }
            Some(_) => PushOutcome::Rewritten,
        };
        if outcome == PushOutcome::Unchanged {
            self.learn(parcel)?;
        } else {
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

    fn send(&self, parcel: &Parcel<'_>, there: Option<&str>) -> Result<()> {
        let Parcel { remote, branch, deadline, .. } = parcel;
        let pattern = format!("exact:{}", quoted(branch));
        let words = [UNRECORDED, "git", "push", "--remote", &remote.name, "--bookmark", &pattern];
        let tool = self.store.asks_nobody(self.tool(words))?;
        let answer = self.alter("git push", &tool.timeout(deadline.left("jj git push")?))?;
        if answer.is_success() {
            return Ok(());
        }
        Err(self.why_not_sent(parcel, &answer, there))
    }

    fn why_not_sent(
        &self,
        parcel: &Parcel<'_>,
        answer: &Answer,
        there: Option<&str>,
    ) -> VersionControlError {
        let (remote, branch) = (place_of(&parcel.remote), parcel.branch.clone());
        let said = answer.complaint_text();
        let reason = said.split_once("(reason: ").and_then(|(_, rest)| rest.split_once(')'));
        let is_unknown = said.contains("Non-tracking remote bookmark");
        match (reason, there) {
            // jj saw something else there, or nothing.
            (Some((reason, _)), Some(there)) if is_of_the_moment(reason) => {
                RemoteError::NotOurs { remote, branch, commit: there.to_owned() }.into()
            }
            (_, Some(there)) if is_unknown => {
                RemoteError::NotOurs { remote, branch, commit: there.to_owned() }.into()
            }
            (Some((reason, _)), None) if is_of_the_moment(reason) => {
                RemoteError::Moved { remote, branch }.into()
            }
            (Some((reason, _)), _) => {
                let (reason, said) = (reason.to_owned(), remote_words(&said));
                RemoteError::Rejected { remote, branch, reason, said }.into()
            }
            // It does not even try to push commits that are not ready.
            (None, _) if said.contains("Won't push") || said.contains("Refusing to push") => {
                let reason = "jj does not push it".to_owned();
                RemoteError::Rejected { remote, branch, reason, said: last_words(answer) }.into()
            }
            (None, _) if is_lasting(&said) => {
                RemoteError::NoEntry { remote, said: last_words(answer) }.into()
            }
            (None, _) => {
                RemoteError::Unreachable { remote, tries: 1, said: last_words(answer) }.into()
            }
        }
    }

    /// Lets jj see that the bookmark is over there, if it does not know.
    fn learn(&self, parcel: &Parcel<'_>) -> Result<()> {
        let Parcel { remote, branch, commit, deadline, .. } = parcel;
        let (name, place) = (quoted(branch), quoted(&remote.name));
        let known = format!("remote_bookmarks(exact:{name}, remote=exact:{place})");
        if self.commits(&known)?.first() == Some(commit) {
            return Ok(());
        }
        self.fetch_branch(&remote.name, branch, *deadline)?;
        let words = ["bookmark", "track", &format!("exact:{name}"), "--remote", &remote.name];
        self.note("bookmark track", &words)
    }

    /// Fetches one branch, which jj writes down as that of the remote.
    pub(super) fn fetch_branch(&self, remote: &str, branch: &str, until: Deadline) -> Result<()> {
        let pattern = format!("exact:{}", quoted(branch));
        let place = format!("exact:{}", quoted(remote));
        let words = [UNRECORDED, "git", "fetch", "--remote", &place, "--branch", &pattern];
        let tool = self.store.asks_nobody(self.tool(words))?;
        let tool = tool.timeout(until.left("jj git fetch")?);
        self.answer("git fetch", &tool).map(drop)
    }
}
