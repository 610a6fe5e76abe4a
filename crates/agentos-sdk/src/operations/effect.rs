//! The door for I/O of one's own.

use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use agentos_core::failure::Failure;
use agentos_core::operation::OperationKind;
use agentos_core::value::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::actions::Action;
use crate::answer::Answer;
use crate::ctx::{Ctx, perform};
use crate::error::{Error, Result};
use crate::json;
use crate::panics;

impl Ctx {
    /// Does I/O of one's own. Asked for at this call.
    ///
    /// The work is begun only after the order stands in the log, outside of the workflow's code and on a runtime: here
    /// anything may be awaited. What it returns goes into the log and is the answer from then on; an effect that has its
    /// answer is never begun again, and its closure is dropped uncalled. One that was interrupted is begun again, so the
    /// work is done **at least once**: make it idempotent, or let it ask first whether it was done.
    ///
    /// The work can't use `ctx`; hand it the values that it needs.
    #[track_caller]
    pub fn effect<T, F, Fut>(&self, name: impl AsRef<str>, work: F) -> Answer<T>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = Result<T>> + Send + 'static,
    {
        let request = perform(OperationKind::Effect, name.as_ref(), Value::Null);
        let slot = self.order(request, Location::caller()).and_then(|slot| {
            self.enter(|stage| {
                let asked = stage.desk.ticket(slot).map(|ticket| stage.door.identity(ticket));
                // One that was refused has no identity, and its work is dropped.
                if let Some(Ok(operation)) = asked.map(|identity| identity.parse()) {
                    stage.desk.keep_action(slot, operation, action(work));
                }
                slot
            })
        });
        Answer::new(&self.run, slot)
    }
}

fn action<T, F, Fut>(work: F) -> Action
where
    T: Serialize,
    F: FnOnce() -> Fut + Send + 'static,
    Fut: Future<Output = Result<T>> + Send + 'static,
{
    Box::pin(Caught(Box::pin(async move {
        let result = work().await.map_err(Error::into_failure)?;
        json::encode("the result of the effect", &result)
    })))
}

/// Work whose panics are failures.
struct Caught(Action);

impl Future for Caught {
    type Output = Result<Value, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        panics::catch(|| self.0.as_mut().poll(cx))
            .unwrap_or_else(|failure| Poll::Ready(Err(failure)))
    }
}
