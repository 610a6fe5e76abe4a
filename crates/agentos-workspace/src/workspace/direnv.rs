//! direnv: the environment that a repository's `.envrc` makes.
//!
//! direnv approves a file at a path, so every new workspace would be blocked. It is allowed without asking if it says what it
//! said at the commit that the workspace was made from, and the user has allowed the checkout's own. Whatever else is in
//! there, somebody may have written who works in the workspace: it is not executed until the user has allowed it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_process::environment::built_up;
use agentos_process::tool::{Answer, Tool, ToolError};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::Workspace;
use super::porcelain::{CallError, Porcelain};
use crate::surroundings::Surroundings;

/// The file.
const FILE: &str = ".envrc";

/// direnv has no limit of its own; what an `.envrc` does may take a while the first time.
const PATIENCE: Duration = Duration::from_secs(300);

/// Why there is no environment.
#[derive(Debug, Error)]
pub enum DirenvError {
    /// It is not known to be the user's.
    #[error(
        "{} is not approved: {why}. Look at it; if you trust it: direnv allow {}",
        path.display(),
        path.display()
    )]
    Blocked {
        /// The file.
        path: PathBuf,
        /// Why it was not allowed without asking.
        why: &'static str,
        /// What it says, so that an approval counts for nothing else.
        hash: String,
    },
    /// It failed.
    #[error("{} can't be used: {said}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What direnv said.
        said: String,
    },
    /// git can't be asked what it was.
    #[error(transparent)]
    Call(#[from] CallError),
    /// direnv can't be run.
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// The variables that a workspace's `.envrc` sets. None if there is no such file, or no direnv.
///
/// # Errors
/// [`DirenvError`]
pub fn environment(
    surroundings: &Surroundings,
    workspace: &Workspace,
) -> Result<BTreeMap<String, String>, DirenvError> {
    let path = workspace.path.join(FILE);
    if !path.is_file() || !is_installed(surroundings) {
        return Ok(BTreeMap::new());
    }
    if !is_allowed(surroundings, &workspace.path)? {
        check(surroundings, workspace, &path)?;
        allow(surroundings, workspace)?;
    }
    let answer = direnv(surroundings, &workspace.path, &["export", "json"])?;
    let failed = |said: String| DirenvError::Failed { path: path.clone(), said };
    if !answer.is_success() {
        return Err(failed(answer.complaint_text()));
    }
    if answer.output.trim_ascii().is_empty() {
        return Ok(BTreeMap::new());
    }
    let set: BTreeMap<String, Value> =
        serde_json::from_slice(&answer.output).map_err(|error| failed(error.to_string()))?;
    let texts =
        set.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())));
    Ok(texts.filter(|(name, _)| !name.starts_with("DIRENV_")).collect())
}

/// Allows the workspace's `.envrc`, if it still is what somebody has approved; whether it is.
///
/// # Errors
/// [`DirenvError`]
pub fn allow_approved(
    surroundings: &Surroundings,
    workspace: &Workspace,
    hash: &str,
) -> Result<bool, DirenvError> {
    let is_it = hash_of(&workspace.path.join(FILE)).is_some_and(|found| found == hash);
    if is_it {
        allow(surroundings, workspace)?;
    }
    Ok(is_it)
}

/// What a file is and says.
fn hash_of(path: &Path) -> Option<String> {
    let mut digest = Sha256::new();
    digest.update(path.as_os_str().as_encoded_bytes());
    digest.update([0]);
    digest.update(fs::read(path).ok()?);
    Some(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Allows the workspace's `.envrc`, because its user says so.
///
/// # Errors
/// [`DirenvError`]
pub fn allow(surroundings: &Surroundings, workspace: &Workspace) -> Result<(), DirenvError> {
    let path = workspace.path.join(FILE);
    let answer = direnv(surroundings, &workspace.path, &["allow"])?;
    match answer.is_success() {
        true => Ok(()),
        false => Err(DirenvError::Failed { path, said: answer.complaint_text() }),
    }
}

/// Whether it may be allowed without asking.
fn check(
    surroundings: &Surroundings,
    workspace: &Workspace,
    path: &Path,
) -> Result<(), DirenvError> {
    let hash = hash_of(path).unwrap_or_default();
    let blocked = |why| DirenvError::Blocked { path: path.to_owned(), why, hash: hash.clone() };
    let content = fs::read(path).map_err(|_| blocked("it can't be read"))?;
    let root = &workspace.repo_root;
    let name = format!("{}:{FILE}", workspace.base);
    let porcelain = Porcelain { surroundings, lock: None };
    let known = porcelain.try_git(root, ["cat-file", "blob", &name])?;
    if !known.is_success() || known.output != content {
        return Err(blocked("it is not what it was when the workspace was made"));
    }
    match is_allowed(surroundings, root)? {
        true => Ok(()),
        false => Err(blocked("that of your own checkout is not allowed either")),
    }
}

/// Whether the user has allowed the file in this folder.
fn is_allowed(surroundings: &Surroundings, folder: &Path) -> Result<bool, DirenvError> {
    let answer = direnv(surroundings, folder, &["status"])?;
    let text = String::from_utf8_lossy(&answer.output).into_owned();
    let here = text.lines().any(|line| {
        line.strip_prefix("Found RC path ").is_some_and(|path| Path::new(path) == folder.join(FILE))
    });
    // Newer ones count: 0 is allowed.
    let words = ["true", "0"];
    let said = text.lines().find_map(|line| line.strip_prefix("Found RC allowed "));
    Ok(here && said.is_some_and(|said| words.contains(&said.trim())))
}

fn is_installed(surroundings: &Surroundings) -> bool {
    let tool = Tool::new("direnv").only_environment(surroundings.environment.clone());
    tool.args(["version"]).run().is_ok_and(|answer| answer.is_success())
}

/// Calls direnv with what commands would find, so that it says all that is different from that.
fn direnv(
    surroundings: &Surroundings,
    folder: &Path,
    arguments: &[&str],
) -> Result<Answer, ToolError> {
    let environment = built_up(surroundings.environment.clone(), []);
    let environment: BTreeMap<OsString, OsString> =
        environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    Tool::new("direnv")
        .args(arguments.iter().copied())
        .in_folder(folder)
        .only_environment(environment)
        .timeout(PATIENCE)
        .run()
}
