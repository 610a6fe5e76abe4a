//! Who wants to hear of what.
//!
//! A database is followed while somebody wants to hear of one of its runs, or of the runs of any project. Whoever
//! subscribes waits until the follower has its place: what is committed from then on is told, and what was committed before
//! is in the log.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agentos_core::id::RunId;
use agentos_store::sqlite::SqliteStore;
use agentos_store::unified::{Found, UnifiedView};
use axum::extract::ws::Utf8Bytes;
use tokio::sync::{Semaphore, watch};
use uuid::Uuid;

use super::batch::Batch;
use super::bounds::CONNECTIONS;
use super::mailbox::Mailbox;
use super::{follow, progress};
use crate::house::House;

/// Tells whoever has subscribed what is committed, whoever commits it.
pub struct Hub {
    house: Arc<dyn House>,
    wishes: Mutex<Wishes>,
    pub(super) connections: Arc<Semaphore>,
}

#[derive(Default)]
struct Wishes {
    runs: HashMap<RunId, Topic>,
    /// Runs whose log lines somebody reads. A reader looks only now and then whether anybody listens, so it may outlive the
    /// run's topic; whoever subscribes meanwhile is read to by that one.
    read: HashSet<RunId>,
    projects: HashMap<Uuid, Vec<Arc<Mailbox>>>,
    /// By the database's real file. Each says when it has its place.
    followers: HashMap<PathBuf, watch::Receiver<bool>>,
    /// Whether somebody follows which databases there are.
    is_scouting: bool,
}

/// A run that somebody wants to hear of.
struct Topic {
    database: PathBuf,
    mailboxes: Vec<Arc<Mailbox>>,
    /// Those who want its log lines, too.
    listeners: Vec<Arc<Mailbox>>,
}

impl Hub {
    /// A hub for the databases of this house.
    #[must_use]
    pub fn new(house: Arc<dyn House>) -> Self {
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        Self { house, wishes: Mutex::default(), connections }
    }

    /// All databases as they are known now.
    pub(super) fn view(&self) -> Arc<UnifiedView> {
        self.house.views().borrow().clone()
    }

    fn wishes(&self) -> MutexGuard<'_, Wishes> {
        // Wishes are whole at any moment.
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on the mailbox gets what is committed to the run, and its log lines if they are wanted.
    pub(super) async fn subscribe(
        self: &Arc<Self>,
        found: &Found,
        mailbox: &Arc<Mailbox>,
        with_progress: bool,
    ) {
        let (run, database) = (found.run.id, found.source.path().to_owned());
        let mut reads = false;
        {
            let mut wishes = self.wishes();
            let topic = wishes.runs.entry(run).or_insert_with(|| Topic {
                database: database.clone(),
                mailboxes: Vec::new(),
                listeners: Vec::new(),
            });
            // It may have been copied since the first of them came.
            topic.database.clone_from(&database);
            add(&mut topic.mailboxes, mailbox);
            if with_progress {
                add(&mut topic.listeners, mailbox);
                reads = wishes.read.insert(run);
            } else {
                remove(&mut topic.listeners, mailbox);
                mailbox.drop_lines(run);
            }
        }
        if reads {
            tokio::spawn(progress::read(
                Arc::downgrade(self),
                Arc::clone(&self.house),
                found.clone(),
            ));
        }
        self.follow(&found.source.store, None).await;
    }

    /// The mailbox gets nothing more about this run.
    pub(super) fn unsubscribe(&self, run: RunId, mailbox: &Arc<Mailbox>) {
        let mut wishes = self.wishes();
        if let Some(topic) = wishes.runs.get_mut(&run) {
            remove(&mut topic.mailboxes, mailbox);
            remove(&mut topic.listeners, mailbox);
            if topic.mailboxes.is_empty() {
                wishes.runs.remove(&run);
            }
        }
    }

    /// From now on the mailbox gets how the runs of this project stand, also in databases that come later.
    pub(super) async fn subscribe_project(self: &Arc<Self>, project: Uuid, mailbox: &Arc<Mailbox>) {
        let scouts = {
            let mut wishes = self.wishes();
            add(wishes.projects.entry(project).or_default(), mailbox);
            !std::mem::replace(&mut wishes.is_scouting, true)
        };
        if scouts {
            tokio::spawn(follow::scout(Arc::downgrade(self), self.house.views()));
        }
        let view = self.house.views().borrow().clone();
        for source in view.sources() {
            self.follow(&source.store, Some(mailbox)).await;
        }
    }

    /// The mailbox gets nothing more about this project.
    pub(super) fn unsubscribe_project(&self, project: Uuid, mailbox: &Arc<Mailbox>) {
        let mut wishes = self.wishes();
        if let Some(mailboxes) = wishes.projects.get_mut(&project) {
            remove(mailboxes, mailbox);
            if mailboxes.is_empty() {
                wishes.projects.remove(&project);
            }
        }
    }

    /// Follows this database, if it is not followed yet; returns when what is committed from now on will be told. What was in
    /// a database before it was followed is in no message, so lists of projects have to be loaded again: but not by the
    /// client that subscribes now, since it loads its list afterwards.
    pub(super) async fn follow(
        self: &Arc<Self>,
        store: &SqliteStore,
        subscriber: Option<&Arc<Mailbox>>,
    ) {
        let (mut ready, is_new) = {
            let mut wishes = self.wishes();
            match wishes.followers.get(store.path()) {
                Some(known) => (known.clone(), false),
                None => {
                    let (tell, ready) = watch::channel(false);
                    wishes.followers.insert(store.path().to_owned(), ready.clone());
                    tokio::spawn(follow::follow(Arc::downgrade(self), store.clone(), tell));
                    (ready, true)
                }
            }
        };
        // A follower that has ended has found nobody who wants anything, which is not so any more.
        if ready.wait_for(|is_ready| *is_ready).await.is_err() {
            tracing::debug!(path = %store.path().display(), "a follower has ended at once");
        }
        if is_new {
            let wishes = self.wishes();
            let all = wishes.projects.values().flatten();
            all.filter(|mailbox| subscriber.is_none_or(|own| !Arc::ptr_eq(own, mailbox)))
                .for_each(|mailbox| mailbox.relist());
        }
    }

    /// How many WebSockets are open, and how often somebody follows a run or a project.
    pub(crate) fn figures(&self) -> Audience {
        let wishes = self.wishes();
        Audience {
            sockets: CONNECTIONS.saturating_sub(self.connections.available_permits()),
            runs: wishes.runs.values().map(|topic| topic.mailboxes.len()).sum(),
            projects: wishes.projects.values().map(Vec::len).sum(),
        }
    }

    /// Whether anybody wants to hear of this database. If not, it counts as not followed from now on.
    pub(super) fn is_wanted(&self, database: &Path) -> bool {
        let mut wishes = self.wishes();
        let is_wanted = !wishes.projects.is_empty()
            || wishes.runs.values().any(|topic| topic.database == database);
        if !is_wanted {
            wishes.followers.remove(database);
        }
        is_wanted
    }

    /// Whether anybody wants to hear of projects. If not, nobody scouts from now on.
    pub(super) fn is_scouting_wanted(&self) -> bool {
        let mut wishes = self.wishes();
        wishes.is_scouting = !wishes.projects.is_empty();
        wishes.is_scouting
    }

    /// Whether what this run says is to be read on: it may say more, and somebody wants to hear it. If not, nobody reads it
    /// from now on.
    pub(super) fn is_read_on(&self, run: RunId, is_over: bool) -> bool {
        let mut wishes = self.wishes();
        let is_heard = wishes.runs.get(&run).is_some_and(|topic| !topic.listeners.is_empty());
        let is_read_on = is_heard && !is_over;
        if !is_read_on {
            wishes.read.remove(&run);
        }
        is_read_on
    }

    /// What somebody wants to hear of, in this database.
    pub(super) fn wanted(&self, database: &Path) -> Wanted {
        let wishes = self.wishes();
        let runs = wishes.runs.iter().filter(|(_, topic)| topic.database == database);
        Wanted {
            runs: runs.map(|(run, _)| *run).collect(),
            projects: wishes.projects.keys().copied().collect(),
        }
    }

    /// Tells everybody who has subscribed to the run.
    pub(super) fn tell(&self, batch: &Arc<Batch>) {
        let wishes = self.wishes();
        for mailbox in wishes.runs.get(&batch.run).iter().flat_map(|topic| &topic.mailboxes) {
            mailbox.put(batch);
        }
    }

    /// Tells everybody who has subscribed to the project.
    pub(super) fn tell_listed(&self, project: Uuid, run: RunId, message: &Utf8Bytes) {
        let wishes = self.wishes();
        for mailbox in wishes.projects.get(&project).into_iter().flatten() {
            mailbox.put_listed(project, run, message);
        }
    }

    /// Tells whoever wants to hear what the run says.
    pub(super) fn tell_progress(&self, run: RunId, message: &Utf8Bytes) {
        let wishes = self.wishes();
        for mailbox in wishes.runs.get(&run).iter().flat_map(|topic| &topic.listeners) {
            mailbox.put_lines(run, message);
        }
    }

    /// Tells whoever follows the run what a person has remarked on it.
    pub(super) fn tell_remark(&self, run: RunId, message: &Utf8Bytes) {
        let wishes = self.wishes();
        for mailbox in wishes.runs.get(&run).iter().flat_map(|topic| &topic.mailboxes) {
            mailbox.put_remark(run, message);
        }
    }

    /// Nobody knows what was committed to this database meanwhile: everybody has to read the log.
    pub(super) fn lose(&self, database: &Path) {
        let wishes = self.wishes();
        let topics = wishes.runs.values().filter(|topic| topic.database == database);
        let mailboxes = topics.flat_map(|topic| &topic.mailboxes);
        mailboxes.chain(wishes.projects.values().flatten()).for_each(|mailbox| mailbox.lose());
    }
}

/// How many follow what happens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Audience {
    pub(crate) sockets: usize,
    pub(crate) runs: usize,
    pub(crate) projects: usize,
}

/// What somebody wants to hear of.
pub(super) struct Wanted {
    pub(super) runs: HashSet<RunId>,
    pub(super) projects: HashSet<Uuid>,
}

/// A hub that may be gone.
pub(super) type HubRef = Weak<Hub>;

fn add(mailboxes: &mut Vec<Arc<Mailbox>>, mailbox: &Arc<Mailbox>) {
    if !mailboxes.iter().any(|known| Arc::ptr_eq(known, mailbox)) {
        mailboxes.push(Arc::clone(mailbox));
    }
}

fn remove(mailboxes: &mut Vec<Arc<Mailbox>>, mailbox: &Arc<Mailbox>) {
    mailboxes.retain(|known| !Arc::ptr_eq(known, mailbox));
}
