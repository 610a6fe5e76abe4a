//! Asking a remote: what it has, and how a branch stands beside its base.
//!
//! Nothing here asks a person for anything: git is told not to, and so is ssh. What can't be reached is tried a few times,
//! within the time that the caller has. Branches that are fetched are not written down here: other runs work in the same
//! repository, and would meet at the same refs.

use std::fs;
use std::time::Duration;

use agentos_process::clock::{Moment, moment, pause};
use agentos_process::tool::{Answer, Tool};

use super::super::Result;
use super::super::bounds::{EXCHANGE_PAUSE, EXCHANGE_TRIES, LOCK_LOOK};
use super::super::call::CallKind;
use super::super::error::VersionControlError;
use super::super::halt::Halt;
use super::super::remote::error::RemoteError;
use super::super::remote::trouble::is_lasting;
use super::super::remote::{Base, BaseRequest, ORIGIN, Remote, Target};
use super::super::request::input;
use super::super::said::last_words;
use super::branch::HEADS;
use super::revision::shown;
use super::{GitRepository, text};

/// What ssh is told: ask nobody, and do not wait for a host for ever.
const SSH_OPTIONS: &str = "-o BatchMode=yes -o ConnectTimeout=20";

/// How much time is left of what the caller has.
#[derive(Debug, Clone, Copy)]
pub(in crate::version_control) struct Deadline {
    end: Moment,
    all: Duration,
}

impl Deadline {
    pub(in crate::version_control) fn after(all: Duration) -> Self {
        Self { end: moment().saturating_add(all), all }
    }

    /// What is left, for one call.
    pub(in crate::version_control) fn left(self, call: &str) -> Result<Duration> {
        let left = self.end.saturating_sub(moment());
        if left.is_zero() {
            let (call, after) = (call.to_owned(), self.all);
            return Err(VersionControlError::TimedOut { call, after, is_hooked: false });
        }
        Ok(left)
    }
}

/// What a remote has of what it was asked about.
#[derive(Debug, Default)]
struct Advertised {
    /// The branch that it takes for its main one.
    main: Option<String>,
    /// The commits of branches, by their full names.
    heads: Vec<(String, String)>,
}

impl Advertised {
    fn commit(&self, branch: &str) -> Option<String> {
        let full = format!("{HEADS}{branch}");
        self.heads.iter().find(|(name, _)| *name == full).map(|(_, commit)| commit.clone())
    }
}

impl GitRepository {
    /// The remote of this name; if nothing is said, the one that this branch goes to.
    pub(in crate::version_control) fn remote_for(
        &self,
        named: Option<&str>,
        branch: Option<&str>,
    ) -> Result<Remote> {
        match named {
            Some(name) => self.remote_named(name),
            None => self.remote_named(&self.usual_remote(branch)?),
        }
    }

    /// Nearly as git chooses: but what a branch merely follows comes after `origin`, because a branch that was begun at
    /// somebody else's follows theirs, and is not pushed there.
    fn usual_remote(&self, branch: Option<&str>) -> Result<String> {
        let known = self.remotes()?;
        let configured = |key: String| -> Result<Option<String>> {
            let name = self.line("config", &["config", "--get", &key])?;
            Ok(name.filter(|name| known.contains(name)))
        };
        if let Some(name) = configured("remote.pushDefault".to_owned())? {
            return Ok(name);
        }
        match known.as_slice() {
            [] => return Ok(ORIGIN.to_owned()),
            [only] => return Ok(only.clone()),
            several if several.iter().any(|name| name == ORIGIN) => return Ok(ORIGIN.to_owned()),
            _ => {}
        }
        for branch in branch.map(str::to_owned).into_iter().chain(self.branch_of_main_checkout()) {
            if let Some(name) = configured(format!("branch.{branch}.remote"))? {
                return Ok(name);
            }
        }
        Err(RemoteError::Several { known }.into())
    }

    /// The branch that the main checkout stands on: work in a worktree of ours was begun there.
    fn branch_of_main_checkout(&self) -> Option<String> {
        let head = fs::read_to_string(self.common_dir.join("HEAD")).ok()?;
        head.trim().strip_prefix("ref: ")?.strip_prefix(HEADS).map(str::to_owned)
    }

    fn remotes(&self) -> Result<Vec<String>> {
        let known = self.answer("remote", &self.question(["remote"]))?;
        Ok(text(&known.output).lines().map(str::to_owned).collect())
    }

    pub(in crate::version_control) fn remote_named(&self, name: &str) -> Result<Remote> {
        let known = self.remotes()?;
        if !known.iter().any(|other| other == name) {
            return Err(RemoteError::NoRemote { remote: shown(name), known }.into());
        }
        let url = self.line("remote", &["remote", "get-url", "--", name])?;
        let key = format!("remote.{name}.url");
        let written = self.line("config", &["config", "--get", &key])?;
        let url = url.unwrap_or_default();
        Ok(Remote { name: name.to_owned(), written: written.unwrap_or_else(|| url.clone()), url })
    }

    /// The commit of a branch over there, where pushes go to. It is asked for once: the caller repeats it.
    pub(in crate::version_control) fn remote_commit(
        &self,
        remote: &Remote,
        branch: &str,
        deadline: Deadline,
    ) -> Result<Option<String>> {
        let key = format!("remote.{}.pushurl", remote.name);
        let place = self.line("config", &["config", "--get", &key])?;
        let place = place.unwrap_or_else(|| remote.name.clone());
        let full = format!("{HEADS}{branch}");
        let found = self.advertised(remote, &place, &[&full], deadline)?;
        Ok(found.commit(branch))
    }

    fn advertised(
        &self,
        remote: &Remote,
        place: &str,
        names: &[&str],
        deadline: Deadline,
    ) -> Result<Advertised> {
        let words = ["ls-remote", "--symref", "--end-of-options", place];
        let tool = self.exchange_tool(words.iter().chain(names).copied())?;
        let tool = tool.timeout(deadline.left("git ls-remote")?);
        let answer = self.run("ls-remote", &tool, CallKind::Question)?;
        if !answer.is_success() {
            return Err(trouble(remote, &answer));
        }
        Ok(read(&text(&answer.output)))
    }

    /// How a commit stands beside the branch on a remote that it is for.
    pub(in crate::version_control) fn stand_beside(
        &self,
        request: &BaseRequest,
        head: String,
        head_commit: String,
    ) -> Result<Base> {
        let deadline = Deadline::after(request.timeout);
        let remote = self.remote_for(request.remote.as_deref(), Some(&head))?;
        let (base, base_commit) = self.base_over_there(&remote, request, deadline)?;
        if base == head {
            return Err(input(format!(
                "`{base}` can't be merged into itself; work on a branch of its own (`ensureBranch`), or name another `base`"
            )));
        }
        self.fetch(&remote, &base, &base_commit, deadline)?;
        let behind = self.count_between(&head_commit, &base_commit)?;
        let ahead = self.count_between(&base_commit, &head_commit)?;
        Ok(Base { remote, base, base_commit, head, head_commit, behind, ahead })
    }

    /// The branch on a remote that work is for.
    pub(in crate::version_control) fn target(
        &self,
        request: &BaseRequest,
        branch: Option<&str>,
    ) -> Result<Target> {
        let remote = self.remote_for(request.remote.as_deref(), branch)?;
        let (base, _) = self.base_over_there(&remote, request, Deadline::after(request.timeout))?;
        Ok(Target { remote, base })
    }

    /// The branch that is asked for as the remote has it, and its commit.
    fn base_over_there(
        &self,
        remote: &Remote,
        request: &BaseRequest,
        deadline: Deadline,
    ) -> Result<(String, String)> {
        let named = request.base.as_deref().map(|base| self.branch_name(base)).transpose()?;
        let full = named.map(|base| format!("{HEADS}{base}"));
        let names: Vec<&str> = ["HEAD"].into_iter().chain(full.as_deref()).collect();
        let ask = || self.advertised(remote, &remote.name, &names, deadline);
        let found = patiently(&self.halt, ask)?;
        let place = place_of(remote);
        let base = match named {
            Some(base) => base.to_owned(),
            None => found
                .main
                .clone()
                .ok_or_else(|| RemoteError::NoDefault { remote: place.clone() })?,
        };
        let commit = match found.commit(&base) {
            Some(commit) => Some(commit),
            // Only its main branch was asked for, by another name.
            None if named.is_none() => {
                patiently(&self.halt, || self.remote_commit(remote, &base, deadline))?
            }
            None => None,
        };
        match commit {
            Some(commit) => Ok((base, commit)),
            None => Err(RemoteError::NoBase { remote: place, branch: base }.into()),
        }
    }

    /// Sees to it that this commit of a remote's branch is here.
    fn fetch(&self, remote: &Remote, branch: &str, commit: &str, until: Deadline) -> Result<()> {
        if self.has_commit(commit)? {
            return Ok(());
        }
        let full = format!("{HEADS}{branch}");
        let quiet = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap="];
        let words = quiet.into_iter().chain(["--no-recurse-submodules", "--", &remote.name, &full]);
        let tool = self.exchange_tool(words)?;
        patiently(&self.halt, || {
            let tool = tool.clone().timeout(until.left("git fetch")?);
            let answer = self.run("fetch", &tool, CallKind::Question)?;
            if answer.is_success() { Ok(()) } else { Err(trouble(remote, &answer)) }
        })
    }

    fn has_commit(&self, commit: &str) -> Result<bool> {
        let wanted = format!("{commit}^{{commit}}");
        let question = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        Ok(self.ask("rev-parse", &self.question(question))?.is_success())
    }

    /// How many commits there are in the past of one that are not in that of the other.
    fn count_between(&self, from: &str, to: &str) -> Result<u64> {
        let range = format!("^{from}");
        let line = self.line("rev-list", &["rev-list", "--count", to, &range, "--"])?;
        Ok(line.and_then(|line| line.trim().parse().ok()).unwrap_or_default())
    }

    /// Whether one is in the past of the other. One that is not here is in nobody's past.
    pub(in crate::version_control) fn is_ancestor(&self, one: &str, other: &str) -> Result<bool> {
        let question = ["merge-base", "--is-ancestor", one, other];
        Ok(self.ask("merge-base", &self.question(question))?.is_success())
    }

    /// git for an exchange with a remote.
    pub(super) fn exchange_tool<'a>(
        &self,
        words: impl IntoIterator<Item = &'a str>,
    ) -> Result<Tool> {
        self.asks_nobody(self.tool(words))
    }

    /// The same program, whose ssh and helpers ask nobody for anything.
    pub(in crate::version_control) fn asks_nobody(&self, tool: Tool) -> Result<Tool> {
        let given = self.surroundings.variable("GIT_SSH_COMMAND").and_then(|value| value.to_str());
        let configured = match given {
            Some(given) => Some(given.to_owned()),
            None => self.line("config", &["config", "--get", "core.sshCommand"])?,
        };
        let ssh = configured.unwrap_or_else(|| "ssh".to_owned());
        let tool = tool.set("GCM_INTERACTIVE", "never");
        Ok(if is_openssh(&ssh) {
            tool.set("GIT_SSH_COMMAND", format!("{ssh} {SSH_OPTIONS}"))
        } else {
            tool
        })
    }
}

/// Other programs in its place do not know its options.
fn is_openssh(command: &str) -> bool {
    let program = command.split_whitespace().next().unwrap_or_default();
    program.rsplit('/').next() == Some("ssh")
}

/// A remote for people.
pub(in crate::version_control) fn place_of(remote: &Remote) -> String {
    let url = super::super::remote::without_password(&remote.url);
    format!("the remote `{}` ({url})", remote.name)
}

/// Why an exchange ended badly.
pub(in crate::version_control) fn trouble(remote: &Remote, answer: &Answer) -> VersionControlError {
    let (remote, said) = (place_of(remote), last_words(answer));
    if is_lasting(&answer.complaint_text()) {
        RemoteError::NoEntry { remote, said }.into()
    } else {
        RemoteError::Unreachable { remote, tries: 1, said }.into()
    }
}

/// Does it again if that may help, a few times, and longer and longer apart.
pub(in crate::version_control) fn patiently<T>(
    halt: &Halt,
    mut attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    let mut wait = EXCHANGE_PAUSE;
    for _ in 1..EXCHANGE_TRIES {
        match attempt() {
            Err(VersionControlError::Remote(error)) if !error.is_final() => {}
            ended => return ended,
        }
        rest(halt, wait)?;
        wait = wait.saturating_mul(2);
    }
    attempt().map_err(|error| match error {
        VersionControlError::Remote(RemoteError::Unreachable { remote, said, .. }) => {
            RemoteError::Unreachable { remote, said, tries: EXCHANGE_TRIES }.into()
        }
        other => other,
    })
}

/// Waits, unless somebody wants it to stop.
fn rest(halt: &Halt, wait: Duration) -> Result<()> {
    let begun = moment();
    while moment() - begun < wait {
        if halt.is_now() {
            return Err(VersionControlError::Halted);
        }
        pause(LOCK_LOOK.min(wait));
    }
    Ok(())
}

/// Lines of `git ls-remote --symref`.
fn read(output: &str) -> Advertised {
    let mut found = Advertised::default();
    for line in output.lines() {
        let Some((what, name)) = line.split_once('\t') else { continue };
        match what.strip_prefix("ref: ") {
            Some(target) if name == "HEAD" => {
                found.main = target.strip_prefix(HEADS).map(str::to_owned);
            }
            Some(_) => {}
            None => found.heads.push((name.to_owned(), what.to_owned())),
        }
    }
    // What its main branch is at stands beside `HEAD`.
    let head =
        found.heads.iter().find(|(name, _)| name == "HEAD").map(|(_, commit)| commit.clone());
    if let (Some(main), Some(commit)) = (&found.main, head) {
        found.heads.push((format!("{HEADS}{main}"), commit));
    }
    found
}
