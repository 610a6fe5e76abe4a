//! The door for I/O of one's own.

use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use agentos_core::failure::Failure;
use agentos_core::operation::OperationKind;
use agentos_core::value::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::actions::{Action, Work};
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
    /// The work shares its thread with other runs while it waits, so it must not block; for that there is
    /// [`Ctx::effect_blocking`]. It can't use `ctx`; hand it the values that it needs.
    #[track_caller]
    pub fn effect<T, F, Fut>(&self, name: impl AsRef<str>, work: F) -> Answer<T>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = Result<T>> + Send + 'static,
    {
        self.act(name.as_ref(), Location::caller(), || waiting(work))
    }

    /// Does work of one's own that blocks its thread: reads large files, computes for long, calls a library that waits. It
    /// gets a thread of its own; in [`Ctx::effect`] it would hold up other runs. Otherwise the same.
    ///
    /// Such work can't be stopped: a scope that closes waits until it is over.
    #[track_caller]
    pub fn effect_blocking<T, F>(&self, name: impl AsRef<str>, work: F) -> Answer<T>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Result<T> + Send + 'static,
    {
        self.act(name.as_ref(), Location::caller(), || blocking(work))
    }

    fn act<T>(
        &self,
        name: &str,
        from: &Location<'_>,
        action: impl FnOnce() -> Action,
    ) -> Answer<T> {
        let request = perform(OperationKind::Effect, name, Value::Null);
        let slot = self.order(request, from).and_then(|slot| {
            self.enter(|stage| {
                let asked = stage.desk.ticket(slot).map(|ticket| stage.door.identity(ticket));
                // One that was refused has no identity, and its work is dropped.
                if let Some(Ok(operation)) = asked.map(|identity| identity.parse()) {
                    stage.desk.keep_action(slot, operation, action());
                }
                slot
            })
        });
        Answer::new(&self.run, slot)
    }
}

fn waiting<T, F, Fut>(work: F) -> Action
where
    T: Serialize,
    F: FnOnce() -> Fut + Send + 'static,
    Fut: Future<Output = Result<T>> + Send + 'static,
{
    Action::Waits(Box::pin(Caught(Box::pin(async move { encoded(work().await) }))))
}

fn blocking<T: Serialize>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Action {
    Action::Blocks(Box::new(move || panics::catch(|| encoded(work())).unwrap_or_else(Err)))
}

fn encoded<T: Serialize>(result: Result<T>) -> Result<Value, Failure> {
    json::encode("the result of the effect", &result.map_err(Error::into_failure)?)
}

/// Work whose panics are failures.
struct Caught(Work);

impl Future for Caught {
    type Output = Result<Value, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        panics::catch(|| self.0.as_mut().poll(cx))
            .unwrap_or_else(|failure| Poll::Ready(Err(failure)))
    }
}
