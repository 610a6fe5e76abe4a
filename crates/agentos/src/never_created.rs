//! Folders of runs that a process was about to create when it died: removed by the next process that drives runs, and by
//! `db check --fix`.
//!
//! Whether a database knows the run is asked while its lock is held. So a run that was created meanwhile keeps its folder.

use std::io;
use std::path::Path;

use agentos_core::id::RunId;
use agentos_store::folder::{Left, executions, find_creating};
use agentos_store::log::ReadError;
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;

use crate::databases::others::{self, Others};
use crate::session::Session;

/// Removes all of them. What can't be removed now is left to the next process.
pub(crate) async fn sweep(session: &Session, store: &SqliteStore) {
    let Ok(Ok(project)) = session.location().map(|location| location.project_path()) else {
        return;
    };
    let left = find_creating(&executions(project));
    if left.is_empty() {
        return;
    }
    let others = others_of(session, store).await;
    for left in left {
        let (run, folder) = (left.run, left.folder.clone());
        match remove(store, &others, left).await {
            Ok(true) => {
                tracing::info!(%run, "removed what was left of a run that was never created");
            }
            Ok(false) => {}
            Err(error) => {
                let path = folder.display();
                tracing::warn!(%path, %error, "what is left of a run can't be removed");
            }
        }
    }
}

/// Removes what is left of one run. Whether that is so.
///
/// # Errors
/// The file system refuses.
pub(crate) async fn clear(
    session: &Session,
    store: &SqliteStore,
    (executions, run): (&Path, RunId),
) -> io::Result<bool> {
    let left = find_creating(executions).into_iter().find(|left| left.run == run);
    let Some(left) = left else { return Ok(false) };
    remove(store, &others_of(session, store).await, left).await
}

async fn others_of(session: &Session, store: &SqliteStore) -> Others {
    let own = store.path().canonicalize().unwrap_or_else(|_| store.path().to_owned());
    Others::ask(&others::paths(session, &own)).await
}

/// Removes what is left of a run that no database knows. The others were asked after it was locked.
async fn remove(store: &SqliteStore, others: &Others, left: Left) -> io::Result<bool> {
    match store.head(left.run).await {
        Ok(_) => {
            left.forget();
            Ok(false)
        }
        Err(ReadError::NotFound { .. }) if !others.may_know(left.run) => {
            left.remove().map(|()| true)
        }
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use agentos_core::entry::{Entry, RunStarted};
    use agentos_core::name::Name;
    use agentos_core::time::Timestamp;
    use agentos_store::folder::RunFolder;
    use agentos_store::place::Place;
    use agentos_store::run::NewRun;
    use agentos_store::sqlite::Options;
    use uuid::Uuid;

    use super::*;

    async fn create(store: &SqliteStore, run: RunId) {
        let first = Entry::RunStarted(RunStarted::new(run, Name::new("work").expect("a name")));
        let (at, place) = (Timestamp(1), Place::default());
        let new = NewRun { run, at, first, history: None, place, owner: None };
        store.create_run(new).await.expect("the run is created");
    }

    fn left_of(project: &Path, run: RunId) -> Option<Left> {
        find_creating(&executions(project)).into_iter().find(|left| left.run == run)
    }

    #[tokio::test]
    async fn a_folder_is_removed_only_if_its_run_can_not_be_created_any_more() {
        let project = tempfile::tempdir().expect("a folder");
        let path = project.path().join("runs.db");
        let store = SqliteStore::open(&path, Options::quiet(Uuid::new_v4())).expect("a database");
        let [created, dead] = [1, 2].map(|number| RunId(Uuid::from_u128(number)));
        let folder = |run| RunFolder::new(project.path(), run);
        let creating = [created, dead].map(|run| folder(run).begin().expect("a folder"));
        assert!(left_of(project.path(), created).is_none(), "its process lives");
        // The one process has died. The other has created its run after the database was asked which runs there are, and
        // has not written its document.
        drop(creating);
        let [of_created, of_dead] = [created, dead].map(|run| left_of(project.path(), run));
        create(&store, created).await;
        let others = Others::default();
        let removed = remove(&store, &others, of_created.expect("no process has its lock")).await;
        assert!(!removed.expect("it is looked at") && folder(created).path().is_dir());
        assert!(left_of(project.path(), created).is_none(), "it is known now");
        let removed = remove(&store, &others, of_dead.expect("no process has its lock")).await;
        assert!(removed.expect("it is removed") && !folder(dead).path().exists());
    }
}
