//! The setup command of a repository: executed once in each workspace, before anything else is.
//!
//! It has a supervisor and a directory as every command has: whoever is killed, it goes on, is found again, and is not
//! executed twice. That it was done is written into the workspace's private folder, with a hash of the command: another
//! command is another setup. If it fails, whatever was to be done in the workspace fails, and the next who comes tries again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_process::attached::FollowError;
use agentos_process::environment::built_up;
use agentos_process::exit::Reason;
use agentos_process::launch::Launcher;
use agentos_process::outcome::Outcome;
use agentos_process::points::NoPoints;
use agentos_process::secret::Secrets;
use agentos_process::spec::{CommandSpec, Limits, Program};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::Workspace;
use crate::files::{self, FileError};
use crate::identity::{self, folder_of};

/// How much of what it says is kept for whoever asks why it failed.
const OUTPUT: usize = 64 << 10;

/// How many lines of that are told.
const LINES: usize = 15;

/// How often it is tried in one workspace.
const TRIES: u32 = 100;

const DONE: &str = "setup.json";

/// Why a workspace is not set up.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The command failed.
    #[error("the setup of the workspace failed (`{command}`: {how}){said}")]
    Failed {
        /// The command.
        command: String,
        /// How it ended.
        how: String,
        /// The end of what it said, on lines of its own.
        said: String,
    },
    /// It was tried too often.
    #[error(
        "the setup of the workspace has failed {TRIES} times (`{command}`); make another workspace"
    )]
    Hopeless {
        /// The command.
        command: String,
    },
    /// It can't be executed.
    #[error("the setup of the workspace can't be executed: {0}")]
    Follow(#[from] FollowError),
    /// The system refused.
    #[error("the setup of the workspace can't be executed: {0}")]
    Io(#[from] std::io::Error),
    /// A file of ours can't be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What is executed in each workspace first.
#[derive(Debug, Clone)]
pub struct Setup {
    /// A line for the shell.
    pub command: String,
    /// How supervisors are started.
    pub launcher: Launcher,
    /// Under which folder commands have their directories.
    pub root: PathBuf,
    /// What it finds in its environment besides what it needs.
    pub env: BTreeMap<String, String>,
    /// Values that nobody may see.
    pub secrets: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// What is written down.
#[derive(Serialize, Deserialize)]
struct Done {
    hash: String,
}

/// A hash of a command in a repository: what an approval is given for.
#[must_use]
pub fn hash_of(command: &str, repository: &Path) -> String {
    let mut digest = Sha256::new();
    digest.update(repository.as_os_str().as_encoded_bytes());
    digest.update([0]);
    digest.update(command.as_bytes());
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether somebody has approved it, in this file of theirs.
#[must_use]
pub fn is_approved(file: &Path, hash: &str) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.lines().any(|line| line == hash))
}

/// Approves it from now on.
///
/// # Errors
/// [`FileError`]
pub fn approve(file: &Path, hash: &str) -> Result<(), FileError> {
    if is_approved(file, hash) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        files::make_private_folder(folder)?;
    }
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(file);
    let written = opened.and_then(|mut opened| opened.write_all(format!("{hash}\n").as_bytes()));
    written.map_err(FileError::io(file, "can't be written"))
}

/// Whether a command was executed in a workspace as its setup.
#[must_use]
pub fn is_done_in(workspace: &Workspace, command: &str) -> bool {
    let Some(private) = identity::private_of(&workspace.path) else { return true };
    let hash = hash_of(command, &workspace.repository);
    is_done(&folder_of(&private).join(DONE), &hash).unwrap_or(false)
}

/// Writes down that a command was executed in a workspace as its setup.
///
/// # Errors
/// [`FileError`]
pub fn has_been_done(workspace: &Workspace, command: &str) -> Result<(), FileError> {
    let Some(private) = identity::private_of(&workspace.path) else { return Ok(()) };
    let folder = folder_of(&private);
    files::make_folder(&folder)?;
    files::write_json(&folder.join(DONE), &Done { hash: hash_of(command, &workspace.repository) })
}

impl Setup {
    /// Sees to it that the workspace is set up. Of many who ask at once, one executes the command, and the others wait.
    ///
    /// # Errors
    /// [`SetupError`]
    pub fn ensure(&self, workspace: &Workspace) -> Result<(), SetupError> {
        let Some(private) = identity::private_of(&workspace.path) else { return Ok(()) };
        let hash = hash_of(&self.command, &workspace.repository);
        let folder = folder_of(&private);
        let done = folder.join(DONE);
        if is_done(&done, &hash)? {
            return Ok(());
        }
        files::make_folder(&folder)?;
        let lock = File::create(folder.join("setup.lock"))?;
        lock.lock()?;
        if is_done(&done, &hash)? {
            return Ok(());
        }
        let outcome = self.execute(workspace, &hash)?;
        if outcome.exit.reason == Reason::Exited && outcome.exit.exit_code == Some(0) {
            return Ok(files::write_json(&done, &Done { hash })?);
        }
        let how = outcome.exit.exit_code.map_or_else(
            || format!("{:?}", outcome.exit.reason).to_lowercase(),
            |code| format!("exit status {code}"),
        );
        Err(SetupError::Failed { command: self.command.clone(), how, said: end_of(&outcome) })
    }

    /// Executes it, or goes on with one that is under way.
    fn execute(&self, workspace: &Workspace, hash: &str) -> Result<Outcome, SetupError> {
        let folder = self.root.join(format!("setup-{}", workspace.nonce));
        let named = |number: u32| folder.join(format!("{}-{number}", &hash[..12]));
        // Whoever left no such file is still at it, or was killed: then it is gone on with.
        let is_over = |path: &Path| path.join("exit.json").exists();
        let path = (1..=TRIES).map(named).find(|path| !is_over(path));
        let path = path.ok_or_else(|| SetupError::Hopeless { command: self.command.clone() })?;
        let env = built_up(std::env::vars_os(), self.env.clone());
        let named = env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let secrets = Secrets::of(named, self.secrets.iter().map(String::as_str));
        let limits = Limits { wall: Some(self.timeout), ..Limits::default() };
        let spec = CommandSpec::new(Program::Line(self.command.clone()), &workspace.path)?;
        let spec = CommandSpec { env, secrets, limits, ..spec };
        Ok(self.launcher.outcome(&path, &spec, OUTPUT, &NoPoints)?)
    }
}

fn is_done(path: &Path, hash: &str) -> Result<bool, FileError> {
    let done: Option<Done> = files::load_json(path)?;
    Ok(done.is_some_and(|done| done.hash == hash))
}

fn end_of(outcome: &Outcome) -> String {
    let text = [outcome.stdout.as_str(), outcome.stderr.as_str()].join("\n");
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(LINES);
    lines[from..].iter().fold(String::new(), |mut text, line| {
        text.push('\n');
        text.push_str(line);
        text
    })
}
