//! A run's folder on disk: its document, its logs, its artifacts.
//!
//! ```text
//! {project}/.agent/workflows/executions/{id}/
//!     metadata.json               the run as people see it
//!     logs/execution.log          one line of JSON for each line that was said
//!     logs/step-{n}-{name}.log    the same for one step; attempts append
//!     artifacts/{step_id}/…       artifacts/execution/…
//! ```
//!
//! Nothing in here decides anything: the document and the rows can be written again from the store, and the workflow's
//! own lines come again when it is executed again. So a crash may cost the end of a file and nothing else. Paths are
//! kept relative to the project, which may be moved.

mod creating;
mod lines;
mod reader;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use agentos_core::id::RunId;
use serde::Serialize;
use thiserror::Error;
use uuid::Uuid;

pub use creating::{Creating, Left, find_creating, is_being_created};
pub use lines::{Line, Piece, RunLogs, StepName, Stream};
pub use reader::LogReader;

/// Where the folders of runs are, from the project.
const EXECUTIONS: &str = ".agent/workflows/executions";

/// Longest part of a step's name in the name of its file, in characters.
const NAME: usize = 60;

/// Longest name of an artifact, in bytes: a file system takes 255, and files that are not finished have longer ones.
const NAME_BYTES: usize = 200;

/// Why something could not be kept in a run's folder.
#[derive(Debug, Error)]
pub enum FolderError {
    /// The file system refused.
    #[error("{} can't be written: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The name would lead elsewhere.
    #[error(
        "`{}` can't be the name of an artifact; leave out `/`, line breaks and a dot at the beginning, and take at most \
         {NAME_BYTES} bytes",
        name.escape_debug()
    )]
    Name {
        /// The name.
        name: String,
    },
}

impl FolderError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Where a project keeps the folders of its runs.
#[must_use]
pub fn executions(project: &Path) -> PathBuf {
    project.join(EXECUTIONS)
}

/// The folder of one run.
#[derive(Debug, Clone)]
pub struct RunFolder {
    project: PathBuf,
    relative: PathBuf,
}

impl RunFolder {
    /// The folder of this run in this project. Makes nothing.
    #[must_use]
    pub fn new(project: &Path, run: RunId) -> Self {
        let relative = Path::new(EXECUTIONS).join(run.to_string());
        Self { project: project.to_owned(), relative }
    }

    /// Makes the folder with everything that belongs into it; what is there stays.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn create(&self) -> Result<(), FolderError> {
        make_self_ignoring(&executions(&self.project))?;
        for part in ["logs", "artifacts"] {
            let path = self.path().join(part);
            fs::create_dir_all(&path).map_err(FolderError::at(&path))?;
        }
        Ok(())
    }

    /// Makes the folder of a run that is about to be created. Until the run's document is in it, it is known that the run may
    /// not have come to be: if this process dies before, another one removes the folder.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn begin(&self) -> Result<Creating, FolderError> {
        make_self_ignoring(&executions(&self.project))?;
        let creating = Creating::begin(&self.path())?;
        self.create()?;
        Ok(creating)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.project.join(&self.relative)
    }

    /// The run's log file, relative to the project.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.relative.join("logs/execution.log")
    }

    /// A step's log file, relative to the project.
    #[must_use]
    pub fn step_log_file(&self, number: u32, name: &str) -> PathBuf {
        self.relative.join("logs").join(format!("step-{number}-{}.log", reduced(name)))
    }

    /// Where an artifact of this name belongs, relative to the project.
    ///
    /// # Errors
    /// [`FolderError::Name`] if the name would lead out of the folder.
    pub fn artifact_file(&self, step: Option<Uuid>, name: &str) -> Result<PathBuf, FolderError> {
        let is_long = name.len() > NAME_BYTES;
        if name.is_empty() || is_long || name.starts_with('.') || name.contains(leads_elsewhere) {
            return Err(FolderError::Name { name: name.to_owned() });
        }
        let of = step.map_or_else(|| "execution".to_owned(), |step| step.to_string());
        Ok(self.relative.join("artifacts").join(of).join(name))
    }

    /// Writes the run's document. Whoever reads sees the old one or the new one, never a part.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn write_metadata(&self, document: &impl Serialize) -> Result<(), FolderError> {
        let path = self.path().join("metadata.json");
        let text = serde_json::to_string_pretty(document)
            .map_err(|error| FolderError::Io { path: path.clone(), source: error.into() })?;
        write_atomically(&path, text.as_bytes()).map_err(FolderError::at(&path))?;
        // Only a run that there is has a document.
        creating::end(&self.path());
        Ok(())
    }

    /// Opens the logs to go on behind what is in them.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn open_logs(&self) -> Result<RunLogs, FolderError> {
        RunLogs::open(self)
    }
}

/// Makes a folder that git does not see, wherever it is.
///
/// # Errors
/// [`FolderError`].
pub fn make_self_ignoring(folder: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(folder).map_err(FolderError::at(folder))?;
    let path = folder.join(".gitignore");
    // An empty one is what a crash left of ours: it would show everything.
    match fs::metadata(&path) {
        Ok(found) if found.len() > 0 => Ok(()),
        _ => fs::write(&path, "*\n").map_err(FolderError::at(&path)),
    }
}

fn leads_elsewhere(letter: char) -> bool {
    letter == '/' || letter.is_control()
}

fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    let mut file = File::create(&unfinished)?;
    file.write_all(bytes)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

/// A name that every file system takes: `[a-z0-9-]`, everything else a dash.
fn reduced(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars().flat_map(char::to_lowercase) {
        if letter.is_ascii_alphanumeric() {
            text.push(letter);
        } else if !text.ends_with('-') {
            text.push('-');
        }
        if text.len() >= NAME {
            break;
        }
    }
    let text = text.trim_matches('-');
    if text.is_empty() { "step".to_owned() } else { text.to_owned() }
}
