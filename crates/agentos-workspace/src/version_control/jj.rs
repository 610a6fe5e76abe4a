//! The history of a workspace in which only jj keeps the files, through jj's own program.
//!
//! **What is what.** jj records the files in a commit of their own, `@`, whenever it is called; nothing is staged. What
//! stands under it, `@-`, is what git calls `HEAD`. A branch is a bookmark. jj has none that is checked out, so the one
//! that work belongs to is written down beside the files, and moves on with every commit, as git's does.
//!
//! **Who is asked.** jj for everything that changes something, and for what its working copy is. It keeps its commits in a
//! git repository; what is in them is read from there, with the same words as everywhere else (`store`).
//!
//! **How jj is called.** Questions about commits do not record the files (`--ignore-working-copy`). Where files are
//! recorded, all are that are not ignored, whatever their size: a new file that jj finds too large would be missing in the
//! commit. There are no hooks.

mod branch;
mod commit;
mod identity;
mod look;
mod push;
mod rebase;
mod revision;
mod standing;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_process::tool::{Answer, Tool};

use super::alone::alone;
use super::answer::{Branch, Committed, Diff, LoggedCommit, Staged, Status};
use super::bounds::{LIST_BYTES, READ, WRITE};
use super::call::{self, CallKind, refused};
use super::error::VersionControlError;
use super::git::GitRepository;
use super::halt::Halt;
use super::mark::Mark;
use super::remote::{Base, BaseRequest, PushRequest, Pushed, Remote, Target};
use super::request::{DiffRequest, LogRequest, NewBranch, NewCommit, StatusRequest};
use super::{Result, VersionControl};
use crate::git::WHERE_VARIABLES;
use crate::jj::load_workspace;
use crate::surroundings::Surroundings;

/// What is told in every call: no daemons, no files left out, and no refusal because another workspace rewrote a commit.
const CONFIG: [&str; 5] = [
    "snapshot.max-new-file-size=0",
    "snapshot.auto-track=\"all()\"",
    "snapshot.auto-update-stale=true",
    "fsmonitor.backend=\"none\"",
    "ui.paginate=\"never\"",
];

/// The beginning of a question that does not record the files.
const UNRECORDED: &str = "--ignore-working-copy";

/// A jj workspace without a git repository beside it.
#[derive(Debug, Clone)]
pub struct JjRepository {
    root: PathBuf,
    /// Where jj keeps its commits.
    store: GitRepository,
    surroundings: Surroundings,
    halt: Halt,
}

impl JjRepository {
    /// The workspace whose root this folder is, as [`super::open`] opens it.
    ///
    /// # Errors
    /// It is none.
    pub fn open(
        folder: &Path,
        scratch: PathBuf,
        surroundings: Surroundings,
        halt: Halt,
    ) -> Result<Self> {
        let root = folder
            .canonicalize()
            .map_err(|source| VersionControlError::File { what: "the workspace", source })?;
        let git_dir = load_workspace(&root)?.repository;
        let seen = surroundings.clone();
        let store = GitRepository::store(&root, &git_dir, scratch, seen, halt.clone());
        Ok(Self { root, store, surroundings, halt })
    }

    /// jj, with these arguments.
    fn tool<A: Into<OsString>>(&self, arguments: impl IntoIterator<Item = A>) -> Tool {
        let config = CONFIG.iter().flat_map(|setting| ["--config", setting]);
        let mut tool = Tool::new("jj")
            .args(["--no-pager", "--color=never"].into_iter().chain(config))
            .args(arguments)
            .in_folder(&self.root)
            .only_environment(self.surroundings.environment.clone())
            .output_bytes(LIST_BYTES)
            .recording_programs()
            .timeout(READ);
        for name in WHERE_VARIABLES {
            tool = tool.unset(name);
        }
        tool.set("LC_ALL", "C").set("JJ_EDITOR", "false").set("GIT_TERMINAL_PROMPT", "0")
    }

    /// Asks, and takes what jj says for an answer however it ends.
    fn ask(&self, verb: &str, tool: &Tool) -> Result<Answer> {
        call::run(&format!("jj {verb}"), tool, &self.halt, CallKind::Question)
    }

    /// What jj says to something that it has no reason to refuse.
    fn answer(&self, verb: &str, tool: &Tool) -> Result<Vec<u8>> {
        let answer = self.ask(verb, tool)?;
        if answer.is_success() {
            return Ok(answer.output);
        }
        Err(refused(&format!("jj {verb}"), &answer))
    }

    /// Changes something, and takes what jj says for an answer however it ends.
    fn alter(&self, verb: &str, tool: &Tool) -> Result<Answer> {
        call::run(&format!("jj {verb}"), tool, &self.halt, CallKind::Change)
    }

    /// The same for a change that jj has no reason to refuse.
    fn altered(&self, verb: &str, tool: &Tool) -> Result<()> {
        let answer = self.alter(verb, tool)?;
        if answer.is_success() { Ok(()) } else { Err(refused(&format!("jj {verb}"), &answer)) }
    }

    /// Changes something that has nothing to do with the files.
    fn note(&self, verb: &str, arguments: &[&str]) -> Result<()> {
        let words = [UNRECORDED].iter().chain(arguments).copied();
        self.altered(verb, &self.tool(words))
    }

    /// Changes the files or the commit that they are recorded in.
    fn change(&self, verb: &str, arguments: &[&str]) -> Result<()> {
        self.altered(verb, &self.tool(arguments.iter().copied()).timeout(WRITE))
    }

    /// The commits that a revset names, which is not a user's text.
    fn commits(&self, revset: &str) -> Result<Vec<String>> {
        let question =
            [UNRECORDED, "log", "--no-graph", "-T", r#"commit_id ++ "\n""#, "-r", revset];
        let output = self.answer("log", &self.tool(question))?;
        Ok(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
    }

    /// Tells the git repository beside the main workspace where the bookmarks are.
    fn export(&self) -> Result<()> {
        self.note("git export", &["git", "export"])
    }

    /// Waits until no other AgentOS changes this workspace. None does until the answer is dropped.
    fn alone(&self) -> Result<File> {
        alone(&self.root, &self.root.join(".jj"), &self.halt)
    }
}

impl VersionControl for JjRepository {
    fn ensure_branch(&self, branch: &NewBranch) -> Result<Branch> {
        self.ensure(branch)
    }

    fn current_branch(&self) -> Result<Option<String>> {
        self.checked_out()
    }

    fn current_commit(&self) -> Result<Option<String>> {
        Ok(self.standing()?.head())
    }

    fn current_tree(&self) -> Result<String> {
        let standing = self.record()?;
        // What jj keeps of a conflict is not what is in the files.
        standing.refuse_conflicts()?;
        self.store.tree(&standing.files)
    }

    fn stage_all(&self) -> Result<Staged> {
        let _alone = self.alone()?;
        let standing = self.record()?;
        self.refuse_embedded(&standing)?;
        let before = standing.before(&self.store)?;
        Ok(Staged { staged: self.store.names_between(&before, &standing.files)?.len() })
    }

    fn commit(&self, commit: &NewCommit, mark: &Mark) -> Result<Committed> {
        self.commit_once(commit, mark)
    }

    fn status(&self, request: &StatusRequest) -> Result<Status> {
        self.look_at_files(request.limit())
    }

    fn diff(&self, request: &DiffRequest) -> Result<Diff> {
        self.compare(request)
    }

    fn log(&self, request: &LogRequest) -> Result<Vec<LoggedCommit>> {
        self.list(request)
    }

    fn remote(&self, name: Option<&str>) -> Result<Remote> {
        self.store.remote_for(name, None)
    }

    fn find_base(&self, request: &BaseRequest) -> Result<Target> {
        self.store.target(request, None)
    }

    fn push(&self, push: &PushRequest) -> Result<Pushed> {
        self.push_once(push)
    }

    fn compare_with_base(&self, request: &BaseRequest) -> Result<Base> {
        let (head, commit) = self.branch_and_commit(request.head.as_deref())?;
        self.store.stand_beside(request, head, commit)
    }

    fn rebase(&self, base: &Base, timeout: Duration) -> Result<()> {
        self.rebase_onto(base, timeout)
    }

    /// A rebase is one operation of jj's: it happened or it did not.
    fn abort_rebase(&self) -> Result<()> {
        Ok(())
    }

    /// A jj that was killed leaves no locks of its own; files that do not belong to the latest operation are put right by
    /// the next call that records them. What it was about to tell git is told again.
    fn clear_up(&self, branch: Option<&str>) -> Result<()> {
        let branches = [self.checked_out()?, branch.map(str::to_owned)];
        self.store.remove_branch_locks(branches.into_iter().flatten())?;
        self.record().map(drop)
    }
}
