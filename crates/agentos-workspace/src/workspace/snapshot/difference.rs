//! What differs between two snapshots, of one run or of two.

use super::bounds::{DIFF_BYTES, DIFF_FILES};
use super::{Snapshot, SnapshotError};
use crate::version_control::Diff;
use crate::version_control::bounds::LIST_BYTES;
use crate::version_control::git::diff::{PLAIN, cut_text, numbers};
use crate::workspace::porcelain::{QUIETLY, run, succeeded};
use crate::workspace::yard::Yard;

/// How much of a difference is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// Whether the text is wanted, and not only which files and how many lines.
    pub has_text: bool,
    /// Whether the text is to be a patch that can be applied, with what is in files that are no text.
    pub is_whole: bool,
    /// How many files may be named.
    pub files: usize,
    /// How long the text may be, in bytes.
    pub text_bytes: usize,
}

impl Default for Comparison {
    fn default() -> Self {
        Self { has_text: true, is_whole: false, files: DIFF_FILES, text_bytes: DIFF_BYTES }
    }
}

impl Yard<'_> {
    /// What is in the files of one snapshot and not in those of the other. It does not matter whether their workspaces are
    /// still there.
    ///
    /// # Errors
    /// [`SnapshotError`]
    pub fn snapshot_diff(
        &self,
        from: &Snapshot,
        to: &Snapshot,
        wanted: Comparison,
    ) -> Result<Diff, SnapshotError> {
        let repository = &self.repository.checkout.repository;
        let git = |how: &[&str]| {
            let tool = self.calls().tool("git", repository).set("GIT_DIR", repository);
            let words = PLAIN.iter().chain(how);
            let words = words.copied().chain([&*from.commit, &*to.commit, "--"]);
            tool.args(QUIETLY).args(words)
        };
        let counted = git(&["--numstat", "-z"]).output_bytes(LIST_BYTES);
        let said = run(&counted)?;
        let said = succeeded("git", repository, &["diff".into()], said)?;
        let mut diff = numbers(&said, wanted.files.min(DIFF_FILES));
        if wanted.has_text {
            let how: &[&str] = match wanted.is_whole {
                true => &["--patch", "--binary", "--full-index"],
                false => &["--patch"],
            };
            let patch = git(how).cut_output(wanted.text_bytes.min(DIFF_BYTES));
            let said = run(&patch)?;
            diff.text_truncated = said.is_cut;
            let bytes = match said.is_cut {
                true => said.output,
                false => succeeded("git", repository, &["diff".into()], said)?,
            };
            diff.text = Some(cut_text(&bytes));
        }
        Ok(diff)
    }
}
