//! A checkout whose history is kept elsewhere.
//!
//! The link `.agentos/issue_workflow.db` is for people and other tools. It can be lost (`git clean -fdx`), and then a
//! second history would begin. So what the checkout is linked to is also written in its private folder, and that decides.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::checkout::Checkout;
use crate::files::{self, FileError};
use crate::identity::{folder_of, lock, private_of};
use crate::state::{DATABASE, FOLDER};

/// Most links one after the other.
const LINKS: usize = 16;

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

/// The database that is a checkout's own, while it is not linked.
#[must_use]
pub fn own_database(checkout: &Checkout) -> PathBuf {
    checkout.root.join(FOLDER).join(DATABASE)
}

/// Makes the folder of a checkout's own database, hidden from git.
///
/// # Errors
/// [`FileError`]
pub fn make_place(checkout: &Checkout) -> Result<(), FileError> {
    let folder = checkout.root.join(FOLDER);
    files::make_folder_like(&folder, &checkout.root)?;
    files::hide_from_git(&folder)
}

/// Waits until nobody else links or unlinks a checkout of this repository, and keeps others from it until the file is
/// dropped: two checkouts that are linked to each other at once would wait for each other.
///
/// # Errors
/// [`FileError`]
pub fn take_turn(checkout: &Checkout) -> Result<File, FileError> {
    let folder = folder_of(&checkout.repository);
    files::make_folder(&folder)?;
    let path = folder.join("links.lock");
    let file = File::create(&path).map_err(FileError::io(&path, "can't be made"))?;
    file.lock().map_err(FileError::io(&path, "can't be locked"))?;
    Ok(file)
}

/// Where a database really is that somebody has named: the one of a checkout that was linked since is where that link
/// leads, also if the link in the checkout's files is gone. None if the links lead in a circle.
///
/// # Errors
/// [`FileError`]
pub fn follow(database: &Path) -> Result<Option<PathBuf>, FileError> {
    let mut at = database.to_owned();
    for _ in 0..LINKS {
        let Some(private) = root_of(&at).and_then(private_of) else { return Ok(Some(at)) };
        match files::load_json::<Link>(&folder_of(&private).join(FILE))? {
            Some(link) if Path::new(&link.database).is_absolute() => at = link.database.into(),
            _ => return Ok(Some(at)),
        }
    }
    Ok(None)
}

/// The root of the checkout whose own database would be at this path.
#[must_use]
pub fn root_of(database: &Path) -> Option<&Path> {
    let folder = database.parent().filter(|_| database.ends_with(DATABASE))?;
    folder.parent().filter(|_| folder.ends_with(FOLDER))
}
