//! The metadata file of a workspace that AgentOS made, as far as somebody inside has to know it.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::files::{self, FileError};
use crate::surroundings::Surroundings;

/// Names the metadata file to everything that runs in a workspace. Empty where there is none.
pub const VARIABLE: &str = "AGENT_WORKSPACE_METADATA";

/// What a workspace says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Metadata {
    /// The workspace's id.
    pub workspace_id: String,
    /// The database that its maker used: an absolute path, or the address of a shared store.
    pub database: String,
}

/// The metadata file of the workspace that this folder is in, if the environment names one.
///
/// Outside of that workspace the variable means nothing: it is inherited by everything that was started inside, wherever
/// that goes.
#[must_use]
pub fn file_for(surroundings: &Surroundings, folder: &Path) -> Option<PathBuf> {
    let file = Path::new(surroundings.variable(VARIABLE)?);
    let workspace = file.parent()?.canonicalize().ok()?;
    (file.is_absolute() && folder.starts_with(&workspace)).then(|| file.to_owned())
}

/// Reads the file; none if it is gone.
///
/// # Errors
/// [`FileError`]
pub fn load(file: &Path) -> Result<Option<Metadata>, FileError> {
    files::load_json(file)
}
