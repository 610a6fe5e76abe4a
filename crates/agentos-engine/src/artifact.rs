//! Performs `ctx.artifact`: copies what a workflow wants kept into the run's folder, with its hash.
//!
//! Where an artifact goes follows from the operation, so whoever performs an order again after a crash replaces what the
//! one before left, whole or not, and the one answer in the log makes the one row.
//!
//! - **A file or a text** becomes `artifacts/{step}/{name}`.
//! - **A folder or a pattern** becomes a folder of that name with the files in their places; each has a row of its own,
//!   `{name}/{path}`. Links are not followed and not kept; the answer says how many there were. A folder without files is
//!   kept as what it is: a row of size 0 and type `inode/directory`. If their names are more than one answer holds, nothing
//!   is copied.
//! - **The same name again** in the same step, also in another attempt at it, goes to a folder beside
//!   (`artifacts/{step}-{mark}/{name}`): what a row says of a file stays true.

mod keep;
mod place;
mod request;
mod safety;

use std::path::PathBuf;
use std::sync::Arc;

use agentos_core::id::{RunId, Try};
use agentos_core::path::OperationId;
use agentos_core::value::Value;
use async_trait::async_trait;

use crate::files::{Reach, blocking, mark};
use crate::performer::{Order, Performed, Performer, Ticket};
use crate::shell::{Grounds, Refusal};
use keep::Keeper;
use place::Place;
pub(crate) use place::step_around;
use request::{Given, Request};

/// Most files of one artifact. Each is a row, and they are all in one answer.
pub const ARTIFACT_FILES: usize = 5_000;

/// Performs `ctx.artifact`.
#[derive(Clone)]
pub struct ArtifactPerformer {
    grounds: Arc<dyn Grounds>,
}

impl ArtifactPerformer {
    /// Keeps what is where runs work.
    #[must_use]
    pub fn new(grounds: impl Grounds) -> Self {
        Self { grounds: Arc::new(grounds) }
    }

    async fn performed(&self, mut order: Order, ticket: &Ticket) -> Result<Option<Value>, Refusal> {
        let place = Place::of(&order)?;
        let request = Request::parse(order.args.take())?;
        // A text can be kept without a place to work in.
        let ground = match request.given {
            Given::Content(_) => PathBuf::new(),
            Given::File(_) => self.grounds.of(order.visitor()).await?.path,
        };
        let (reach, mark) = (Reach::of(ground, &order.home), mark(order.run, &order.operation));
        let stop = ticket.stop.clone();
        let done = blocking(move || {
            let is_stopped = || stop.is_cancelled();
            let keeper = Keeper { place: &place, request: &request, mark, is_stopped: &is_stopped };
            place.prepare()?;
            match &request.given {
                Given::Content(text) => keeper.keep_text(text),
                Given::File(path) => keeper.keep_files(&reach.open()?, path),
            }
        });
        Ok(done.await?)
    }
}

#[async_trait]
impl Performer for ArtifactPerformer {
    async fn perform(&self, order: Order, ticket: Ticket) -> Performed {
        Performed::of(self.performed(order, &ticket).await, &ticket)
    }

    async fn stop(&self, _: RunId, _: &OperationId, _: Try) {}
}
