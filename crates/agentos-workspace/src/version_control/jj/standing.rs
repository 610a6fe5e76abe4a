//! What the working copy is, as jj sees it.

use super::super::Result;
use super::super::error::VersionControlError;
use super::super::git::GitRepository;
use super::{JjRepository, UNRECORDED, refused};

/// One field after the other, each ended by a zero byte, which no field has.
const TEMPLATE: &str = concat!(
    r#"commit_id ++ "\0" ++ parents.map(|parent| parent.commit_id()).join(" ") ++ "\0" ++ empty ++ "\0""#,
    r#" ++ conflicted_files.map(|file| file.path() ++ "\0").join("")"#
);

/// What the working copy is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    /// The commit that the files are recorded in.
    pub(super) files: String,
    /// What it stands on: several if it is a merge.
    pub(super) parents: Vec<String>,
    /// Whether the files differ from that in nothing.
    pub(super) is_empty: bool,
    /// The files that are in conflict.
    pub(super) conflicts: Vec<String>,
}

impl Standing {
    /// The latest commit; none before the first.
    pub(super) fn head(&self) -> Option<String> {
        // jj's name for the beginning of everything.
        let is_some = |id: &&String| id.bytes().any(|byte| byte != b'0');
        self.parents.first().filter(is_some).cloned()
    }

    /// What the files are compared with: the latest commit, or nothing at all.
    pub(super) fn before(&self, store: &GitRepository) -> Result<String> {
        self.head().map_or_else(|| store.empty_tree(), Ok)
    }

    pub(super) fn refuse_conflicts(&self) -> Result<()> {
        let count = self.conflicts.len();
        match self.conflicts.first().cloned() {
            Some(first) => Err(VersionControlError::Conflicts { count, first }),
            None => Ok(()),
        }
    }
}

impl JjRepository {
    /// What the working copy is, without looking at the files.
    pub(super) fn standing(&self) -> Result<Standing> {
        self.told(&[UNRECORDED])
    }

    /// Records the files, and tells what the working copy is then.
    pub(super) fn record(&self) -> Result<Standing> {
        self.told(&[])
    }

    fn told(&self, how: &[&str]) -> Result<Standing> {
        let question = ["log", "--no-graph", "-r", "@", "-T", TEMPLATE];
        let tool = self.tool(how.iter().chain(&question).copied());
        let answer = self.ask("log", &tool)?;
        let odd = || refused("jj log", &answer);
        if !answer.is_success() {
            return Err(odd());
        }
        let text = String::from_utf8_lossy(&answer.output);
        let mut fields = text.split_terminator('\0');
        let mut field = || fields.next().ok_or_else(odd);
        let (files, parents, is_empty) = (field()?, field()?, field()?);
        Ok(Standing {
            files: files.to_owned(),
            parents: parents.split_whitespace().map(str::to_owned).collect(),
            is_empty: is_empty == "true",
            conflicts: fields.map(str::to_owned).collect(),
        })
    }

    /// A repository among the files is overlooked by jj, and its files would be missing in a commit.
    pub(super) fn refuse_embedded(&self, standing: &Standing) -> Result<()> {
        let found = self.store.embedded_beside(&standing.files)?;
        let count = found.len();
        match found.into_iter().next() {
            Some(first) => Err(VersionControlError::Embedded { count, first }),
            None => Ok(()),
        }
    }
}
