//! A checkout whose history is kept elsewhere.
//!
//! The link `.agentos/issue_workflow.db` is for people and other tools. It can be lost (`git clean -fdx`), and then a
//! second history would begin. So what the checkout is linked to is also written in its private folder, and that decides.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::checkout::Checkout;
use crate::files::{self, FileError};
use crate::identity::{folder_of, lock};

/// What a checkout is linked to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The database: an absolute path, or the address of a shared store.
    pub database: String,
    /// The workspace that the checkout is, if AgentOS made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// The checkout that the workspace was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo_root: Option<PathBuf>,
}

impl Link {
    /// Reads what the checkout is linked to.
    ///
    /// # Errors
    /// [`FileError`]
    pub fn load(checkout: &Checkout) -> Result<Option<Self>, FileError> {
        files::load_json(&folder_of(&checkout.private).join(FILE))
    }

    /// Links the checkout from now on.
    ///
    /// # Errors
    /// [`FileError`]
    pub fn write(&self, checkout: &Checkout) -> Result<(), FileError> {
        let _lock = lock(&checkout.private)?;
        files::write_json(&folder_of(&checkout.private).join(FILE), self)
    }

    /// Links the checkout no longer.
    ///
    /// # Errors
    /// [`FileError`]
    pub fn remove(checkout: &Checkout) -> Result<(), FileError> {
        let path = folder_of(&checkout.private).join(FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(FileError::io(&path, "can't be removed")(error))
            }
            _ => Ok(()),
        }
    }
}

const FILE: &str = "link.json";
