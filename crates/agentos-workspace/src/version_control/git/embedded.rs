//! Repositories among the files, which nobody has made part of this one.
//!
//! git would stage such a folder as the id of its latest commit and leave its files out, and would not stage one without a
//! commit at all. Neither is what anybody wants who commits everything.

use super::super::Result;
use super::super::bounds::LIST_BYTES;
use super::super::error::VersionControlError;
use super::{GitRepository, text};

impl GitRepository {
    /// The folders with a repository of their own that are neither ignored nor part of the history, as git names them: with
    /// a `/` at the end. With paths, only those there.
    pub(in crate::version_control) fn embedded(&self, paths: &[String]) -> Result<Vec<String>> {
        let question = ["ls-files", "--others", "--exclude-standard", "-z", "--"];
        let question = question.into_iter().chain(paths.iter().map(String::as_str));
        let names = self.answer("ls-files", &self.question(question).output_bytes(LIST_BYTES))?;
        // Of what is not known to it git names files, and folders only where it does not look into them.
        let names = names.output.split(|byte| *byte == 0);
        Ok(names.filter(|name| name.ends_with(b"/")).map(text).collect())
    }

    pub(super) fn refuse_embedded(&self) -> Result<()> {
        let found = self.embedded(&[])?;
        let count = found.len();
        match found.into_iter().next() {
            Some(first) => Err(VersionControlError::Embedded { count, first }),
            None => Ok(()),
        }
    }
}
