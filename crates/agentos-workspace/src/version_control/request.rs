//! What can be asked for. Read from what a workflow ordered, so nothing in here is taken for granted.

use std::time::Duration;

use serde::Deserialize;

use super::bounds::{
    COMMIT, COMMITS, COMMITS_DEFAULT, FILES, FILES_DEFAULT, NEW_MESSAGE_BYTES, PATH_BYTES, PATHS,
    PATHS_BYTES, TEXT_BYTES, TEXT_BYTES_DEFAULT, TRAILERS, WRITE,
};
use super::error::VersionControlError;
use super::mark::TRAILER;

/// A branch that is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewBranch {
    /// Its name.
    pub branch: String,
    /// Where it begins if there is none yet; at what is checked out if nothing is said.
    #[serde(default)]
    pub from: Option<String>,
    /// How long it may take.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

impl NewBranch {
    /// How long it may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout_ms.map_or(WRITE, Duration::from_millis)
    }
}

/// Somebody.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Person {
    /// Their name.
    pub name: String,
    /// Their address.
    pub email: String,
}

/// A line at the end of a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trailer {
    /// Such as `Co-authored-by`.
    pub key: String,
    /// The rest of the line.
    pub value: String,
}

/// A commit that is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NewCommit {
    /// What it says.
    pub message: String,
    /// Who wrote it; whoever git is configured for if nothing is said.
    pub author: Option<Person>,
    /// Lines at the end of the message.
    pub trailers: Vec<Trailer>,
    /// Whether it may change nothing.
    pub allow_empty: bool,
    /// Whether everything is staged first.
    pub all: bool,
    /// Of the files, only what has changed since they were this tree is staged first.
    pub since: Option<String>,
    /// Whether it is signed; as git is configured if nothing is said.
    pub sign: Option<bool>,
    /// Whether the hooks that could refuse it are left out.
    pub no_verify: bool,
    /// How long it may take with its hooks.
    pub timeout_ms: Option<u64>,
}

impl NewCommit {
    /// How long it may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout_ms.map_or(COMMIT, Duration::from_millis)
    }

    /// Whether it can be made at all.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), VersionControlError> {
        if self.message.trim().is_empty() {
            return Err(input("a commit needs a message, and this one says nothing"));
        }
        if self.message.contains('\0') || self.size() > NEW_MESSAGE_BYTES {
            return Err(input(format!(
                "the message of a commit has no zero bytes and, with its trailers, at most {NEW_MESSAGE_BYTES} bytes"
            )));
        }
        if self.trailers.len() > TRAILERS {
            return Err(input(format!("a commit has at most {TRAILERS} trailers")));
        }
        if self.all && self.since.is_some() {
            return Err(input(
                "a commit is of everything or of what has changed `since`, not both",
            ));
        }
        self.trailers.iter().try_for_each(Trailer::check)?;
        self.author.as_ref().map_or(Ok(()), Person::check)
    }

    /// How long the message is with its trailers, in bytes.
    fn size(&self) -> usize {
        let trailers = self.trailers.iter().map(|trailer| trailer.key.len() + trailer.value.len());
        self.message.len() + trailers.sum::<usize>()
    }
}

impl Trailer {
    fn check(&self) -> Result<(), VersionControlError> {
        let is_key = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if self.key.is_empty() || self.key.starts_with('-') || !self.key.chars().all(is_key) {
            let key = &self.key;
            return Err(input(format!(
                "`{key}` can't be the key of a trailer: letters, digits and `-`, as in `Reviewed-by`"
            )));
        }
        if self.key.eq_ignore_ascii_case(TRAILER) {
            return Err(input(format!("the trailer `{TRAILER}` is added to every commit anyway")));
        }
        if self.value.trim().is_empty() || self.value.contains(['\n', '\r', '\0']) {
            let key = &self.key;
            return Err(input(format!("the trailer `{key}` needs a value of one line")));
        }
        Ok(())
    }
}

impl Person {
    fn check(&self) -> Result<(), VersionControlError> {
        let is_odd = |text: &str| text.trim().is_empty() || text.contains(['\n', '\0', '<', '>']);
        if self.name.len() + self.email.len() > PATH_BYTES {
            return Err(input(format!("an author has at most {PATH_BYTES} bytes")));
        }
        if is_odd(&self.name) || is_odd(&self.email) {
            let Self { name, email } = self;
            return Err(input(format!(
                "`{name} <{email}>` can't be an author: both parts are needed, in one line, without < and >"
            )));
        }
        Ok(())
    }
}

/// How much of a status is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StatusRequest {
    /// How many changed files are named at most.
    pub limit: Option<usize>,
}

impl StatusRequest {
    pub(super) fn limit(&self) -> usize {
        self.limit.map_or(FILES_DEFAULT, |limit| limit.min(FILES))
    }
}

/// What is compared with what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DiffRequest {
    /// The old side; what is checked out if nothing is said.
    pub from: Option<String>,
    /// The new side; the files as they are if nothing is said.
    pub to: Option<String>,
    /// The new side is what is staged.
    pub staged: bool,
    /// The old side is where the two sides parted.
    pub merge_base: bool,
    /// Only these files and folders.
    pub paths: Vec<String>,
    /// Whether files that are not part of the history yet count, if the new side is the files. They do if nothing is said.
    pub untracked: Option<bool>,
    /// Only numbers, no text.
    pub stat: bool,
    /// How long the text may be, in bytes.
    pub text_bytes: Option<usize>,
    /// How many changed files are named at most.
    pub limit: Option<usize>,
}

impl DiffRequest {
    pub(super) fn check(&self) -> Result<(), VersionControlError> {
        if self.staged && self.to.is_some() {
            return Err(input("a diff is up to what is staged or up to `to`, not both"));
        }
        check_paths(&self.paths)
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.map_or(FILES_DEFAULT, |limit| limit.min(FILES))
    }

    pub(super) fn text_bytes(&self) -> usize {
        self.text_bytes.map_or(TEXT_BYTES_DEFAULT, |limit| limit.min(TEXT_BYTES))
    }
}

/// Which commits are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogRequest {
    /// How many at most.
    pub limit: Option<usize>,
    /// Those that are not in this one's past.
    pub from: Option<String>,
    /// Those in this one's past, itself included; what is checked out if nothing is said.
    pub to: Option<String>,
    /// Only those that changed these files and folders.
    pub paths: Vec<String>,
}

impl LogRequest {
    pub(super) fn check(&self) -> Result<(), VersionControlError> {
        check_paths(&self.paths)
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.map_or(COMMITS_DEFAULT, |limit| limit.min(COMMITS))
    }
}

fn check_paths(paths: &[String]) -> Result<(), VersionControlError> {
    if paths.len() > PATHS {
        return Err(input(format!("at most {PATHS} paths can be named at once")));
    }
    if paths.iter().map(String::len).sum::<usize>() > PATHS_BYTES {
        return Err(input(format!(
            "the paths that are named at once have at most {PATHS_BYTES} bytes; name the folders above them"
        )));
    }
    let is_odd = |path: &&String| path.is_empty() || path.contains('\0') || path.len() > PATH_BYTES;
    match paths.iter().find(is_odd) {
        Some(path) => {
            let start: String = path.chars().take(40).collect();
            Err(input(format!("`{start}` can't be a path")))
        }
        None => Ok(()),
    }
}

pub(super) fn input(message: impl Into<String>) -> VersionControlError {
    VersionControlError::Input { message: message.into() }
}
