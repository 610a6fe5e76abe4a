//! git's lower half, for snapshots: objects, indexes and refs, with nobody's filters, attributes or limits in between.
//!
//! Whatever is read or written here is bytes. A list that may be long is handed over in pieces, because arguments are the
//! way in.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::porcelain::{CallError, Porcelain, QUIETLY, line, run, succeeded};

/// Most bytes of arguments in one call: the system takes about two million.
const ARGUMENT_BYTES: usize = 128 << 10;

/// Most that git may say, in bytes: a line for each of a million files.
const OUTPUT_BYTES: usize = 256 << 20;

/// What git is told so that it takes files and names as they are.
pub(crate) const EXACTLY: [&str; 16] = [
    "-c",
    "core.autocrlf=false",
    "-c",
    "core.safecrlf=false",
    "-c",
    "core.protectNTFS=false",
    "-c",
    "core.protectHFS=false",
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.symlinks=true",
    "-c",
    "core.fileMode=true",
];

/// Where git is called: the folder it stands in, and what it is told about its own places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stand<'a> {
    /// The folder.
    pub(crate) folder: &'a Path,
    /// Its git directory, if the folder does not say.
    pub(crate) git_dir: Option<&'a Path>,
    /// The files of a checkout that is not that git directory's own.
    pub(crate) work_tree: Option<&'a Path>,
    /// An index that is not the checkout's own.
    pub(crate) index: Option<&'a Path>,
    /// Whether the machine's own rules for files count.
    pub(crate) has_rules: bool,
}

impl<'a> Stand<'a> {
    /// In a checkout.
    pub(crate) fn checkout(folder: &'a Path) -> Self {
        Self { folder, git_dir: None, work_tree: None, index: None, has_rules: true }
    }

    /// In a git directory.
    pub(crate) fn repository(git_dir: &'a Path) -> Self {
        Self {
            folder: git_dir,
            git_dir: Some(git_dir),
            work_tree: None,
            index: None,
            has_rules: true,
        }
    }

    /// The same with another index.
    pub(crate) fn with_index(self, index: &'a Path) -> Self {
        Self { index: Some(index), ..self }
    }
}

/// Calls to git that leave bytes alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plumbing<'a>(pub(super) Porcelain<'a>);

impl Plumbing<'_> {
    /// Calls git; what it said, or none if it said no.
    pub(crate) fn ask<A: Into<OsString>>(
        &self,
        stand: Stand<'_>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Option<Vec<u8>>, CallError> {
        let answer = run(&self.tool(stand).args(arguments))?;
        Ok(answer.is_success().then_some(answer.output))
    }

    /// Calls git; what it said.
    pub(crate) fn call<A: Into<OsString>>(
        &self,
        stand: Stand<'_>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, CallError> {
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let answer = run(&self.tool(stand).args(arguments.clone()))?;
        succeeded("git", stand.folder, &arguments, answer)
    }

    /// The first line of what git said.
    pub(crate) fn word<A: Into<OsString>>(
        &self,
        stand: Stand<'_>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, CallError> {
        Ok(line(&self.call(stand, arguments)?))
    }

    /// Calls git as often as it takes for all of a list, each item of which may be several words; everything that it said.
    pub(crate) fn call_with_many(
        &self,
        stand: Stand<'_>,
        beginning: &[&str],
        list: impl IntoIterator<Item = impl IntoIterator<Item = OsString>>,
    ) -> Result<Vec<u8>, CallError> {
        let (mut said, mut piece, mut bytes) = (Vec::new(), Vec::<OsString>::new(), 0);
        for words in list {
            for word in words {
                bytes += word.len() + 1;
                piece.push(word);
            }
            if bytes > ARGUMENT_BYTES {
                let words = beginning.iter().map(OsString::from).chain(std::mem::take(&mut piece));
                said.extend(self.call(stand, words)?);
                bytes = 0;
            }
        }
        if !piece.is_empty() {
            let words = beginning.iter().map(OsString::from).chain(piece);
            said.extend(self.call(stand, words)?);
        }
        Ok(said)
    }

    fn tool(&self, stand: Stand<'_>) -> agentos_process::tool::Tool {
        let mut tool = self.0.tool("git", stand.folder).output_bytes(OUTPUT_BYTES);
        if let Some(git_dir) = stand.git_dir {
            tool = tool.set("GIT_DIR", git_dir);
        }
        if let Some(work_tree) = stand.work_tree {
            tool = tool.set("GIT_WORK_TREE", work_tree);
        }
        if let Some(index) = stand.index {
            tool = tool.set("GIT_INDEX_FILE", index);
        }
        if !stand.has_rules {
            tool = tool.set("GIT_ATTR_NOSYSTEM", "1");
        }
        // When a backup was made decides how long it is kept.
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            tool = tool.unset(name);
        }
        // Snapshots are nobody's, so that they can be made where git knows no name.
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
            tool = tool.set(name, "AgentOS");
        }
        for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            tool = tool.set(name, "agentos@localhost");
        }
        tool.args(QUIETLY)
    }
}

/// The parts of an answer that end with a zero byte.
pub(crate) fn parts(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// A path in git's words.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
