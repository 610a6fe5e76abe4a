//! Performs calls of `ctx.files`: within the run's workspace and its inputs, and nowhere else.
//!
//! Every call can be made twice. Nothing of it outlives the process that makes it, so an order that somebody else may
//! have begun is performed again, and leaves the same behind: a file is written as a whole or not at all, and what an
//! interrupted writer left beside it is replaced. Only the answer of a deletion may differ: whoever comes second finds
//! nothing to delete.

mod request;

use std::hash::Hasher as _;
use std::path::PathBuf;
use std::sync::Arc;

use agentos_core::entry::{Home, OperationResult};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, Try};
use agentos_core::path::OperationId;
use agentos_core::value::{self, Value};
use agentos_store::folder::executions;
use agentos_workspace::contained::{Contained, ContainedError};
use async_trait::async_trait;
use serde_json::json;
use siphasher::sip::SipHasher24;

use crate::performer::{Order, Performed, Performer, Ticket};
use crate::shell::{Grounds, Refusal};
use request::Request;

/// Performs calls of `ctx.files`.
#[derive(Clone)]
pub struct FilesPerformer {
    grounds: Arc<dyn Grounds>,
}

impl FilesPerformer {
    /// Performs them where runs work.
    #[must_use]
    pub fn new(grounds: impl Grounds) -> Self {
        Self { grounds: Arc::new(grounds) }
    }

    async fn performed(&self, order: Order, ticket: &Ticket) -> Result<Option<Value>, Refusal> {
        let ground = self.grounds.of(order.visitor()).await?;
        let request = Request::parse(&order.operation, order.args)?;
        let (reach, mark) =
            (Reach::of(ground.path, &order.home), mark(order.run, &order.operation));
        let stop = ticket.stop.clone();
        let done = blocking(move || request.perform(&reach.open()?, mark, &|| stop.is_cancelled()));
        let Some(answer) = done.await? else { return Ok(None) };
        match value::check(&answer) {
            Ok(()) => Ok(Some(answer)),
            Err(error) => Err(Failure::new(FailureKind::Limit, error.to_string()).into()),
        }
    }
}

/// Does something on a thread that may wait for the disk. None if it was stopped.
pub(crate) async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, ContainedError> + Send + 'static,
) -> Result<Option<R>, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(Some(done)),
        Ok(Err(ContainedError::Stopped)) => Ok(None),
        Ok(Err(error)) => Err(failure(&error)),
        Err(_) => Err(Failure::new(FailureKind::Error, "whoever worked on the files panicked")),
    }
}

/// What a run can reach: the files where it works, and those that it was started with.
#[derive(Debug)]
pub(crate) struct Reach {
    ground: PathBuf,
    context: Option<PathBuf>,
    project: Option<PathBuf>,
}

impl Reach {
    pub(crate) fn of(ground: PathBuf, home: &Home) -> Self {
        let path = |text: &str| Some(PathBuf::from(text)).filter(|_| !text.is_empty());
        Self { ground, context: path(&home.context_path), project: path(&home.project_path) }
    }

    /// The files. A run that works in its project has the folders of all runs before it, and leaves them alone.
    pub(crate) fn open(&self) -> Result<Contained, ContainedError> {
        let files = Contained::open(&self.ground, self.context.as_deref())?;
        Ok(match &self.project {
            Some(project) => files.protecting(&executions(project)),
            None => files,
        })
    }
}

/// The same for every try of an operation, and for no other.
pub(crate) fn mark(run: RunId, operation: &OperationId) -> u64 {
    let mut hash = SipHasher24::new();
    hash.write(run.0.as_bytes());
    hash.write(operation.as_str().as_bytes());
    hash.finish()
}

/// A call that is wrong in itself is not tried again. What depends on the files may work the next time.
fn failure(error: &ContainedError) -> Failure {
    let kind = if error.is_refusal() { FailureKind::NonRetryable } else { FailureKind::Error };
    Failure {
        detail: Some(json!({ "reason": error.reason() })),
        ..Failure::new(kind, error.to_string())
    }
}

#[async_trait]
impl Performer for FilesPerformer {
    async fn perform(&self, order: Order, ticket: Ticket) -> Performed {
        Performed::of(self.performed(order, &ticket).await, &ticket)
    }

    async fn stop(&self, _: RunId, _: &OperationId, _: Try) {}
}

impl Performed {
    /// What came of work that ends with the process: an answer, nothing because it was stopped, or a failure.
    pub(crate) fn of(result: Result<Option<Value>, Refusal>, ticket: &Ticket) -> Self {
        match result {
            _ if ticket.stop.is_cancelled() => Self::Ended(OperationResult::Cancelled {}),
            Ok(Some(value)) => Self::Ended(OperationResult::Ok { value }),
            Ok(None) => Self::Ended(OperationResult::Cancelled {}),
            Err(refusal) => refusal.into(),
        }
    }
}
