//! A git repository in which another program keeps its commits: jj does. Only commits are looked at there, by their full
//! ids: neither its `HEAD` nor its index say anything about the files of the workspace.

use std::path::{Path, PathBuf};

use agentos_process::tool::Tool;

use super::super::Result;
use super::super::bounds::LIST_BYTES;
use super::super::halt::Halt;
use super::branch::HEADS;
use super::{GitRepository, text};
use crate::surroundings::Surroundings;

impl GitRepository {
    /// The repository with this git directory, for the workspace with this root. `scratch` is as in [`Self::open`].
    pub(in crate::version_control) fn store(
        root: &Path,
        git_dir: &Path,
        scratch: PathBuf,
        surroundings: Surroundings,
        halt: Halt,
    ) -> Self {
        let (root, git_dir) = (root.to_owned(), git_dir.to_owned());
        let common_dir = git_dir.clone();
        Self { root, git_dir, common_dir, scratch, surroundings, halt, is_store: true }
    }

    /// The same program, which finds the repository although it is elsewhere, and an index that is nobody's.
    pub(super) fn in_store(&self, tool: Tool) -> Tool {
        tool.set("GIT_DIR", self.git_dir.as_os_str())
            .set("GIT_WORK_TREE", self.root.as_os_str())
            .set("GIT_INDEX_FILE", self.scratch.join("index"))
    }

    /// The names of the files that differ between two trees.
    pub(in crate::version_control) fn names_between(
        &self,
        from: &str,
        to: &str,
    ) -> Result<Vec<String>> {
        let question = ["diff-tree", "-r", "--name-only", "--no-renames", "-z", from, to];
        let names = self.answer("diff-tree", &self.question(question).output_bytes(LIST_BYTES))?;
        let names = names.output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(text).collect())
    }

    /// The repositories among the files that are neither ignored nor part of this tree; see [`Self::embedded`].
    pub(in crate::version_control) fn embedded_beside(&self, tree: &str) -> Result<Vec<String>> {
        let _index = self.scratch()?;
        let read = self.tool(["read-tree", tree]).timeout(self.patient());
        self.answer("read-tree", &read)?;
        self.embedded(&[])
    }

    /// The worktree of git's that has this branch checked out.
    pub(in crate::version_control) fn worktree_of(&self, branch: &str) -> Result<Option<PathBuf>> {
        let name = format!("{HEADS}{branch}");
        let path =
            self.line("for-each-ref", &["for-each-ref", "--format=%(worktreepath)", &name])?;
        Ok(path.filter(|path| !path.is_empty()).map(PathBuf::from))
    }

    /// Who commits, as git is configured: a name and an address.
    pub(in crate::version_control) fn committer(&self) -> Result<Option<(String, String)>> {
        let question = ["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"];
        let answer = self.ask("var", &self.question(question))?;
        let line = text(&answer.output);
        // `Name <address> seconds zone`
        let known = line.split_once(" <").and_then(|(name, rest)| {
            let (email, _) = rest.split_once('>')?;
            Some((name.to_owned(), email.to_owned()))
        });
        Ok(known.filter(|_| answer.is_success()))
    }
}
