//! Standing somewhere.

use std::path::{Path, PathBuf};

use agentos_testing::repo::Playground;
use agentos_workspace::checkout::Checkout;
use agentos_workspace::state::{LocateError, StateLocation};
use agentos_workspace::surroundings::Surroundings;

/// Somebody who stands in this folder.
pub(crate) fn standing_in(playground: &Playground, folder: &Path) -> Surroundings {
    Surroundings {
        cwd: Some(folder.to_owned()),
        home: Some(playground.home()),
        environment: playground.environment(),
    }
}

/// The same with a variable set.
pub(crate) fn with(
    mut surroundings: Surroundings,
    name: &str,
    value: impl AsRef<std::ffi::OsStr>,
) -> Surroundings {
    surroundings.environment.insert(name.into(), value.as_ref().to_owned());
    surroundings
}

pub(crate) fn locate(playground: &Playground, folder: &Path) -> StateLocation {
    StateLocation::find(&standing_in(playground, folder)).unwrap()
}

pub(crate) fn refusal(surroundings: &Surroundings) -> LocateError {
    StateLocation::find(surroundings).unwrap_err()
}

pub(crate) fn checkout(playground: &Playground, folder: &Path) -> Checkout {
    Checkout::find(&standing_in(playground, folder)).unwrap().unwrap()
}

pub(crate) fn database(location: &StateLocation) -> PathBuf {
    location.database.file().unwrap().to_owned()
}

/// The checkout's own database.
pub(crate) fn own(root: &Path) -> PathBuf {
    root.join(".agentos/issue_workflow.db")
}
