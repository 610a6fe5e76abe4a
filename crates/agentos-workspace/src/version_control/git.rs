//! The history of a workspace as git keeps it, through git's own program.
//!
//! **How git is called.** Its words are read by a program: `LC_ALL=C`, `-z` wherever there is a list, no colours, no pager,
//! no editor, no prompt. Questions take no locks, so that they disturb nobody. Variables that say where a repository is are
//! not passed on: the workspace decides. Of the user's configuration everything holds that says how *commits* are made
//! (identity, signing, hooks, line endings); what only says how answers look does not.
//!
//! **What users name.** A revision is resolved to a full id before anything else sees it (`revision`), a branch is
//! checked by git's own rules (`branch`), paths are taken literally and come after `--`.
//!
//! **Who may change something.** One at a time in each worktree (`alone`): a commit is several calls of git, between which
//! nobody else may stage.

mod branch;
mod commit;
pub(crate) mod diff;
mod embedded;
mod hooks;
mod identity;
mod lock;
mod log;
mod marked;
mod push;
mod rebase;
pub(in crate::version_control) mod remote;
pub(in crate::version_control) mod revision;
mod scratch;
mod status;
mod store;
mod tree;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_process::tool::{Answer, Tool};

use super::alone::alone;
use super::answer::{Branch, Committed, Diff, LoggedCommit, Staged, Status};
use super::bounds::{READ, WRITE};
use super::call::{self, CallKind};
use super::error::VersionControlError;
use super::halt::Halt;
use super::mark::Mark;
use super::remote::{Base, BaseRequest, PushRequest, Pushed, Remote, Target};
use super::request::{DiffRequest, LogRequest, NewBranch, NewCommit, StatusRequest};
use super::{Result, VersionControl};
use crate::git::{WHERE_VARIABLES, look};
use crate::surroundings::Surroundings;

/// Configuration that would make a program of somebody's choice part of every question, or garble the answers.
const CONFIG: [&str; 8] = [
    "core.quotePath=false",
    "core.fsmonitor=false",
    "core.pager=cat",
    "log.showSignature=false",
    "advice.addEmbeddedRepo=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    // It would be left in the background, and ended there with everything else.
    "maintenance.auto=false",
];

/// A git worktree.
#[derive(Debug, Clone)]
pub struct GitRepository {
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    scratch: PathBuf,
    surroundings: Surroundings,
    halt: Halt,
    /// Whether git is not the one who keeps the files, and has no index of them.
    is_store: bool,
}

impl GitRepository {
    /// The worktree whose root this folder is. Its programs see the environment of `surroundings`. While something is done,
    /// files are kept in the folder `scratch`, which is nobody else's: it is replaced, and gone afterwards.
    ///
    /// # Errors
    /// It is none: the folder above it is never taken instead.
    pub fn open(
        folder: &Path,
        scratch: PathBuf,
        surroundings: Surroundings,
        halt: Halt,
    ) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .map_err(|source| VersionControlError::File { what: "the workspace", source })?;
        let none = || VersionControlError::NoRepository { folder: folder.clone() };
        if !folder.ancestors().any(|above| above.join(".git").exists()) {
            let is_jj = folder.join(".jj").exists();
            return Err(if is_jj { VersionControlError::OnlyJj { folder } } else { none() });
        }
        let found = look(&surroundings, &folder)?.ok_or_else(none)?;
        let root = found.root.ok_or_else(none)?;
        if root.canonicalize().ok().as_deref() != Some(&folder) {
            return Err(VersionControlError::NotTheRoot { folder, root });
        }
        let (git_dir, common_dir) = (found.git_dir, found.common_dir);
        Ok(Self { root, git_dir, common_dir, scratch, surroundings, halt, is_store: false })
    }

    /// git, with these arguments.
    fn tool<A: Into<OsString>>(&self, arguments: impl IntoIterator<Item = A>) -> Tool {
        let config = CONFIG.iter().flat_map(|setting| ["-c", setting]);
        let mut tool = Tool::new("git")
            .args(["--no-pager"].into_iter().chain(config))
            .args(arguments)
            .in_folder(&self.root)
            .only_environment(self.surroundings.environment.clone())
            .recording_programs();
        for name in WHERE_VARIABLES {
            tool = tool.unset(name);
        }
        if self.is_store {
            tool = self.in_store(tool);
        }
        let fixed = [
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_EDITOR", "false"),
            ("GIT_SEQUENCE_EDITOR", "false"),
            ("GIT_PAGER", "cat"),
        ];
        fixed.into_iter().fold(tool, |tool, (name, value)| tool.set(name, value))
    }

    /// git with these arguments, for a question. Only questions take paths literally: hooks would inherit that.
    fn question<A: Into<OsString>>(&self, arguments: impl IntoIterator<Item = A>) -> Tool {
        let tool = self.tool(arguments).set("GIT_OPTIONAL_LOCKS", "0");
        tool.set("GIT_LITERAL_PATHSPECS", "1").timeout(READ)
    }

    /// Asks, and takes what git says for an answer however it ends.
    fn ask(&self, verb: &str, tool: &Tool) -> Result<Answer> {
        self.run(verb, tool, CallKind::Question)
    }

    /// Asks a question that git can answer.
    fn answer(&self, verb: &str, tool: &Tool) -> Result<Answer> {
        let answer = self.ask(verb, tool)?;
        if answer.is_success() || answer.is_cut {
            return Ok(answer);
        }
        Err(refused(verb, &answer))
    }

    fn run(&self, verb: &str, tool: &Tool, kind: CallKind) -> Result<Answer> {
        call::run(&format!("git {verb}"), tool, &self.halt, kind)
    }

    /// Waits until no other AgentOS changes this worktree. None does until the answer is dropped.
    fn alone(&self) -> Result<File> {
        alone(&self.root, &self.git_dir, &self.halt)
    }

    /// One line that git says, or nothing if it says that there is none.
    fn line(&self, verb: &str, arguments: &[&str]) -> Result<Option<String>> {
        let answer = self.ask(verb, &self.question(arguments))?;
        match (answer.is_success(), answer.complaint.is_empty()) {
            (true, _) => {
                let line = String::from_utf8_lossy(&answer.output);
                Ok(Some(line.strip_suffix('\n').unwrap_or(&line).to_owned()))
            }
            (false, true) => Ok(None),
            (false, false) => Err(refused(verb, &answer)),
        }
    }

    fn patient(&self) -> Duration {
        WRITE
    }
}

impl VersionControl for GitRepository {
    fn ensure_branch(&self, branch: &NewBranch) -> Result<Branch> {
        self.ensure(branch)
    }

    fn current_branch(&self) -> Result<Option<String>> {
        self.checked_out()
    }

    fn current_commit(&self) -> Result<Option<String>> {
        self.head()
    }

    fn current_tree(&self) -> Result<String> {
        self.tree_of_files()
    }

    fn stage_all(&self) -> Result<Staged> {
        let _alone = self.alone()?;
        self.stage()?;
        self.count_staged().map(|staged| Staged { staged })
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
        self.remote_for(name, self.checked_out()?.as_deref())
    }

    fn find_base(&self, request: &BaseRequest) -> Result<Target> {
        self.target(request, self.checked_out()?.as_deref())
    }

    fn push(&self, push: &PushRequest) -> Result<Pushed> {
        self.push_once(push)
    }

    fn compare_with_base(&self, request: &BaseRequest) -> Result<Base> {
        let head = self.branch_or_current(request.head.as_deref())?;
        let commit = self.commit_of_branch(&head)?;
        self.stand_beside(request, head, commit)
    }

    fn rebase(&self, base: &Base, timeout: Duration) -> Result<()> {
        self.rebase_onto(base, timeout)
    }

    fn abort_rebase(&self) -> Result<()> {
        let _alone = self.alone()?;
        self.take_back()
    }

    fn clear_up(&self, branch: Option<&str>) -> Result<()> {
        self.remove_stale_locks(branch)
    }
}

fn refused(verb: &str, answer: &Answer) -> VersionControlError {
    call::refused(&format!("git {verb}"), answer)
}

/// What git calls something, as text.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
