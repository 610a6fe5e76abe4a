//! A run that is in another worktree's database is dealt with there: as if the command had been called in its checkout.

use std::path::{Path, PathBuf};

use agentos_store::unified::{FindError, Found, UnifiedView, Worktree};
use agentos_workspace::named;
use agentos_workspace::state::{StateLocation, Why};
use agentos_workspace::surroundings::Surroundings;

use crate::error::{CommandError, Result};
use crate::overview::{self, Scope};
use crate::session::Session;

/// The session of the checkout whose run this is; none if the run is here, or nowhere.
pub(crate) async fn at_run(session: &Session, name: &str) -> Result<Option<Session>> {
    if matches!(session.location()?.why, Why::Named | Why::Outside) {
        return Ok(None);
    }
    let own = session.look().ok().flatten();
    let view = overview::open(session, Scope::Repository)?;
    let is_own = |path: &Path| own.as_ref().is_some_and(|own| own.path() == path);
    if view.sources().iter().all(|source| is_own(source.path())) && view.unreadable().is_empty() {
        return Ok(None);
    }
    match view.find_run(name).await {
        Ok(found) if is_own(found.source.path()) => Ok(None),
        Ok(found) => session_of(session, &view, &found).map(Some),
        Err(FindError::NotFound { unreadable, .. }) => {
            for path in unreadable {
                let path = path.display();
                session.output.note(&format!("{path} can't be read; the run may be in there"));
            }
            Ok(None)
        }
        Err(error @ FindError::Ambiguous { .. }) => {
            Err(CommandError::usage(error.to_string())
                .hint("write more of the name, or the whole id"))
        }
    }
}

/// The checkout that the run was started from, or any that uses its database. If none is left, the database alone.
pub(crate) fn session_of(session: &Session, view: &UnifiedView, found: &Found) -> Result<Session> {
    let started_in = found.run.work_dir.as_ref().map(PathBuf::from);
    session_at(session, view, found.source.path(), started_in)
}

/// This checkout if it uses the database, or else any that does. If none is left, the database alone.
pub(crate) fn session_at(
    session: &Session,
    view: &UnifiedView,
    database: &Path,
    started_in: Option<PathBuf>,
) -> Result<Session> {
    // A workspace is a place of last resort: it may be what is dealt with.
    let (made, own): (Vec<&Worktree>, Vec<&Worktree>) =
        view.worktrees().all().iter().partition(|worktree| worktree.is_workspace);
    let users = own.into_iter().chain(made).map(|worktree| worktree.path.clone());
    let there = started_in.into_iter().chain(users).find_map(|root| {
        let surroundings = Surroundings { cwd: Some(root), ..session.surroundings.clone() };
        let location = StateLocation::find(&surroundings).ok()?;
        let is_there = location.database.file()?.canonicalize().is_ok_and(|path| path == database);
        is_there.then_some((surroundings, location))
    });
    let (surroundings, location) = match there {
        Some(there) => there,
        None => {
            let mut surroundings = session.surroundings.clone();
            surroundings.environment.insert(named::VARIABLE.into(), database.into());
            let location = StateLocation::find(&surroundings)?;
            (surroundings, location)
        }
    };
    session.moved(surroundings, location)
}
