//! A slot that is kept for a run while it is being created.
//!
//! Whoever creates a run where it can be driven at once creates it claimed: nobody has to look for it, and nothing of it has
//! to be read back. The slot is taken first, so that no run is held that nobody drives. If it is not known what became of
//! the creation, the scheduler finds out by a claim: the run may be ours.

use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, RunStarted};
use agentos_core::id::{RunId, Seq};
use agentos_store::backend::{BackendError, BackendErrorKind};
use agentos_store::claim::Claim;
use agentos_store::place::Place;
use agentos_store::run::{CreateError, Created, NewRun};
use tokio::sync::Notify;

use crate::drive;
use crate::shared::Shared;
use crate::worker::Assignment;

/// What the scheduler is told about a run that was created here.
pub(crate) enum Handed {
    /// It is claimed and has its slot.
    Held(Assignment),
    /// No process may be driving it: it is claimed if it is free.
    Unsure(RunId),
}

/// A slot. Given back when this is dropped, unless the run was handed over.
struct Reservation {
    shared: Arc<Shared>,
    run: RunId,
    mail: Option<Arc<Notify>>,
}

impl Reservation {
    fn take(shared: &Arc<Shared>, run: RunId) -> Option<Self> {
        let mail = shared.enter(run).ok()?;
        Some(Self { shared: Arc::clone(shared), run, mail: Some(mail) })
    }

    /// Has the run driven. The answer is no if the engine has left meanwhile.
    fn hand_over(mut self, claim: Claim, log: Vec<Chunk>) -> bool {
        let Some(mail) = self.mail.take() else { return false };
        let assignment = Assignment { run: self.run, claim, mail, log: Some(log) };
        let is_taken = self.shared.handed.send(Handed::Held(assignment)).is_ok();
        if !is_taken {
            self.shared.leave(self.run);
        }
        is_taken
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.mail.is_some() {
            self.shared.leave(self.run);
            // An engine that has left holds nothing that it does not know of for long: its owner ends.
            let _gone = self.shared.handed.send(Handed::Unsure(self.run));
        }
    }
}

/// Creates a run, and has it driven if there is a slot. Goes on if nobody waits for it any more.
pub(crate) async fn create(
    shared: &Arc<Shared>,
    start: RunStarted,
    place: Place,
) -> Result<Created, CreateError> {
    let slot = Reservation::take(shared, start.run);
    let runtime = shared.runtime.clone();
    let shared = Arc::clone(shared);
    let creating = runtime.spawn(async move {
        let (run, at, first) = (start.run, shared.clock.now(), Entry::RunStarted(start));
        let log = vec![Chunk::new(Seq::FIRST, at, vec![first.clone()])];
        let owner = slot.as_ref().map(|_| shared.owner);
        let new = NewRun { run, at, first, history: None, place, owner };
        let created = shared.store.create_run(new).await?;
        match (created, slot) {
            (Created::Claimed(claim), Some(slot)) => {
                if !slot.hand_over(claim, log) {
                    drive::give_back(&shared, run).await;
                }
            }
            _ => shared.kick.notify_one(),
        }
        Ok(created)
    });
    match creating.await {
        Ok(created) => created,
        Err(stopped) => match stopped.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => {
                let message = "the engine's runtime has ended";
                Err(BackendError::new(BackendErrorKind::Permanent, message).into())
            }
        },
    }
}
