//! Where workspaces are: one folder for all of a user's, in it one for each repository.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::repository::Repository;
use crate::surroundings::Surroundings;

/// Names the folder for all workspaces.
pub const VARIABLE: &str = "AI_WORKSPACES_ROOT";

/// What it is called in the user's cache.
const FOLDER: &str = "ai-workspaces";

/// How many digits of the hash are in a namespace.
const DIGITS: usize = 10;

/// Longest readable part of a namespace, in bytes: a file name may have 255.
const NAME_BYTES: usize = 120;

/// Why there is no place for workspaces.
#[derive(Debug, Error)]
pub enum RootError {
    /// Nobody has said where.
    #[error("there is no place for workspaces: HOME is not set; set it, or {VARIABLE}")]
    NoHome,
    /// It is not an absolute path.
    #[error("{named}: {} is no absolute path; write the whole path", path.display())]
    Relative {
        /// Who names it.
        named: &'static str,
        /// What it names.
        path: PathBuf,
    },
    /// It lies in the repository.
    #[error(
        "workspaces can't be kept in {}: that is inside of the repository {}; name another folder with {VARIABLE} or \
         `workspace.path`",
        root.display(),
        repository.display()
    )]
    Inside {
        /// The folder for workspaces.
        root: PathBuf,
        /// What it lies in.
        repository: PathBuf,
    },
    /// Nothing can be made in it.
    #[error(
        "the folder for workspaces {} can't be used: {why}; name another one with {VARIABLE} or `workspace.path`",
        path.display()
    )]
    Unusable {
        /// Where.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It can't be looked at.
    #[error("the folder for workspaces {} can't be used: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The folder for all workspaces: the variable's, the configured one, or the one in the user's cache. Makes nothing.
///
/// # Errors
/// [`RootError`]
pub fn find(surroundings: &Surroundings, configured: Option<&Path>) -> Result<PathBuf, RootError> {
    if let Some(named) = surroundings.variable(VARIABLE) {
        return absolute(VARIABLE, &expanded(Path::new(named), surroundings));
    }
    if let Some(named) = configured {
        return absolute("workspace.path", &expanded(named, surroundings));
    }
    // A relative one is not valid, and ignored like an empty one.
    let cache = surroundings.variable("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.filter(|path| path.is_absolute());
    let cache = cache.or_else(|| Some(surroundings.home.as_deref()?.join(".cache")));
    absolute("XDG_CACHE_HOME", &cache.ok_or(RootError::NoHome)?.join(FOLDER))
}

/// Refuses a folder for workspaces that lies in the repository: its files would be the repository's.
///
/// # Errors
/// [`RootError`]
pub fn check(root: &Path, repository: &Repository) -> Result<(), RootError> {
    let around =
        [&repository.main_root, &repository.checkout.root, &repository.checkout.repository];
    match around.into_iter().find(|folder| root.starts_with(folder)) {
        Some(folder) => {
            let (root, repository) = (root.to_owned(), folder.clone());
            Err(RootError::Inside { root, repository })
        }
        None => Ok(()),
    }
}

/// What the folder of a repository's workspaces is called: its name, and enough of a hash to tell it from others.
#[must_use]
pub fn namespace(main_root: &Path) -> String {
    let digest = Sha256::digest(main_root.as_os_str().as_bytes());
    let mut hash = String::new();
    for byte in digest.iter().take(DIGITS / 2) {
        let _written = write!(hash, "{byte:02x}");
    }
    let name = main_root.file_name().map_or_else(|| "root".into(), OsStr::to_string_lossy);
    let name = &name[..name.floor_char_boundary(NAME_BYTES)];
    format!("{name}-{hash}")
}

/// `~` is the home, as in a shell.
fn expanded(path: &Path, surroundings: &Surroundings) -> PathBuf {
    match (path.strip_prefix("~"), &surroundings.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// The real path, as far as there is one: what is not there yet has no links in it.
fn absolute(named: &'static str, path: &Path) -> Result<PathBuf, RootError> {
    let is_plain = path.components().all(|part| part != Component::ParentDir);
    if !path.is_absolute() || !is_plain {
        return Err(RootError::Relative { named, path: path.to_owned() });
    }
    for there in path.ancestors() {
        match there.canonicalize() {
            Ok(real) => {
                return Ok(path.strip_prefix(there).map_or(real.clone(), |rest| join(&real, rest)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(RootError::Io { path: there.to_owned(), source }),
        }
    }
    Ok(path.to_owned())
}

/// Joining nothing would leave a slash at the end.
fn join(real: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { real.to_owned() } else { real.join(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_the_name_and_ten_digits_of_the_hash() {
        // printf %s /home/me/project | sha256sum
        assert_eq!(namespace(Path::new("/home/me/project")), "project-225df30940");
        assert_ne!(namespace(Path::new("/a/project")), namespace(Path::new("/b/project")));
        assert!(namespace(Path::new(&format!("/{}", "ä".repeat(200)))).len() < 255);
        assert!(namespace(Path::new("/")).starts_with("root-"));
    }
}
