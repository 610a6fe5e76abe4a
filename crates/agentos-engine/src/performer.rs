//! Who performs what runs order: an open set, by the kind of operation.

use std::collections::HashMap;
use std::sync::Arc;

use agentos_core::entry::{Hold, Home, OperationResult};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, StepNumber, Try};
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::value::Value;
use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use agentos_sdk::Action;

use crate::progress::Progress;

/// Something that a run has ordered, by an entry that is committed.
pub struct Order {
    /// The run.
    pub run: RunId,
    /// Where it belongs and works.
    pub home: Home,
    /// The operation.
    pub operation: OperationId,
    /// The number and path of the step that it belongs to.
    pub step: Option<(StepNumber, String)>,
    /// The try. Whatever is left behind in the world is named after operation and try.
    pub r#try: Try,
    /// What it was asked for with.
    pub args: Value,
    /// What the latest try that started said of itself.
    pub started: Option<Value>,
    /// What a person has approved for it.
    pub granted: Option<String>,
    /// Whether somebody else may have begun it already: the order is older than this process's hold on the run.
    pub recovered: bool,
    /// What is to be done, if the program brings the code for it.
    pub action: Option<Action>,
}

/// How it went.
#[derive(Debug, Clone, PartialEq)]
pub enum Performed {
    /// It is over, and nothing of it is alive.
    Ended(OperationResult),
    /// Whoever began it died, and nothing of it is alive. It is tried again.
    Interrupted,
    /// It can't be begun yet, and nothing of it was done: it waits, and is tried again.
    Held(Hold),
}

/// Performs operations of some kind.
#[async_trait]
pub trait Performer: Send + Sync + 'static {
    /// Performs what was ordered, or finds what somebody else has begun, and sees it to its end.
    ///
    /// When `ticket.stop` is cancelled it ends what runs, proves that nothing is left, and answers with
    /// [`OperationResult::Cancelled`]. If the future is dropped, the process is about to leave: what can go on without
    /// it may.
    async fn perform(&self, order: Order, ticket: Ticket) -> Performed;

    /// Whether something of this try is in the world already: it is seen to its end, whatever is limited.
    fn is_begun(&self, _run: RunId, _operation: &OperationId, _try: Try) -> bool {
        false
    }

    /// Ends what an earlier owner of the run may have left behind, and returns when nothing is left. What never began
    /// will not begin any more.
    async fn stop(&self, run: RunId, operation: &OperationId, r#try: Try);
}

/// What a performer tells while it works, and hears.
pub struct Ticket {
    /// Cancelled when the operation is to be stopped.
    pub stop: CancellationToken,
    pub(crate) news: mpsc::UnboundedSender<News>,
    pub(crate) progress: Progress,
    pub(crate) operation: OperationId,
    pub(crate) r#try: Try,
}

/// What a performer has to say.
pub(crate) enum News {
    Started {
        operation: OperationId,
        r#try: Try,
        detail: Value,
    },
    Performed {
        operation: OperationId,
        r#try: Try,
        performed: Performed,
    },
    /// It has no slot, so nobody was asked to perform it.
    Queued {
        operation: OperationId,
        r#try: Try,
        hold: Hold,
    },
}

impl Ticket {
    /// The operation has begun: where it can be found again. Becomes part of the log.
    pub fn started(&self, detail: Value) {
        let (operation, r#try) = (self.operation.clone(), self.r#try);
        // The run may be gone; then nobody wants to know.
        let _unheard = self.news.send(News::Started { operation, r#try, detail });
    }

    /// How far it has come: for whoever watches, and not part of the log. Of what is said faster than anybody is told, only
    /// the latest is kept.
    pub fn progress(&self, progress: Value) {
        self.progress.note(&self.operation, progress);
    }
}

/// The performers that there are.
#[derive(Clone, Default)]
pub struct Performers {
    by_kind: HashMap<OperationKind, Arc<dyn Performer>>,
}

impl Performers {
    /// Those that every engine has: a program's own effects.
    #[must_use]
    pub fn new() -> Self {
        Self::default().with(OperationKind::Effect, OwnEffects)
    }

    /// The same with one more, in the place of whoever performed this kind before.
    #[must_use]
    pub fn with(mut self, kind: OperationKind, performer: impl Performer) -> Self {
        self.by_kind.insert(kind, Arc::new(performer));
        self
    }

    pub(crate) fn of(&self, kind: OperationKind) -> Option<Arc<dyn Performer>> {
        self.by_kind.get(&kind).cloned()
    }
}

/// Performs what programs do by themselves, in this process: nothing of it outlives the process.
struct OwnEffects;

#[async_trait]
impl Performer for OwnEffects {
    async fn perform(&self, order: Order, ticket: Ticket) -> Performed {
        // Whoever began it is dead, and it died with them.
        if order.recovered {
            return Performed::Interrupted;
        }
        let Some(action) = order.action else {
            let message = format!("the workflow brings no code for `{}`", order.operation);
            return Performed::failed(message);
        };
        let result = match action {
            Action::Waits(work) => tokio::select! {
                result = work => Some(result),
                () = ticket.stop.cancelled() => None,
            },
            // A thread can't be stopped; what it did though nobody wanted it any more concerns nobody.
            Action::Blocks(work) => match tokio::task::spawn_blocking(work).await {
                Ok(result) => Some(result).filter(|_| !ticket.stop.is_cancelled()),
                Err(_) => return Performed::Interrupted,
            },
        };
        let Some(result) = result else {
            return Performed::Ended(OperationResult::Cancelled {});
        };
        Performed::Ended(match result {
            Ok(value) => OperationResult::Ok { value },
            Err(failure) => OperationResult::Failed { failure },
        })
    }

    async fn stop(&self, _: RunId, _: &OperationId, _: Try) {}
}

impl Performed {
    /// It failed, and trying again would not help.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        let failure = Failure::new(FailureKind::NonRetryable, message);
        Self::Ended(OperationResult::Failed { failure })
    }
}
