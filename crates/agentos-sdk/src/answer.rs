//! The future of something that was asked for.

use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::source::Site;
use serde::de::DeserializeOwned;

use crate::desk::SlotId;
use crate::json;
use crate::run::Run;
use crate::stage;

/// What was asked for, and will be answered.
///
/// It was asked for when this value was made; awaiting only waits. Dropping it takes nothing back: an operation goes on
/// until it ends or until the scope that asked for it closes, which cancels it. A failure that no code ever waited for
/// fails the scope at its end, as in TypeScript; see [`Answer::ignore`].
#[derive(Debug)]
#[must_use = "what was asked for goes on, but nobody waits for it; `.await` it, or say `.ignore()`"]
pub struct Answer<T> {
    run: Arc<Run>,
    place: Place,
    reads: PhantomData<fn() -> T>,
}

#[derive(Debug)]
enum Place {
    Slot(SlotId),
    /// It could not even be asked for.
    Nowhere(Failure),
    /// The answer was handed out.
    Fetched,
}

impl<T> Answer<T> {
    pub(crate) fn new(run: &Arc<Run>, slot: Result<SlotId, Failure>) -> Self {
        let place = slot.map_or_else(Place::Nowhere, Place::Slot);
        Self { run: Arc::clone(run), place, reads: PhantomData }
    }

    /// Goes on without it. It still ends with its scope, but its failure is nobody's business.
    pub fn ignore(self) {
        if let Place::Slot(slot) = &self.place {
            let _ = stage::enter(&self.run, |stage| stage.desk.ignore(*slot));
        }
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        if let Place::Slot(slot) = &self.place {
            let _ = stage::enter(&self.run, |stage| stage.desk.leave(*slot));
        }
    }
}

impl<T: DeserializeOwned> Future for Answer<T> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = match &self.place {
            Place::Slot(slot) => *slot,
            Place::Nowhere(failure) => return Poll::Ready(Err(failure.clone())),
            Place::Fetched => {
                let message = "the same answer was awaited twice";
                return Poll::Ready(Err(Failure::new(FailureKind::NonRetryable, message)));
            }
        };
        let (ticket, answer) = match stage::enter(&self.run, |stage| stage.desk.poll(slot)) {
            Ok(Poll::Ready(answered)) => answered,
            Ok(Poll::Pending) => return Poll::Pending,
            Err(outside) => return Poll::Ready(Err(outside)),
        };
        self.place = Place::Fetched;
        let identity = || {
            let asked = stage::enter(&self.run, |stage| Some(stage.door.identity(ticket?)));
            format!("the answer of `{}`", asked.ok().flatten().unwrap_or_default())
        };
        Poll::Ready(answer.and_then(|value| json::decode(identity, value)))
    }
}

/// A place in the workflow's source.
pub(crate) fn site(location: &Location<'_>) -> Site {
    Site::new(location.to_string())
}
