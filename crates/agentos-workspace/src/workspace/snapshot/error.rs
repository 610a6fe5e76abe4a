//! Why there is no snapshot, or no way back.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::bounds::{FILE_BYTES, SNAPSHOTS};
use crate::files::FileError;
use crate::workspace::Kind;
use crate::workspace::id::WorkspaceId;
use crate::workspace::isolation::IsolationError;
use crate::workspace::ledger::LedgerError;
use crate::workspace::porcelain::CallError;
use crate::workspace::verify::VerifyError;
use crate::workspace::yard::OpenError;

/// Why there is no snapshot, or no way back to one.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The workspace is not what it should be.
    #[error(transparent)]
    NotIt(#[from] VerifyError),
    /// A tool did not do what it should.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A file of ours can't be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file or folder can't be read or written.
    #[error("the snapshot fails because of {}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It can't be the label of a snapshot.
    #[error("that is no label for a snapshot: {why}")]
    Label {
        /// Why.
        why: String,
    },
    /// Somebody writes to it meanwhile.
    #[error("there is no snapshot, because {} changes meanwhile; end whoever writes to it", path.display())]
    Restless {
        /// What changes.
        path: PathBuf,
    },
    /// A file is too large.
    #[error(
        "there is no snapshot: {} has {bytes} bytes, and a file may have {FILE_BYTES}; remove it, or let git overlook it \
         (.gitignore)",
        path.display()
    )]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// How large it is.
        bytes: u64,
    },
    /// There are too many files.
    #[error("there is no snapshot: {} has too many files", path.display())]
    TooMany {
        /// Where.
        path: PathBuf,
    },
    /// git can't keep it.
    #[error(
        "there is no snapshot: {} is of a sort that git can't keep; remove it, rename it, or let git overlook it \
         (.gitignore)",
        path.display()
    )]
    Unkeepable {
        /// What.
        path: PathBuf,
    },
    /// The run has too many.
    #[error("there is no snapshot: the run {run} has {SNAPSHOTS} already")]
    ChainTooLong {
        /// Which.
        run: String,
    },
    /// What is recorded can't be understood.
    #[error("the snapshot {commit} can't be used: {why}")]
    Damaged {
        /// Its commit.
        commit: String,
        /// What is wrong with it.
        why: String,
    },
    /// Somebody was killed on the way back.
    #[error(
        "{} is halfway back to the snapshot {number}, so it is neither the one nor the other; return to that snapshot again",
        path.display()
    )]
    HalfReturned {
        /// The workspace.
        path: PathBuf,
        /// Where it was to return to.
        number: u32,
    },
    /// Another checkout has the branch now.
    #[error(
        "the branch {branch} is checked out in {} now, so it can't be put back to where it was; check out something else \
         there",
        path.display()
    )]
    BranchInUse {
        /// The branch.
        branch: String,
        /// Who has it.
        path: PathBuf,
    },
    /// The one is jj's and the other is git's.
    #[error(
        "the snapshot is of a workspace of the kind `{found}`, which can't be put into one of the kind `{wanted}`"
    )]
    OtherKind {
        /// What it is of.
        found: Kind,
        /// What it was to be put into.
        wanted: Kind,
    },
    /// There was no commit yet.
    #[error(
        "the snapshot {commit} was taken before there was a commit, and a workspace is made from one"
    )]
    NoBase {
        /// The snapshot's commit.
        commit: String,
    },
    /// There is another workspace of that name.
    #[error(
        "there is a workspace {id} already, and it was not made from this snapshot; name another one"
    )]
    Taken {
        /// Which.
        id: WorkspaceId,
    },
    /// There is a branch of that name.
    #[error(
        "there is a branch {branch} already; name another workspace, or rename the branch (git branch -m {branch} …)"
    )]
    BranchTaken {
        /// The branch.
        branch: String,
    },
    /// A workspace can't be made.
    #[error(transparent)]
    Open(#[from] Box<OpenError>),
    /// A workspace can't be made.
    #[error(transparent)]
    Isolation(#[from] IsolationError),
    /// It can't be written down.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl From<OpenError> for SnapshotError {
    fn from(error: OpenError) -> Self {
        Self::Open(Box::new(error))
    }
}
