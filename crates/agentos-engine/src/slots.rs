//! Slots: how many runs and sessions of agents are at work at once, over all processes of a user.
//!
//! Whoever wants to begin something that is limited enters a queue: a folder in which each has a ticket, a file that is
//! locked for as long as its process lives. A ticket says what it counts against (its *claims*) and whether it is in. All of
//! its claims are had at once or none is, so nobody sits on one slot while waiting for another, and nobody can wait in a
//! circle. Who came first is first, as far as there is room for him: somebody behind may pass who wants other slots.
//!
//! A limit is what the one who wants in says it is: two processes may know different numbers while a configuration changes. So
//! a ticket also names what it counts as where that is not limited.
//!
//! Nothing is asked again and again. A ticket that is gone, or whose process has died, is noticed by inotify; whoever
//! notices first lets in who can come in, for everybody. Should that process be stopped in the middle, the others look by
//! themselves every few seconds.

mod claim;
mod decide;
mod folder;
mod ticket;
mod watch;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentos_core::concurrency::Concurrency;
use agentos_core::entry::{Home, RunStarted};
use agentos_core::value::Value;
use async_trait::async_trait;

pub use claim::Claim;
pub(crate) use claim::Wish;
use folder::Folder;
pub(crate) use ticket::Ticket;
use watch::Watch;

/// How long the queue may be busy with others. They need a moment; one that is stopped in it needs for ever.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Says what is limited.
#[async_trait]
pub trait Quotas: Send + Sync + 'static {
    /// What a run counts against while it is at work. `own` is what its workflow says of itself.
    async fn of_run(&self, start: &RunStarted, own: Option<Concurrency>) -> Vec<Claim>;

    /// What a session of an agent counts against besides, if it does. `args` are those of its operation; `whose` tells it
    /// from all others.
    fn of_session(&self, home: &Home, args: &Value, whose: String) -> Option<Claim>;
}

/// The queue of a user, and what its engine has to ask of it.
pub struct Slots {
    folder: Arc<Folder>,
    watch: Arc<Watch>,
    quotas: Box<dyn Quotas>,
    /// Where whoever has started this process works, if that is a run.
    within: Option<String>,
}

impl Slots {
    /// The queue in this folder, which need not be there.
    #[must_use]
    pub fn new(folder: &Path, quotas: impl Quotas) -> Self {
        let folder = Arc::new(Folder::at(folder));
        let watch = Watch::new(Arc::clone(&folder));
        Self { folder, watch, quotas: Box::new(quotas), within: None }
    }

    /// The same for a process that was started by a run which works in this place: what that run has, its own runs need not
    /// wait for. It would wait for them in turn.
    #[must_use]
    pub fn within(mut self, place: Option<String>) -> Self {
        self.within = place;
        self
    }

    pub(crate) fn quotas(&self) -> &dyn Quotas {
        &*self.quotas
    }

    /// Is told whenever somebody may have been let in.
    pub(crate) fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.watch.changes()
    }

    /// Enters the queue, and is let in if there is room; else it says why not.
    pub(crate) async fn enter(&self, mut wish: Wish) -> io::Result<(Ticket, Option<String>)> {
        wish.within.clone_from(&self.within);
        let (folder, watch) = (Arc::clone(&self.folder), Arc::clone(&self.watch));
        patiently(move || {
            let (file, name, why) = folder.enter(&wish)?;
            let ticket = Ticket::new(folder, watch, file, name);
            if why.is_some() {
                ticket.wait();
            }
            Ok((ticket, why))
        })
        .await
    }

    /// Changes what a ticket counts against. It keeps its place, and whether it is in.
    pub(crate) async fn change_claims(
        &self,
        ticket: &Ticket,
        claims: Vec<Claim>,
    ) -> io::Result<()> {
        let (folder, name) = (Arc::clone(&self.folder), ticket.name().to_owned());
        patiently(move || folder.change_claims(&name, claims)).await
    }

    /// Why somebody is not let in; nothing if he is.
    pub(crate) async fn why_not(&self, ticket: &Ticket) -> io::Result<Option<String>> {
        let (folder, name) = (Arc::clone(&self.folder), ticket.name().to_owned());
        patiently(move || folder.why_not(&name)).await
    }
}

/// Does something with the queue. If it is done after all when nobody waits for it any more, it is undone by being dropped.
async fn patiently<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match tokio::time::timeout(TIMEOUT, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done,
        Ok(Err(panicked)) => Err(io::Error::other(panicked)),
        Err(_) => {
            Err(io::Error::new(io::ErrorKind::TimedOut, "somebody else does not let go of it"))
        }
    }
}

#[cfg(test)]
mod tests;
