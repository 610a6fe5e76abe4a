//! Staging and committing.
//!
//! A commit is made once: its mark is looked for first, and again if git refuses, since another process may have been faster,
//! and if git did not come to an end: its last hook comes after the commit. Where there is nothing to commit, that is done
//! already: a step that is tried again after its commit finds its work done. What is changed and was not staged is another
//! matter, and refused.

use std::fs;
use std::path::Path;

use agentos_process::tool::{Answer, Tool};

use super::super::Result;
use super::super::answer::{Committed, Unfinished};
use super::super::bounds::LIST_BYTES;
use super::super::error::VersionControlError;
use super::super::mark::Mark;
use super::super::message::whole_message;
use super::super::request::NewCommit;
use super::super::said::last_words;
use super::hooks;
use super::{GitRepository, refused, text};

impl GitRepository {
    pub(super) fn stage(&self) -> Result<()> {
        self.refuse_embedded()?;
        let words = self.add_words().into_iter().chain(["--all", "--", "."]);
        self.changed("add", &self.tool(words).timeout(self.patient()))
    }

    /// Adding. Where only a part of the files is checked out, new ones may lie outside of it, and git wants to be told that
    /// they are meant.
    pub(super) fn add_words(&self) -> Vec<&'static str> {
        let is_sparse = self.git_dir.join("info/sparse-checkout").exists();
        if is_sparse { vec!["add", "--sparse"] } else { vec!["add"] }
    }

    /// One of the files that are in conflict.
    fn first_conflict(&self) -> Result<String> {
        let question = ["diff", "--no-ext-diff", "--name-only", "--diff-filter=U", "-z"];
        let names = self.answer("diff", &self.question(question).cut_output(LIST_BYTES))?;
        Ok(text(names.output.split(|byte| *byte == 0).next().unwrap_or_default()))
    }

    /// How many files differ between the last commit and what is staged.
    pub(super) fn count_staged(&self) -> Result<usize> {
        let question = ["diff", "--cached", "--no-ext-diff", "--name-only", "--no-renames", "-z"];
        let names = self.answer("diff", &self.question(question).output_bytes(LIST_BYTES))?;
        Ok(names.output.iter().filter(|byte| **byte == 0).count())
    }

    pub(super) fn commit_once(&self, commit: &NewCommit, mark: &Mark) -> Result<Committed> {
        commit.check()?;
        let _alone = self.alone()?;
        if let Some(made) = self.marked(mark)? {
            return self.committed(made, true);
        }
        let status = self.look_at_files(0)?;
        if status.conflicted > 0 {
            let (count, first) = (status.conflicted, self.first_conflict()?);
            return Err(VersionControlError::Conflicts { count, first });
        }
        match &commit.since {
            Some(before) => self.stage_since(before)?,
            None if commit.all => self.stage()?,
            None => {}
        }
        // The end of a merge is a commit even if it changes nothing.
        let is_wanted = commit.allow_empty || status.operation == Some(Unfinished::Merge);
        if !is_wanted && self.count_staged()? == 0 {
            let changed = status.unstaged + status.untracked;
            if changed > 0 && !commit.all && commit.since.is_none() {
                return Err(VersionControlError::NothingStaged { changed });
            }
            return self.nothing_to_commit();
        }
        self.make(commit, mark)
    }

    fn nothing_to_commit(&self) -> Result<Committed> {
        let head = self.head()?.ok_or(VersionControlError::NothingYet)?;
        self.committed(head, false)
    }

    fn make(&self, commit: &NewCommit, mark: &Mark) -> Result<Committed> {
        let folder = self.scratch()?;
        let message = folder.path().join("message");
        fs::write(&message, whole_message(commit, mark)).map_err(|source| {
            VersionControlError::File { what: "the message of a commit", source }
        })?;
        let tool = self.commit_tool(commit, &message);
        let tool = self.with_identity(tool, commit.author.as_ref())?;
        let said = match self.change("commit", &tool, None) {
            // Its last hook comes after the commit.
            Err(error) if error.is_timeout() => {
                let made = self.marked(mark)?.ok_or(error)?;
                return self.committed(made, true);
            }
            said => said?,
        };
        match self.marked(mark)? {
            Some(made) => self.committed(made, true),
            // A hook took the mark away.
            None if said.is_success() => {
                let made = self.head()?.ok_or_else(|| refused("commit", &said))?;
                self.committed(made, true)
            }
            None => self.not_committed(commit, why(&said)),
        }
    }

    /// Somebody who is not kept waiting by us may have committed what was staged.
    fn not_committed(&self, commit: &NewCommit, error: VersionControlError) -> Result<Committed> {
        let is_odd = matches!(error, VersionControlError::Refused { .. });
        if is_odd && !commit.allow_empty && self.count_staged()? == 0 {
            return self.nothing_to_commit();
        }
        Err(error)
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
fn why(said: &Answer) -> VersionControlError {
    let words = last_words(said);
    if let Some(refusal) = hooks::refusal(said, || words.clone()) {
        return refusal;
    }
    let signs = ["failed to sign", "signing failed", "cannot run gpg", "user.signingKey"];
    if signs.iter().any(|sign| words.contains(sign)) {
        return VersionControlError::Signing { said: words };
    }
    refused("commit", said)
}
