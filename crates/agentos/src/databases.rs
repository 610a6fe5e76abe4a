//! Databases as things that are linked, copied from and tidied: what the verbs of `agentos db` share.

pub(crate) mod carry;
pub(crate) mod commands;
mod copies;
pub(crate) mod counterpart;
pub(crate) mod families;
pub(crate) mod folders;
pub(crate) mod litter;
pub(crate) mod locks;
pub(crate) mod others;
pub(crate) mod source;
pub(crate) mod target;

use std::path::{Path, PathBuf};

use agentos_workspace::checkout::Checkout;

use crate::error::{CommandError, Result};
use crate::session::Session;

/// The checkout that the command stands in.
pub(crate) fn checkout(session: &Session) -> Result<Checkout> {
    let found = Checkout::find(&session.surroundings);
    let found = found.map_err(|error| CommandError::failed(error.to_string()))?;
    found.ok_or_else(|| {
        CommandError::usage("this is not in a repository, so there is nothing to link")
            .hint("change into a checkout, or name a database with AGENTOS_WORKFLOW_DB")
    })
}

/// A path that a user has written: `~` and relative ones are understood, and a folder stands for the database in it.
pub(crate) fn named(session: &Session, path: &Path) -> Result<PathBuf> {
    use agentos_workspace::named::{Database, parse};
    use agentos_workspace::state::{DATABASE, FOLDER};
    if path.is_dir() {
        let root = std::path::absolute(path)?;
        let folder = if root.ends_with(FOLDER) { root } else { root.join(FOLDER) };
        return Ok(folder.join(DATABASE));
    }
    let variable = agentos_workspace::named::VARIABLE;
    let wrong = |message: String| {
        CommandError::usage(message.replace(variable, &format!("`{}`", path.display())))
    };
    match parse(path.as_os_str(), &session.surroundings) {
        Ok(Database::File(path)) => Ok(path),
        Ok(Database::Shared(_)) => Err(CommandError::usage(
            "a shared database (postgres://) can't be used here by this version",
        )
        .hint("name a file")),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// How many there are of something, in words.
pub(crate) fn counted(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}
