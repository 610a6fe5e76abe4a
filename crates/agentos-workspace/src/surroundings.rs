//! What a decision may look at: the folder, the home, the environment. A value, so that tests and servers can pass
//! another one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Where somebody stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The current folder; none if it was deleted.
    pub cwd: Option<PathBuf>,
    /// The user's home; none if nobody said.
    pub home: Option<PathBuf>,
    /// All variables.
    pub environment: BTreeMap<OsString, OsString>,
}

impl Surroundings {
    /// Where this process stands, as of now.
    #[must_use]
    pub fn of_this_process() -> Self {
        let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let home = environment.get(OsStr::new("HOME")).map(PathBuf::from);
        Self {
            cwd: std::env::current_dir().ok(),
            home: home.filter(|home| home.is_absolute()),
            environment,
        }
    }

    /// The value of a variable that is set and not empty.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let value = self.environment.get(OsStr::new(name))?;
        (!value.is_empty()).then_some(value)
    }

    /// The registry of what this user has used; none without a home.
    #[must_use]
    pub fn registry_file(&self) -> Option<PathBuf> {
        Some(self.state_folder()?.join("registry.db"))
    }

    /// Where the server of this user can be spoken to by programs of this user: in a folder of its own, which nobody else may
    /// enter. None without a home.
    #[must_use]
    pub fn server_socket(&self) -> Option<PathBuf> {
        let runtime =
            self.variable("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = match runtime {
            Some(runtime) => runtime.join("agentos"),
            None => self.state_folder()?.join("run"),
        };
        Some(folder.join("server.sock"))
    }

    /// The folder for what we know about this user; none without a home.
    #[must_use]
    pub fn state_folder(&self) -> Option<PathBuf> {
        // A relative one is not valid, and ignored like an empty one.
        let named =
            self.variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let state = named.or_else(|| Some(self.home.as_deref()?.join(".local/state")))?;
        Some(state.join("agentos"))
    }
}
