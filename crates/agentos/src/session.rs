//! What one command stands on: where it was called, and what it finds there.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use agentos_store::sqlite::{Notice, OpenError, Options, SqliteStore};
use agentos_workspace::named::Database;
use agentos_workspace::state::{Prepared, StateLocation};
use agentos_workspace::surroundings::Surroundings;
use uuid::Uuid;

use crate::catalog::Catalog;
use crate::error::{CommandError, Result};
use crate::output::Output;

/// One command's view of the world.
pub(crate) struct Session {
    pub(crate) surroundings: Surroundings,
    pub(crate) catalog: Catalog,
    pub(crate) output: Output,
    location: OnceCell<StateLocation>,
}

/// A store that may be written to, and the checkout that does so.
pub(crate) struct Opened {
    pub(crate) store: SqliteStore,
    pub(crate) prepared: Prepared,
}

impl Session {
    pub(crate) const fn new(
        surroundings: Surroundings,
        catalog: Catalog,
        output: Output,
    ) -> Self {
        Self { surroundings, catalog, output, location: OnceCell::new() }
    }

    /// Where state lives. Decided once.
    pub(crate) fn location(&self) -> Result<&StateLocation> {
        if let Some(location) = self.location.get() {
            return Ok(location);
        }
        let found = StateLocation::find(&self.surroundings)?;
        if let Some(notice) = found.notice() {
            self.output.note(&notice);
        }
        Ok(self.location.get_or_init(|| found))
    }

    /// The database file.
    pub(crate) fn database(&self) -> Result<&Path> {
        match &self.location()?.database {
            Database::File(path) => Ok(path),
            Database::Shared(_) => Err(CommandError::failed(
                "a shared database (postgres://) can't be used by this version",
            )
            .hint("name a file with AGENTOS_WORKFLOW_DB, or leave it unset")),
        }
    }

    /// Opens the store to be looked at; none if there is none yet.
    pub(crate) fn look(&self) -> Result<Option<SqliteStore>> {
        match SqliteStore::open_to_look(self.database()?) {
            Ok(store) => Ok(Some(store)),
            Err(OpenError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the store to be looked at, for a command that is about one run.
    pub(crate) fn look_for(&self, run: &str) -> Result<SqliteStore> {
        self.look()?.ok_or_else(|| crate::names::not_found(run))
    }

    /// Opens the store to be written to, for a command that is about one run: where there is no store there is no run,
    /// and none is made.
    pub(crate) fn open_for(&self, run: &str) -> Result<Opened> {
        self.look_for(run)?;
        self.open()
    }

    /// Opens the store to be written to, and makes it if there is none.
    pub(crate) fn open(&self) -> Result<Opened> {
        let path: PathBuf = self.database()?.to_owned();
        let prepared = self.location()?.prepare()?;
        let output = self.output.clone();
        let on_notice = Box::new(move |notice: Notice| output.note(&notice.to_string()));
        let options = Options { new_id: Uuid::new_v4(), on_notice };
        let store = SqliteStore::open(&path, options)?;
        Ok(Opened { store, prepared })
    }
}
