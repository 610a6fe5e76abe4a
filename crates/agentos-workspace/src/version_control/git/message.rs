//! The message of a commit with its trailers, in a file.
//!
//! Trailers belong to the last paragraph of a message, and a message may bring some of its own; git knows how to join them.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::Result;
use super::super::error::VersionControlError;
use super::super::mark::Mark;
use super::super::request::NewCommit;
use super::GitRepository;

impl GitRepository {
    /// Writes the message into this folder.
    pub(super) fn written_message(
        &self,
        commit: &NewCommit,
        mark: &Mark,
        folder: &Path,
    ) -> Result<PathBuf> {
        let failed = |source| VersionControlError::File { what: "the message of a commit", source };
        let path = folder.join("message");
        fs::write(&path, format!("{}\n", commit.message.trim_end())).map_err(failed)?;
        let trailers = commit.trailers.iter();
        let trailers = trailers.map(|trailer| format!("{}: {}", trailer.key, trailer.value.trim()));
        let trailers = trailers.chain([mark.line()]);
        let how = ["--no-divider", "--where=end", "--if-exists=addIfDifferent", "--if-missing=add"];
        let mut words: Vec<String> = vec!["interpret-trailers".to_owned()];
        words.extend(how.map(str::to_owned));
        words.extend(trailers.map(|trailer| format!("--trailer={trailer}")));
        let mut tool = self.question(words);
        tool = tool.args([path.as_os_str()]);
        let message = self.answer("interpret-trailers", &tool)?.output;
        fs::write(&path, message).map_err(failed)?;
        Ok(path)
    }
}
