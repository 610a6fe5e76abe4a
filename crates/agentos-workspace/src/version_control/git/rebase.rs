//! Making the commits of a branch again on top of its base.
//!
//! It is done whole or not at all: where both sides have changed the same lines git is told to take everything back.

use std::time::Duration;

use super::super::Result;
use super::super::answer::Unfinished;
use super::super::bounds::LIST_BYTES;
use super::super::remote::Base;
use super::super::remote::error::RemoteError;
use super::super::said::last_words;
use super::hooks;
use super::{GitRepository, refused, text};

/// What a person may have configured for rebases of his own.
const PLAIN: [&str; 3] =
    ["rebase.autoSquash=false", "rebase.updateRefs=false", "rebase.autoStash=false"];

impl GitRepository {
    pub(super) fn rebase_onto(&self, base: &Base, timeout: Duration) -> Result<()> {
        let _alone = self.alone()?;
        self.refuse_mixing(base)?;
        let config = PLAIN.iter().flat_map(|setting| ["-c", setting]);
        let words = config.chain(["rebase", "--quiet", "--no-fork-point", &base.base_commit]);
        let tool = self.tool(words).timeout(timeout);
        let said = match self.change("rebase", &self.with_identity(tool, None)?, None) {
            Err(error) => {
                self.take_back()?;
                return Err(error);
            }
            Ok(said) => said,
        };
        if said.is_success() {
            return Ok(());
        }
        let files = self.files_in_conflict()?;
        self.take_back()?;
        if !files.is_empty() {
            return Err(RemoteError::Conflicts { base: base.base.clone(), files }.into());
        }
        let refusal = hooks::refusal(&said, || last_words(&said));
        Err(refusal.unwrap_or_else(|| refused("rebase", &said)))
    }

    /// Takes back a rebase that has not come to its end.
    pub(super) fn take_back(&self) -> Result<()> {
        if self.look_at_files(0)?.operation != Some(Unfinished::Rebase) {
            return Ok(());
        }
        let abort = self.tool(["rebase", "--abort"]).timeout(self.patient());
        self.changed("rebase --abort", &abort)
    }

    fn refuse_mixing(&self, base: &Base) -> Result<()> {
        let no = |reason: String| Err(RemoteError::NotNow { reason }.into());
        if self.checked_out()?.as_deref() != Some(&base.head) {
            return no(format!("`{}` is not what is checked out", base.head));
        }
        let status = self.look_at_files(0)?;
        if status.operation.is_some() {
            return no("a merge or a rebase is not over; finish it first".to_owned());
        }
        let changed = status.total - status.untracked;
        if changed > 0 {
            return no(format!("{changed} changed files are not committed; commit them first"));
        }
        Ok(())
    }

    fn files_in_conflict(&self) -> Result<Vec<String>> {
        let question = ["diff", "--no-ext-diff", "--name-only", "--diff-filter=U", "-z"];
        let names = self.answer("diff", &self.question(question).cut_output(LIST_BYTES))?;
        let names = names.output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(text).collect())
    }
}
