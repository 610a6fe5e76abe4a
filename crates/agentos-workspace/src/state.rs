//! Which database a command uses, and why.
//!
//! The first that applies:
//!
//! 1. the database that `AGENTOS_WORKFLOW_DB` names;
//! 2. in a workspace that AgentOS made, the one that its maker used: nested commands join the same history;
//! 3. in a checkout that was linked, the one that it is linked to;
//! 4. in a checkout, `{root}/.agentos/issue_workflow.db`;
//! 5. outside of every repository, `~/.agentos/issue_workflow.db`, with a notice.
//!
//! Where it can't be told which of them it is, there is an error: a guess would begin a second history. Deciding creates
//! nothing.

mod error;
mod prepare;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::checkout::{Checkout, CheckoutError, real_folder};
use crate::git::WHERE_VARIABLES;
use crate::identity::{Identity, IdentityError};
use crate::link::{self, Link};
use crate::metadata;
use crate::named::{self, Database};
use crate::surroundings::Surroundings;

pub use error::LocateError;
pub use prepare::{PrepareError, Prepared};

/// The folder for local state, in a checkout or in the home.
pub const FOLDER: &str = ".agentos";

/// The database in that folder.
pub const DATABASE: &str = "issue_workflow.db";

/// Why this database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// `AGENTOS_WORKFLOW_DB` names it.
    Named,
    /// The maker of this workspace uses it.
    Workspace,
    /// The checkout is linked to it.
    Linked,
    /// It is the checkout's own.
    Checkout,
    /// There is no repository here.
    Outside,
}

/// Which database a command uses, and where it stands.
#[derive(Debug)]
pub struct StateLocation {
    /// The database.
    pub database: Database,
    /// Why this one.
    pub why: Why,
    /// The checkout; none outside of every repository. An error only where the database was named.
    pub checkout: Result<Option<Checkout>, Arc<CheckoutError>>,
    /// The workspace that this is, if AgentOS made it.
    pub workspace_id: Option<String>,
    /// The checkout that the workspace was made from: what is started in a workspace belongs there, and outlives it.
    pub maker: Option<Checkout>,
    /// The current folder, a real path; none if it is gone.
    folder: Option<PathBuf>,
    global_folder: Option<PathBuf>,
    looked_at: Vec<String>,
}

impl StateLocation {
    /// Decides. Creates nothing.
    ///
    /// # Errors
    /// [`LocateError`]
    pub fn find(surroundings: &Surroundings) -> Result<Self, LocateError> {
        let mut location = Self {
            database: Database::File(PathBuf::new()),
            why: Why::Outside,
            checkout: Checkout::find(surroundings).map_err(Arc::new),
            workspace_id: None,
            maker: None,
            folder: surroundings.cwd.as_deref().and_then(|folder| real_folder(folder).ok()),
            global_folder: surroundings.home.as_ref().map(|home| home.join(FOLDER)),
            looked_at: Vec::new(),
        };
        location.decide(surroundings)?;
        Ok(location)
    }

    fn decide(&mut self, surroundings: &Surroundings) -> Result<(), LocateError> {
        let named = surroundings.variable(named::VARIABLE);
        if let Some(name) = named {
            let database = named::parse(name, surroundings)?;
            self.note(format!("{} is set: it decides", named::VARIABLE));
            self.settle(database, Why::Named);
            self.join_workspace(surroundings);
            return Ok(());
        }
        self.note(format!("{} is not set", named::VARIABLE));
        if self.decide_by_workspace(surroundings)? {
            return Ok(());
        }
        self.note_ignored(surroundings);
        match std::mem::replace(&mut self.checkout, Ok(None))? {
            Some(checkout) => {
                self.note(described(&checkout));
                let decided = self.decide_by_checkout(&checkout, surroundings);
                self.checkout = Ok(Some(checkout));
                decided
            }
            None => self.decide_outside(),
        }
    }

    /// In a workspace its maker's history is joined.
    fn decide_by_workspace(&mut self, surroundings: &Surroundings) -> Result<bool, LocateError> {
        let Some(variable) = surroundings.variable(metadata::VARIABLE) else {
            self.note(format!("{} is not set", metadata::VARIABLE));
            return Ok(false);
        };
        let folder = self.folder.as_deref();
        let Some(file) = folder.and_then(|folder| metadata::file_for(surroundings, folder)) else {
            self.note(format!(
                "{} is {}: this is not inside that workspace",
                metadata::VARIABLE,
                Path::new(variable).display()
            ));
            return Ok(false);
        };
        match metadata::load(&file)? {
            Some(found) => {
                self.note(format!("{} is {}", metadata::VARIABLE, file.display()));
                let database = absolute(&found.database, &file)?;
                self.is_workspace(Some(found.workspace_id), found.repo_root, surroundings);
                self.settle(database, Why::Workspace);
                Ok(true)
            }
            None if self.is_linked() => {
                self.note(format!("{} is gone; the checkout knows its link", file.display()));
                Ok(false)
            }
            None => Err(LocateError::NoMetadata { path: file }),
        }
    }

    /// With a named database the workspace is still who it is.
    fn join_workspace(&mut self, surroundings: &Surroundings) {
        let folder = self.folder.as_deref();
        let file = folder.and_then(|folder| metadata::file_for(surroundings, folder));
        let found = file.and_then(|file| metadata::load(&file).ok().flatten());
        if let Some(found) = found {
            self.is_workspace(Some(found.workspace_id), found.repo_root, surroundings);
        }
    }

    fn is_workspace(
        &mut self,
        id: Option<String>,
        repo_root: Option<PathBuf>,
        surroundings: &Surroundings,
    ) {
        let maker = repo_root.filter(|_| id.is_some());
        let maker = maker.map(|root| Checkout::of_folder(surroundings, &root));
        self.maker = maker.and_then(|found| found.ok().flatten());
        self.workspace_id = id;
    }

    fn is_linked(&self) -> bool {
        let checkout = self.checkout.as_ref().ok().and_then(Option::as_ref);
        checkout.is_some_and(|checkout| Link::load(checkout).is_ok_and(|link| link.is_some()))
    }

    fn decide_by_checkout(
        &mut self,
        checkout: &Checkout,
        surroundings: &Surroundings,
    ) -> Result<(), LocateError> {
        if let Some(link) = Link::load(checkout)? {
            self.note("the checkout is linked".to_owned());
            let database = absolute(&link.database, &checkout.private)?;
            self.is_workspace(link.workspace_id, link.repo_root, surroundings);
            self.settle(database, Why::Linked);
            return Ok(());
        }
        let path = checkout.root.join(FOLDER).join(DATABASE);
        let home = surroundings.home.as_deref();
        if home.is_some_and(|home| home.canonicalize().is_ok_and(|home| home == checkout.root)) {
            self.note("the home is this repository: its database is the global one".to_owned());
        } else if let Some(global) = home.map(|home| home.join(FOLDER).join(DATABASE))
            && is_one_file(&path, &global)
        {
            return Err(LocateError::LeadsToGlobal { path, global });
        }
        self.settle(Database::File(path), Why::Checkout);
        Ok(())
    }

    fn decide_outside(&mut self) -> Result<(), LocateError> {
        let folder = self.folder.clone().unwrap_or_default();
        self.note(format!("{} is in no repository", folder.display()));
        let Some(global) = &self.global_folder else {
            return Err(LocateError::NoHome { folder });
        };
        let database = Database::File(global.join(DATABASE));
        self.settle(database, Why::Outside);
        Ok(())
    }

    fn note_ignored(&mut self, surroundings: &Surroundings) {
        let set: Vec<&str> = WHERE_VARIABLES[..2]
            .iter()
            .copied()
            .filter(|name| surroundings.variable(name).is_some())
            .collect();
        if !set.is_empty() {
            self.note(format!("{} set and not looked at: the folder decides", is_or_are(&set)));
        }
    }

    fn note(&mut self, line: String) {
        self.looked_at.push(line);
    }

    fn settle(&mut self, database: Database, why: Why) {
        self.database = database;
        self.why = why;
    }

    /// What was looked at, and what was decided and why: one line each.
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        let mut lines = self.looked_at.clone();
        if let Err(error) = &self.checkout {
            lines.push(format!("the checkout is not known: {error}"));
        }
        let why = match self.why {
            Why::Named => "you have named it",
            Why::Workspace => "the maker of this workspace uses it",
            Why::Linked => "this checkout is linked to it",
            Why::Checkout => "it is this checkout's own",
            Why::Outside => "there is no repository here",
        };
        lines.push(format!("so the database is {}: {why}", self.database));
        lines
    }

    /// One line that a command shows before it uses the database, if there is something to say.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        (self.why == Why::Outside).then(|| {
            let ignored = self.looked_at.iter().find(|line| line.contains("not looked at"));
            let ignored = ignored.map(|line| format!(" ({line})")).unwrap_or_default();
            format!("not in a repository{ignored}: using the global database {}", self.database)
        })
    }

    /// The root of the checkout; in a workspace, of the one that it was made from; outside of every repository, the current
    /// folder.
    ///
    /// # Errors
    /// [`CheckoutError`]
    pub fn project_path(&self) -> Result<&Path, Arc<CheckoutError>> {
        if let Some(maker) = &self.maker {
            return Ok(&maker.root);
        }
        let checkout = self.checkout.as_ref().map_err(Arc::clone)?;
        let root = checkout.as_ref().map(|checkout| checkout.root.as_path());
        root.or(self.folder.as_deref()).ok_or_else(|| Arc::new(CheckoutError::NoCurrentFolder))
    }

    /// Who the checkout is; none if it has not been prepared yet. Creates nothing.
    ///
    /// # Errors
    /// [`IdentityError`]
    pub fn identity(&self) -> Result<Option<Identity>, IdentityError> {
        let identity = match (&self.checkout, &self.folder) {
            _ if self.maker.is_some() => {
                self.maker.as_ref().map(Identity::load).transpose()?.flatten()
            }
            (Ok(Some(checkout)), _) => Identity::load(checkout)?,
            (Ok(None), Some(folder)) => Some(Identity::of_folder(folder)),
            _ => None,
        };
        Ok(identity.map(|identity| self.in_workspace(identity)))
    }

    fn in_workspace(&self, identity: Identity) -> Identity {
        match &self.workspace_id {
            Some(workspace) => Identity { worktree: workspace.clone(), ..identity },
            None => identity,
        }
    }
}

/// The database that a file of ours names.
fn absolute(database: &str, place: &Path) -> Result<Database, LocateError> {
    let is_address =
        ["postgres://", "postgresql://"].iter().any(|start| database.starts_with(start));
    if is_address {
        return Ok(Database::Shared(database.to_owned()));
    }
    if Path::new(database).is_absolute() {
        return match link::follow(Path::new(database))? {
            Some(path) => Ok(Database::File(path)),
            None => Err(LocateError::Circle { place: place.to_owned() }),
        };
    }
    let (place, database) = (place.to_owned(), database.to_owned());
    Err(LocateError::RelativeLink { place, database })
}

fn described(checkout: &Checkout) -> String {
    let what = match (checkout.kind, checkout.is_main) {
        (crate::checkout::Kind::Git, true) => "the main worktree",
        (crate::checkout::Kind::Git, false) => "a worktree",
        (crate::checkout::Kind::Jj, true) => "the main jj workspace",
        (crate::checkout::Kind::Jj, false) => "a jj workspace",
    };
    format!("{} is {what} of {}", checkout.root.display(), checkout.repository.display())
}

fn is_or_are(names: &[&str]) -> String {
    match names {
        [name] => format!("{name} is"),
        _ => format!("{} are", names.join(" and ")),
    }
}

fn is_one_file(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) else { return false };
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
