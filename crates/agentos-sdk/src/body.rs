//! The body of a workflow or of one attempt at a step: a future, polled whenever an answer that it waits for comes.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::program::{BodyOutcome, ScopeId};
use serde::Serialize;
use serde_json::json;

use crate::ctx::Ctx;
use crate::error::Result;
use crate::json;
use crate::panics;
use crate::tripwire::Tripwire;

/// A body under way.
pub(crate) type BodyFuture = Pin<Box<dyn Future<Output = BodyOutcome> + Send>>;

/// What makes the bodies of a step, one for each attempt.
pub(crate) type BodyMaker = Box<dyn Fn(Ctx) -> BodyFuture + Send>;

/// A future that ends as its function does, with what it returns as JSON.
pub(crate) fn future<T: Serialize>(
    body: impl Future<Output = Result<T>> + Send + 'static,
) -> BodyFuture {
    Box::pin(async move {
        match body.await.map(|output| json::encode("the result", &output)) {
            Ok(Ok(output)) => BodyOutcome::Returned(output),
            Ok(Err(failure)) => BodyOutcome::Threw(failure),
            Err(error) => error.into_outcome(),
        }
    })
}

/// What one poll of a body came to.
pub(crate) enum Polled {
    /// It has come to its end.
    Ended(BodyOutcome),
    /// It waits, for answers of ours as far as one can tell.
    Waits,
    /// It waits for something else.
    WaitsElsewhere,
}

/// A body under way, and the wire around it.
pub(crate) struct Body {
    pub(crate) scope: ScopeId,
    /// How often it was polled.
    pub(crate) polls: u64,
    future: BodyFuture,
    wire: Arc<Tripwire>,
}

impl Body {
    pub(crate) fn new(scope: ScopeId, future: BodyFuture) -> Self {
        Self { scope, polls: 0, future, wire: Arc::default() }
    }

    /// Lets the body run until it waits.
    pub(crate) fn poll(&mut self) -> Polled {
        let future = &mut self.future;
        let (polled, touched) = self
            .wire
            .watch(|waker| panics::catch(|| future.as_mut().poll(&mut Context::from_waker(waker))));
        match polled {
            Ok(Poll::Ready(outcome)) => Polled::Ended(outcome),
            Ok(Poll::Pending) if touched => Polled::WaitsElsewhere,
            Ok(Poll::Pending) => Polled::Waits,
            Err(failure) => Polled::Ended(BodyOutcome::Threw(failure)),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// The failure of a body that waits for something that is not in the log.
pub(crate) fn waits_elsewhere(path: &str) -> Failure {
    let who = match path {
        "" => "the workflow".to_owned(),
        path => format!("the step `{path}`"),
    };
    let message = format!(
        "{who} awaits something that did not come from `ctx`: a timer, channel, socket or thread of its own. The run's \
         log knows nothing of it, so it could not be waited for again after a crash. For time use `ctx.sleep`, for \
         events `ctx.wait_for`, for own I/O `ctx.effect`; to wait for several things use `join`, `try_join`, `race` or \
         `either` of agentos_sdk, because other combinators may keep wakers of their own",
    );
    let detail = json!({ "reason": "foreign_await", "scope": path });
    Failure { detail: Some(detail), ..Failure::new(FailureKind::NonRetryable, message) }
}
