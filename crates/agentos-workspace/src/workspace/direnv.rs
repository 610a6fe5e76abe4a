//! direnv: the environment that a repository's `.envrc` makes.
//!
//! direnv approves a file at a path, so every new workspace would be blocked. It is allowed without asking if it says what it
//! said at the commit that the workspace was made from, and the user has allowed the checkout's own. Whatever else is in
//! there, somebody may have written who works in the workspace: it is not executed until the user has allowed it. The same
//! is true for the files that it reads, of which direnv knows nothing: what was allowed is noted with what they said.

mod sources;

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
use crate::identity::{folder_of, private_of};
use crate::surroundings::Surroundings;
use sources::Sources;

/// The file.
const FILE: &str = ".envrc";

/// What was allowed of files that read others, in the private folder.
const NOTE: &str = "direnv-allowed";

/// direnv has no limit of its own; what an `.envrc` does may take a while the first time.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Why there is no environment.
#[derive(Debug, Error)]
pub enum DirenvError {
    /// It is not known to be the user's.
    #[error(
        "{} is not approved: {why}. Look at it, and at the files that it reads",
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
    let sources = Sources::of(&workspace.path, FILE);
    let hash = hash_of(workspace, &sources).unwrap_or_default();
    let is_noted = sources.is_any() && noted(workspace).is_some_and(|noted| noted == hash);
    if !is_noted {
        check_sources(surroundings, workspace, (&sources, &hash))?;
    }
    if !is_allowed(surroundings, &workspace.path)? {
        if !is_noted {
            check(surroundings, workspace, &hash)?;
        }
        call_allow(surroundings, workspace)?;
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
    let sources = Sources::of(&workspace.path, FILE);
    let is_it = hash_of(workspace, &sources).is_some_and(|found| found == hash);
    if is_it {
        allow(surroundings, workspace)?;
    }
    Ok(is_it)
}

/// What the file is and says, and what it reads.
fn hash_of(workspace: &Workspace, sources: &Sources) -> Option<String> {
    let mut digest = Sha256::new();
    let path = workspace.path.join(FILE);
    digest.update(path.as_os_str().as_encoded_bytes());
    digest.update([0]);
    digest.update(fs::read(&path).ok()?);
    for source in &sources.files {
        let content = fs::read(workspace.path.join(source)).ok();
        digest.update([0, u8::from(content.is_some())]);
        digest.update(source.as_os_str().as_encoded_bytes());
        digest.update([0]);
        digest.update(Sha256::digest(content.unwrap_or_default()));
    }
    Some(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Where it is noted what was allowed.
fn note_of(workspace: &Workspace) -> Option<PathBuf> {
    Some(folder_of(&private_of(&workspace.path)?).join(NOTE))
}

fn noted(workspace: &Workspace) -> Option<String> {
    fs::read_to_string(note_of(workspace)?).ok()
}

/// Allows the workspace's `.envrc` and the files that it reads, because its user says so.
///
/// # Errors
/// [`DirenvError`]
pub fn allow(surroundings: &Surroundings, workspace: &Workspace) -> Result<(), DirenvError> {
    let sources = Sources::of(&workspace.path, FILE);
    if let (true, Some(hash), Some(note)) =
        (sources.is_any(), hash_of(workspace, &sources), note_of(workspace))
    {
        let written = note.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&note, hash));
        written.map_err(|error| DirenvError::Failed { path: note, said: error.to_string() })?;
    }
    call_allow(surroundings, workspace)
}

fn call_allow(surroundings: &Surroundings, workspace: &Workspace) -> Result<(), DirenvError> {
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
    hash: &str,
) -> Result<(), DirenvError> {
    let path = workspace.path.join(FILE);
    let blocked = |why| DirenvError::Blocked { path: path.clone(), why, hash: hash.to_owned() };
    let content = fs::read(&path).map_err(|_| blocked("it can't be read"))?;
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

/// Whether the files that it reads are what they were, or what the user's own checkout has: nobody who works in the
/// workspace has changed them.
fn check_sources(
    surroundings: &Surroundings,
    workspace: &Workspace,
    (sources, hash): (&Sources, &str),
) -> Result<(), DirenvError> {
    let blocked =
        |why| DirenvError::Blocked { path: workspace.path.join(FILE), why, hash: hash.to_owned() };
    if sources.is_unclear {
        return Err(blocked("it reads files that it does not plainly name, or that lie elsewhere"));
    }
    let porcelain = Porcelain { surroundings, lock: None };
    for source in &sources.files {
        let found = fs::read(workspace.path.join(source)).ok();
        let name = format!("{}:{}", workspace.base, source.display());
        let known = porcelain.try_git(&workspace.repo_root, ["cat-file", "blob", &name])?;
        let known = known.is_success().then_some(known.output);
        if found != known && found != fs::read(workspace.repo_root.join(source)).ok() {
            return Err(blocked(
                "a file that it reads is not what it was when the workspace was made",
            ));
        }
    }
    Ok(())
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
        .timeout(TIMEOUT)
        .run()
}
