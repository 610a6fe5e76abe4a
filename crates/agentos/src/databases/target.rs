//! What a checkout is to be linked to.

use std::io;
use std::path::{Path, PathBuf};

use agentos_store::sqlite::{OpenError, Options, SqliteStore};
use agentos_workspace::checkout::Checkout;
use agentos_workspace::link;
use uuid::Uuid;

use crate::error::{CommandError, Result};
use crate::session::Session;

/// Finds the database: the one that was named, or the main checkout's. Its real path.
pub(crate) fn find(session: &Session, here: &Checkout, named: Option<&Path>) -> Result<PathBuf> {
    let path = match named {
        Some(path) => super::named(session, path)?,
        None => main_database(session, here)?,
    };
    let path = link::follow(&path).map_err(|error| CommandError::failed(error.to_string()))?;
    let path = path.ok_or_else(|| circle("the links of that checkout lead back to themselves"))?;
    let real = path.canonicalize().map_err(|error| unreachable(&path, &error))?;
    let own = link::own_database(here);
    if real == own || own.parent().is_some_and(|folder| real.parent() == Some(folder)) {
        return Err(circle(&format!("{} is in this checkout itself", real.display())));
    }
    check_repository(session, here, &real)?;
    Ok(real)
}

/// The main checkout's database, which is made if there is none: that is its place.
fn main_database(session: &Session, here: &Checkout) -> Result<PathBuf> {
    if here.is_main {
        return Err(CommandError::usage("this is the main checkout; say what to link it to")
            .hint("`agentos db link PATH` with a database or another checkout"));
    }
    let failed = |error: String| CommandError::failed(error);
    let listed = here.siblings(&session.surroundings).map_err(|error| failed(error.to_string()))?;
    let mains = listed.into_iter().filter(|listed| !listed.is_prunable).filter_map(|listed| {
        let found = Checkout::of_folder(&session.surroundings, &listed.root).ok().flatten();
        found.filter(|found| found.is_main && found.repository == here.repository)
    });
    let Some(main) = mains.into_iter().next() else {
        return Err(CommandError::usage(
            "this repository has no main checkout (it is bare); say what to link to",
        )
        .hint("`agentos db link PATH` with a database or another checkout"));
    };
    let path = link::own_database(&main);
    let is_linked = link::follow(&path).is_ok_and(|followed| followed.as_ref() != Some(&path));
    if !is_linked && path.symlink_metadata().is_err() {
        link::make_place(&main).map_err(|error| failed(error.to_string()))?;
        open(&path)?;
    }
    Ok(path)
}

/// Opens it to be written to: whatever is wrong with it is said before anything is linked.
pub(crate) fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path, Options::quiet(Uuid::new_v4()))
}

fn circle(message: &str) -> CommandError {
    CommandError::usage(message.to_owned()).hint("name a database of another checkout")
}

fn unreachable(path: &Path, error: &io::Error) -> CommandError {
    let shown = path.display();
    if error.kind() == io::ErrorKind::NotFound {
        let message = match std::fs::read_link(path) {
            Ok(target) => {
                format!("{shown} is a link to {}, which does not exist", target.display())
            }
            Err(_) => format!("there is no database at {shown}"),
        };
        return CommandError::not_found(message)
            .hint("start something there first, or name another database");
    }
    if rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP) {
        return CommandError::usage(format!("{shown} is a link that leads back to itself"))
            .hint("remove that link, or name another database");
    }
    CommandError::failed(format!("{shown} can't be reached: {error}"))
}

/// Histories of two repositories are not mixed by accident.
fn check_repository(session: &Session, here: &Checkout, target: &Path) -> Result<()> {
    let Some(root) = link::root_of(target) else { return Ok(()) };
    let found = Checkout::of_folder(&session.surroundings, root).ok().flatten();
    match found {
        Some(found) if found.root == root && found.repository != here.repository => {
            Err(CommandError::refused(format!(
                "{} belongs to another repository ({})",
                target.display(),
                found.repository.display()
            ))
            .hint("link to a checkout of this repository, or to a database outside of every repository"))
        }
        _ => Ok(()),
    }
}
