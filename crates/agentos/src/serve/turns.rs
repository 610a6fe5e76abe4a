//! Who may work at once: what waits for files, databases or other programs has a thread of its own, and these are few.
//!
//! Whoever only looks waits for nobody who changes something, and whoever changes something waits only for those who change the
//! same database: one that another program has locked costs its own project's deeds time, and nobody else anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// How many look at once.
const LOOKING: usize = 16;

/// How many change one database at once, and how many change what belongs to none.
const CHANGING: usize = 8;

/// What somebody is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    /// Only look.
    Look,
    /// Change something in this database; none: something that is in no database, or it is not known yet in which.
    Change(Option<PathBuf>),
}

impl Turn {
    /// Somebody is about to change something in this database.
    pub(super) fn change(database: &Path) -> Self {
        Self::Change(Some(database.to_owned()))
    }
}

/// The places of those who work.
pub(super) struct Turns {
    looking: Arc<Semaphore>,
    /// Only those of databases that somebody changes right now, or waits for.
    changing: Mutex<BTreeMap<Option<PathBuf>, Arc<Semaphore>>>,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { looking: Arc::new(Semaphore::new(LOOKING)), changing: Mutex::default() }
    }

    /// Waits for a place, and has it until what is returned is dropped.
    pub(super) async fn take(&self, turn: Turn) -> Result<OwnedSemaphorePermit, AcquireError> {
        let places = match turn {
            Turn::Look => Arc::clone(&self.looking),
            Turn::Change(database) => self.places_of(database),
        };
        places.acquire_owned().await
    }

    fn places_of(&self, database: Option<PathBuf>) -> Arc<Semaphore> {
        let mut changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever works or waits has a share of its own.
        changing.retain(|_, places| Arc::strong_count(places) > 1);
        let places = changing.entry(database);
        Arc::clone(places.or_insert_with(|| Arc::new(Semaphore::new(CHANGING))))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// Whether there is a place right now.
    async fn is_free(turns: &Turns, turn: &Turn) -> bool {
        timeout(Duration::ZERO, turns.take(turn.clone())).await.is_ok_and(|taken| taken.is_ok())
    }

    #[tokio::test]
    async fn a_database_that_is_waited_for_is_in_the_way_of_nobody_else() {
        let turns = Turns::new();
        let (one, other) = (Turn::change(Path::new("/a.db")), Turn::change(Path::new("/b.db")));
        let mut held = Vec::new();
        for _ in 0..CHANGING {
            held.push(turns.take(one.clone()).await.unwrap());
        }
        assert!(!is_free(&turns, &one).await, "its places are taken");
        for free in [other, Turn::Look, Turn::Change(None)] {
            assert!(is_free(&turns, &free).await, "{free:?}");
        }
        held.clear();
        assert!(is_free(&turns, &one).await);
        assert_eq!(turns.changing.lock().unwrap().len(), 1, "what nobody uses is forgotten");
    }
}
