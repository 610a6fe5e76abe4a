//! A database that somebody has named: a path, or the address of a shared store.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::surroundings::Surroundings;

/// Names the database of every command.
pub const VARIABLE: &str = "AGENTOS_WORKFLOW_DB";

/// Where runs are kept.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    /// In this file.
    File(PathBuf),
    /// In a shared store, at this address.
    Shared(String),
}

impl Database {
    /// The file, if it is one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Shared(_) => None,
        }
    }
}

/// The path, or the address without the password in it.
impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Shared(address) => f.write_str(&without_password(address)),
        }
    }
}

/// Without the password, too: what is debugged ends up in logs.
impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({self})")
    }
}

/// Why a name is not one of a database.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// `~` without a home.
    #[error("{VARIABLE} begins with `~` and HOME is not set; set it, or write the whole path")]
    NoHome,
    /// `~somebody`.
    #[error("{VARIABLE}: `{name}` is not expanded; write the whole path")]
    OtherHome {
        /// The name up to the slash.
        name: String,
    },
    /// A relative path without a current folder.
    #[error(
        "{VARIABLE} is a relative path and the current folder does not exist; write the whole path"
    )]
    NoCurrentFolder,
    /// An address of something that is not supported.
    #[error(
        "{VARIABLE}: `{scheme}://` is not supported; write a path, or the address of a `postgres://` database"
    )]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The path names no file.
    #[error("{VARIABLE}: {} is no name of a file; add one", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
    },
}

/// Reads a name as a user writes it: `~`, relative paths and addresses.
///
/// # Errors
/// [`NameError`]
pub fn parse(name: &OsStr, surroundings: &Surroundings) -> Result<Database, NameError> {
    if let Some((scheme, _)) = name.to_str().and_then(|text| text.split_once("://")) {
        return match scheme.to_ascii_lowercase().as_str() {
            "postgres" | "postgresql" => Ok(Database::Shared(name.to_string_lossy().into_owned())),
            _ if scheme.contains('/') => path(name, surroundings).map(Database::File),
            _ => Err(NameError::Scheme { scheme: scheme.to_owned() }),
        };
    }
    path(name, surroundings).map(Database::File)
}

fn path(name: &OsStr, surroundings: &Surroundings) -> Result<PathBuf, NameError> {
    let path = Path::new(name);
    let expanded = match name.as_bytes() {
        [b'~'] | [b'~', b'/', ..] => {
            let home = surroundings.home.as_deref().ok_or(NameError::NoHome)?;
            path.strip_prefix("~").map_or_else(|_| path.to_owned(), |rest| home.join(rest))
        }
        [b'~', ..] => {
            let first = path.components().next().map(|part| part.as_os_str().to_string_lossy());
            return Err(NameError::OtherHome { name: first.unwrap_or_default().into_owned() });
        }
        _ if path.is_relative() => {
            surroundings.cwd.as_deref().ok_or(NameError::NoCurrentFolder)?.join(path)
        }
        _ => path.to_owned(),
    };
    let is_folder = name.as_bytes().ends_with(b"/") || expanded.file_name().is_none();
    if is_folder || Some(expanded.as_path()) == surroundings.home.as_deref() {
        return Err(NameError::NoFile { path: expanded });
    }
    Ok(expanded)
}

/// `postgres://user:secret@host/db` without the secret.
fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let Some(at) = rest[..end].rfind('@') else { return address.to_owned() };
    let user = rest[..at].split_once(':').map_or(&rest[..at], |(user, _)| user);
    format!("{scheme}://{user}{}", &rest[at..])
}
