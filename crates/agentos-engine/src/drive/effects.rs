//! What a run has ordered and what is under way for it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use agentos_core::effect::{Effect, Happening};
use agentos_core::entry::{Entry, OperationResult, Parent};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{InboxKey, RunId, Try};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::value::Value;
use agentos_store::backend::BackendError;
use agentos_store::inbox::SendError;
use agentos_store::place::Place;
use agentos_store::run::{CreateError, NewRun};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Drive;
use crate::events::Event;
use crate::library::Invocation;
use crate::panics::caught;
use crate::patience::Patience;
use crate::performer::{News, Order, Performed, Ticket};
use crate::points::Point;
use crate::shared::Shared;

/// Effects that are under way. When this is dropped, they are.
pub(super) struct InFlight {
    sender: mpsc::UnboundedSender<News>,
    /// What was ordered before this process took the run up.
    earlier: HashSet<(OperationId, Try)>,
    stops: HashMap<(OperationId, Try), CancellationToken>,
    working: JoinSet<()>,
}

impl InFlight {
    pub(super) fn new(
        sender: mpsc::UnboundedSender<News>,
        earlier: HashSet<(OperationId, Try)>,
    ) -> Self {
        Self { sender, earlier, stops: HashMap::new(), working: JoinSet::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stops.is_empty()
    }

    /// Stops everything that is under way, and waits for that. Nothing of it is recorded: the run goes on some day, and what
    /// was under way is tried again.
    pub(super) async fn stop_all(&mut self, within: Duration) {
        self.stops.values().for_each(CancellationToken::cancel);
        let working = &mut self.working;
        let stopped = async { while working.join_next().await.is_some() {} };
        // Whoever does not stop in time is left to the next owner.
        let _late = tokio::time::timeout(within, stopped).await;
    }

    fn ticket(&mut self, operation: &OperationId, r#try: Try) -> Ticket {
        let stop = CancellationToken::new();
        self.stops.insert((operation.clone(), r#try), stop.clone());
        Ticket { stop, news: self.sender.clone(), operation: operation.clone(), r#try }
    }
}

impl Drive {
    /// Does in the world what was ordered.
    pub(super) fn perform(&mut self, effect: Effect) {
        // Those that are over leave nothing behind but their place in the set.
        while self.in_flight.working.try_join_next().is_some() {}
        match effect {
            Effect::Perform { operation, r#try, args, child: Some(child), .. } => {
                self.invoke(operation, r#try, args, child);
            }
            Effect::Perform { operation, kind, r#try, args, child: None, started } => {
                self.begin((operation, kind, r#try), args, started);
            }
            Effect::Stop { operation, r#try, child: Some(child) } => {
                self.cancel_child(operation, r#try, child);
            }
            Effect::Stop { operation, r#try, child: None } => self.stop(operation, r#try),
        }
    }

    fn begin(
        &mut self,
        (operation, kind, r#try): (OperationId, OperationKind, Try),
        args: Value,
        started: Option<Value>,
    ) {
        let recovered = self.in_flight.earlier.remove(&(operation.clone(), r#try));
        // What somebody else may have begun is not begun here, so its code is still needed for the next try.
        let actions = self.actions.as_ref().filter(|_| !recovered);
        let action = actions.and_then(|actions| actions.take(&operation));
        let ticket = self.in_flight.ticket(&operation, r#try);
        let news = self.in_flight.sender.clone();
        let Some(performer) = self.shared.performers.of(kind) else {
            let performed = Performed::failed(format!("nobody here performs `{kind}`"));
            let _unheard = news.send(News::Performed { operation, r#try, performed });
            return;
        };
        let run = self.run;
        let order =
            Order { run, operation: operation.clone(), r#try, args, started, recovered, action };
        let shared = Arc::clone(&self.shared);
        self.in_flight.working.spawn_local(async move {
            let performed = caught(performer.perform(order, ticket)).await;
            let performed = performed.unwrap_or_else(|said| {
                Performed::failed(format!("whoever performed it panicked: {said}"))
            });
            if shared.pass(Point::Performed).is_err() {
                return;
            }
            let _unheard = news.send(News::Performed { operation, r#try, performed });
        });
    }

    /// Stops what runs here, or what somebody else may have left.
    fn stop(&mut self, operation: OperationId, r#try: Try) {
        if let Some(stop) = self.in_flight.stops.get(&(operation.clone(), r#try)) {
            stop.cancel();
            return;
        }
        let news = self.in_flight.sender.clone();
        let performer = operation.kind().and_then(|kind| self.shared.performers.of(kind));
        let run = self.run;
        self.in_flight.working.spawn_local(async move {
            if let Some(performer) = performer {
                performer.stop(run, &operation, r#try).await;
            }
            let performed = Performed::Ended(OperationResult::Cancelled {});
            let _unheard = news.send(News::Performed { operation, r#try, performed });
        });
    }

    /// Creates a child run; if it is there already, nothing happens.
    fn invoke(&mut self, operation: OperationId, r#try: Try, args: Value, child: RunId) {
        let (shared, run) = (Arc::clone(&self.shared), self.run);
        let ticket = self.in_flight.ticket(&operation, r#try);
        self.in_flight.working.spawn_local(async move {
            let parent = Parent { run, operation: operation.clone() };
            let Some(created) = create_child(&shared, child, parent, args).await else {
                return;
            };
            if shared.pass(Point::Created).is_err() {
                return;
            }
            match created {
                Ok(()) => {
                    ticket.started(Value::Null);
                    shared.kick.notify_one();
                }
                Err(failure) => {
                    let performed = Performed::Ended(OperationResult::Failed { failure });
                    let _unheard =
                        ticket.news.send(News::Performed { operation, r#try, performed });
                }
            }
        });
    }

    /// Tells a child run to end. Its own end says when it has.
    fn cancel_child(&mut self, operation: OperationId, r#try: Try, child: RunId) {
        let shared = Arc::clone(&self.shared);
        let news = self.in_flight.sender.clone();
        self.in_flight.working.spawn_local(async move {
            let key = InboxKey(format!("cancel:{child}"));
            let message = Message { key, body: MessageBody::Cancel { reason: None } };
            let mut patience = Patience::new();
            loop {
                let now = shared.clock.now();
                match shared.store.send(child, message.clone(), now).await {
                    Err(SendError::NotFound { .. }) => {
                        let performed = Performed::Ended(OperationResult::Cancelled {});
                        let _unheard = news.send(News::Performed { operation, r#try, performed });
                        return;
                    }
                    Err(SendError::Backend(_) | SendError::InboxFull { .. }) => {}
                    // One that has ended has said so.
                    Ok(_) | Err(_) => return shared.ring(child),
                }
                if !patience.pause(&shared).await {
                    return;
                }
            }
        });
    }

    /// What a performer says becomes something that happens to the run.
    pub(super) fn hear(&mut self, news: News) -> Option<Happening> {
        match news {
            News::Started { operation, r#try, detail } => {
                if operation.kind() == Some(OperationKind::Invoke) {
                    // From here on the child is on its own.
                    self.in_flight.stops.remove(&(operation.clone(), r#try));
                }
                Some(Happening::Started { operation, r#try, detail })
            }
            News::Progress { operation, progress } => {
                if self.throttle.admits(&operation, self.shared.clock.now()) {
                    self.shared.events.tell(Event::Progress { run: self.run, operation, progress });
                }
                None
            }
            News::Performed { operation, r#try, performed } => {
                self.in_flight.stops.remove(&(operation.clone(), r#try));
                self.throttle.forget(&operation);
                Some(match performed {
                    Performed::Ended(result) => Happening::Ended { operation, r#try, result },
                    Performed::Interrupted => Happening::Interrupted { operation, r#try },
                })
            }
        }
    }
}

/// Creates a child run, as often as it takes; nothing comes of it if the engine leaves meanwhile.
async fn create_child(
    shared: &Shared,
    child: RunId,
    parent: Parent,
    input: Value,
) -> Option<Result<(), Failure>> {
    let mut patience = Patience::new();
    loop {
        // Whoever created it may have known a workflow that is gone.
        if shared.store.head(child).await.is_ok() {
            return Some(Ok(()));
        }
        match try_create_child(shared, child, parent.clone(), input.clone()).await {
            Ok(()) => return Some(Ok(())),
            Err(NoChild::Failed(failure)) => return Some(Err(failure)),
            Err(NoChild::NotNow(error)) => {
                tracing::warn!(%child, %error, "a child run can't be created");
            }
        }
        if !patience.pause(shared).await {
            return None;
        }
    }
}

/// Why there is no child run.
enum NoChild {
    Failed(Failure),
    NotNow(BackendError),
}

async fn try_create_child(
    shared: &Shared,
    child: RunId,
    parent: Parent,
    input: Value,
) -> Result<(), NoChild> {
    let nameless = || Failure::new(FailureKind::NonRetryable, "the invocation names no workflow");
    let workflow = parent.operation.name().ok_or_else(|| NoChild::Failed(nameless()))?;
    let invocation = Invocation { child, workflow, input, parent };
    let start = shared.library.start_of_child(invocation).map_err(NoChild::Failed)?;
    let first = Entry::RunStarted(start);
    let at = shared.clock.now();
    let new = NewRun { run: child, at, first, history: None, place: Place::default(), owner: None };
    match shared.store.create_run(new).await {
        // Its id comes from the invocation: whoever created it did so for the same one, at another time.
        Ok(_) | Err(CreateError::Conflict { .. }) => Ok(()),
        Err(CreateError::Backend(error)) => Err(NoChild::NotNow(error)),
        Err(error) => {
            Err(NoChild::Failed(Failure::new(FailureKind::Error, format!("no child run: {error}"))))
        }
    }
}
