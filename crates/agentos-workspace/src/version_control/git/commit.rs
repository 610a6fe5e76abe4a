//! Staging and committing.
//!
//! A commit is made once: whoever wants it looks for its mark first, and again if git refuses, since somebody else may have
//! been faster. Where there is nothing to commit the wish is fulfilled already: a step that is tried again after its commit
//! finds its work done. What is changed and was not staged is another matter, and refused.

use std::path::Path;

use agentos_process::tool::{Answer, Tool};
use tempfile::TempDir;

use super::super::Result;
use super::super::answer::{Committed, Unfinished};
use super::super::bounds::LIST_BYTES;
use super::super::error::VersionControlError;
use super::super::mark::Mark;
use super::super::request::NewCommit;
use super::hooks::load_failed_hook;
use super::said::last_words;
use super::{GitRepository, refused};

impl GitRepository {
    pub(super) fn stage(&self) -> Result<()> {
        self.changed("add", &self.tool(["add", "--all", "--", "."]).timeout(self.patient()))
    }

    /// How many files differ between the last commit and what is staged.
    pub(super) fn count_staged(&self) -> Result<usize> {
        let question = ["diff", "--cached", "--no-ext-diff", "--name-only", "--no-renames", "-z"];
        let names = self.answer("diff", &self.question(question).output_bytes(LIST_BYTES))?;
        Ok(names.output.iter().filter(|byte| **byte == 0).count())
    }

    pub(super) fn commit_once(&self, commit: &NewCommit, mark: &Mark) -> Result<Committed> {
        commit.check()?;
        if let Some(made) = self.marked(mark)? {
            return self.committed(made, true);
        }
        let status = self.look_at_files(1)?;
        if status.conflicted > 0 {
            let first = status.entries.first().map(|entry| entry.path.clone()).unwrap_or_default();
            return Err(VersionControlError::Conflicts { count: status.conflicted, first });
        }
        if commit.all {
            self.stage()?;
        }
        // The end of a merge is a commit even if it changes nothing.
        let is_wanted = commit.allow_empty || status.operation == Some(Unfinished::Merge);
        if !is_wanted && self.count_staged()? == 0 {
            let changed = status.unstaged + status.untracked;
            return match status.head {
                _ if changed > 0 && !commit.all => {
                    Err(VersionControlError::NothingStaged { changed })
                }
                Some(head) => self.committed(head, false),
                None => Err(VersionControlError::NothingYet),
            };
        }
        self.make(commit, mark)
    }

    fn make(&self, commit: &NewCommit, mark: &Mark) -> Result<Committed> {
        let folder = TempDir::new()
            .map_err(|source| VersionControlError::File { what: "a temporary folder", source })?;
        let record = folder.path().join("record");
        let message = self.written_message(commit, mark, folder.path())?;
        let tool = self.commit_tool(commit, &message).set("GIT_TRACE2_EVENT", record.as_os_str());
        let tool = self.with_identity(tool, commit.author.as_ref())?;
        let said = self.change("commit", &tool)?;
        match self.marked(mark)? {
            Some(made) => self.committed(made, true),
            // A hook took the mark away.
            None if said.is_success() => {
                let made = self.head()?.ok_or_else(|| refused("commit", &said))?;
                self.committed(made, true)
            }
            None => Err(why(&said, &record)),
        }
    }

    fn commit_tool(&self, commit: &NewCommit, message: &Path) -> Tool {
        let mut words = vec!["commit", "--quiet", "--cleanup=whitespace", "--no-edit"];
        words.extend(match commit.sign {
            Some(true) => Some("--gpg-sign"),
            Some(false) => Some("--no-gpg-sign"),
            None => None,
        });
        if commit.no_verify {
            words.push("--no-verify");
        }
        if commit.allow_empty {
            words.push("--allow-empty");
        }
        words.push("--file");
        self.tool(words).args([message.as_os_str()]).timeout(commit.timeout())
    }

    fn committed(&self, commit_sha: String, created: bool) -> Result<Committed> {
        Ok(Committed { commit_sha, branch: self.checked_out()?, created })
    }
}

/// Why there is no commit.
fn why(said: &Answer, record: &Path) -> VersionControlError {
    let words = last_words(said);
    if let Some(hook) = load_failed_hook(record) {
        return VersionControlError::Hook { hook, said: words };
    }
    let signs = ["failed to sign", "signing failed", "cannot run gpg", "user.signingKey"];
    if signs.iter().any(|sign| words.contains(sign)) {
        return VersionControlError::Signing { said: words };
    }
    refused("commit", said)
}
