//! Why it can't be told where state lives: what, where, and what to do next.

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::checkout::CheckoutError;
use crate::files::FileError;
use crate::named::NameError;

/// Why it can't be told where state lives.
#[derive(Debug, Error)]
pub enum LocateError {
    /// `AGENTOS_WORKFLOW_DB` names nothing that can be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It is not known which checkout this is.
    #[error(transparent)]
    Checkout(#[from] Arc<CheckoutError>),
    /// The link of a checkout can't be read.
    #[error(transparent)]
    Link(#[from] FileError),
    /// The workspace's metadata is gone.
    #[error(
        "this workspace's metadata file {} is gone, so its history can't be found, and a second one is not begun; \
         bring the file back, or name the database with AGENTOS_WORKFLOW_DB",
        path.display()
    )]
    NoMetadata {
        /// The file.
        path: PathBuf,
    },
    /// What a link or a workspace names is no absolute path.
    #[error("{} names the database `{database}`, which is no absolute path; repair it", place.display())]
    RelativeLink {
        /// Who names it.
        place: PathBuf,
        /// What it names.
        database: String,
    },
    /// Links lead to each other.
    #[error(
        "the link of {} leads back to itself over other checkouts; end it with `agentos db unlink`",
        place.display()
    )]
    Circle {
        /// Whose link it is.
        place: PathBuf,
    },
    /// Neither a repository nor a home.
    #[error(
        "{} is in no repository and HOME is not set, so there is no place for a database; set HOME, or name one with \
         AGENTOS_WORKFLOW_DB",
        folder.display()
    )]
    NoHome {
        /// The current folder.
        folder: PathBuf,
    },
    /// A checkout whose files lead to the database that is for everything outside of repositories.
    #[error(
        "{} leads to the global database {}, which no repository uses unless you name it; remove the link, or set \
         AGENTOS_WORKFLOW_DB to that path",
        path.display(),
        global.display()
    )]
    LeadsToGlobal {
        /// The checkout's.
        path: PathBuf,
        /// The global one.
        global: PathBuf,
    },
}
