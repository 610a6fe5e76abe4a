//! What is answered. Names of files are text: what is no text in one is replaced by `\u{fffd}`.

use serde::Serialize;

/// A branch that is there and checked out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// Its name.
    pub branch: String,
    /// Its commit; none before the first.
    pub head: Option<String>,
    /// Whether it was made for this.
    pub created: bool,
    /// Whether something else was checked out before.
    pub switched: bool,
}

/// What is staged now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Staged {
    /// How many files differ from the last commit.
    pub staged: usize,
}

/// A commit that was made, or was not needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Committed {
    /// It, or if there was nothing to commit the one that is checked out.
    pub commit_sha: String,
    /// The branch that it is on; none if none is checked out.
    pub branch: Option<String>,
    /// Whether it was made for this. If not, there was nothing to commit.
    pub created: bool,
}

/// How the files stand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// What is checked out; none if it is a commit.
    pub branch: Option<String>,
    /// Its commit; none before the first.
    pub head: Option<String>,
    /// The branch that it follows.
    pub upstream: Option<String>,
    /// How many commits that one does not have.
    pub ahead: u64,
    /// How many commits only that one has.
    pub behind: u64,
    /// What was begun and is not over.
    pub operation: Option<Unfinished>,
    /// Whether nothing is changed.
    pub clean: bool,
    /// How many files are changed at all.
    pub total: usize,
    /// How many of them differ between the last commit and what is staged.
    pub staged: usize,
    /// How many differ between what is staged and the file.
    pub unstaged: usize,
    /// How many are not part of the history yet.
    pub untracked: usize,
    /// How many are in conflict.
    pub conflicted: usize,
    /// The changed files, or the first of them.
    pub entries: Vec<StatusEntry>,
    /// Whether there are more.
    pub truncated: bool,
}

/// Something that takes several steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfinished {
    /// Two histories become one.
    Merge,
    /// Commits are made again elsewhere.
    Rebase,
    /// A commit is made again here.
    CherryPick,
    /// A commit is undone.
    Revert,
    /// The commit that broke something is looked for.
    Bisect,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusEntry {
    /// Where it is.
    pub path: String,
    /// Where it was, if it was renamed or copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The two letters that git shows for it.
    pub code: String,
    /// What they mean.
    pub kind: ChangeKind,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new and staged.
    Added,
    /// Its content or mode differs.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another name.
    Renamed,
    /// It is a copy of another.
    Copied,
    /// It became a link, or was one.
    Retyped,
    /// It is not part of the history.
    Untracked,
    /// Two histories disagree on it.
    Conflicted,
}

/// What differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// How many files differ.
    pub files_changed: usize,
    /// How many lines there are that were not.
    pub insertions: u64,
    /// How many lines there were that are not.
    pub deletions: u64,
    /// The files, or the first of them.
    pub files: Vec<ChangedFile>,
    /// Whether there are more.
    pub truncated: bool,
    /// The difference as text, or its beginning, unless only numbers were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the text goes on.
    pub text_truncated: bool,
}

/// A file that differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Where it is. It ends with `/` if it is a folder with a repository of its own, of which nothing more is known.
    pub path: String,
    /// Where it was, if it has another name now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// How many lines there are that were not.
    pub insertions: u64,
    /// How many lines there were that are not.
    pub deletions: u64,
    /// Whether it has no lines.
    pub binary: bool,
}

/// A commit of the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoggedCommit {
    /// Its id.
    pub sha: String,
    /// Those it was made on.
    pub parents: Vec<String>,
    /// Who wrote it.
    pub author_name: String,
    /// And their address.
    pub author_email: String,
    /// When, as RFC 3339 has it.
    pub authored_at: String,
    /// When it was put where it is.
    pub committed_at: String,
    /// The first line of its message.
    pub subject: String,
    /// Its message, or the beginning of a long one.
    pub message: String,
}
