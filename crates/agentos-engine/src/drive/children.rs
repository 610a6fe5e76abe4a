//! Child runs: created for an invocation, told to end with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentos_core::bounds;
use agentos_core::entry::{Entry, Home, OperationResult, Parent, RunStarted};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{InboxKey, RunId, Try};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::invocation::Invoked;
use agentos_core::path::OperationId;
use agentos_core::short_name::short_name;
use agentos_core::value::Value;
use agentos_store::backend::BackendError;
use agentos_store::inbox::SendError;
use agentos_store::place::Place;
use agentos_store::run::{CreateError, NewRun};

use super::Drive;
use crate::backoff::Backoff;
use crate::homes::OwnHome;
use crate::library::Invocation;
use crate::performer::{News, Performed};
use crate::points::Point;
use crate::shared::Shared;

/// How many readable ids are tried for a child run.
const NAMES: u64 = 1_000;

impl Drive {
    /// Creates a child run; if it is there already, nothing happens.
    pub(super) fn invoke(&mut self, operation: OperationId, r#try: Try, args: Value, child: RunId) {
        let (shared, run) = (Arc::clone(&self.shared), self.run);
        let home = self.execution.journal().start().map(|start| start.home.clone());
        let home = home.unwrap_or_default();
        let ticket = self.in_flight.ticket(&operation, r#try);
        self.in_flight.working.spawn_local(async move {
            let parent = Parent { run, operation: operation.clone() };
            let invoked = Invoked::of_args(args);
            let new = NewChild { child, parent, home: *home, invoked };
            let Some(created) = new.create(&shared).await else {
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
    pub(super) fn cancel_child(&mut self, operation: OperationId, r#try: Try, child: RunId) {
        let shared = Arc::clone(&self.shared);
        let news = self.in_flight.sender.clone();
        self.in_flight.working.spawn_local(async move {
            let key = InboxKey(format!("cancel:{child}"));
            let message = Message { key, body: MessageBody::Cancel { reason: None } };
            let mut backoff = Backoff::new();
            loop {
                let now = shared.clock.now();
                match shared.store.send(child, message.clone(), now).await {
                    Err(SendError::NotFound { .. }) => {
                        let performed = Performed::Ended(OperationResult::Cancelled {});
                        let _unheard = news.send(News::Performed { operation, r#try, performed });
                        return;
                    }
                    // One that is being moved may stay after all.
                    Err(
                        SendError::Backend(_)
                        | SendError::InboxFull { .. }
                        | SendError::Elsewhere { .. },
                    ) => {}
                    // One that has ended has said so.
                    Ok(_) | Err(SendError::Ended { .. } | SendError::Message { .. }) => {
                        return shared.ring(child);
                    }
                }
                if !backoff.pause(&shared).await {
                    return;
                }
            }
        });
    }
}

/// A child run to be created.
struct NewChild {
    child: RunId,
    parent: Parent,
    /// Where the parent works.
    home: Home,
    invoked: Invoked,
}

impl NewChild {
    /// Creates it, as often as it takes; nothing comes of it if the engine leaves meanwhile.
    async fn create(self, shared: &Shared) -> Option<Result<(), Failure>> {
        let mut backoff = Backoff::new();
        loop {
            // Whoever created it may have known a workflow that is gone.
            if shared.store.head(self.child).await.is_ok() {
                return Some(Ok(()));
            }
            match self.try_create(shared).await {
                Ok(()) => return Some(Ok(())),
                Err(NoChild::Failed(failure)) => return Some(Err(failure)),
                Err(NoChild::NotNow(error)) => {
                    tracing::warn!(child = %self.child, %error, "a child run can't be created");
                }
            }
            if !backoff.pause(shared).await {
                return None;
            }
        }
    }

    async fn try_create(&self, shared: &Shared) -> Result<(), NoChild> {
        let workflow = self.parent.operation.name().ok_or_else(|| {
            let message = "the invocation names no workflow";
            NoChild::Failed(Failure::new(FailureKind::NonRetryable, message))
        })?;
        let depth = self.home.depth.saturating_add(1);
        if depth > bounds::INVOKE_DEPTH {
            let most = bounds::INVOKE_DEPTH;
            let message = format!("runs may invoke one another {most} deep and no deeper");
            return Err(NoChild::Failed(Failure::new(FailureKind::Limit, message)));
        }
        for choice in 0..NAMES {
            let run_id = short_name(self.child, workflow.as_str(), choice);
            let invocation = Invocation {
                child: self.child,
                workflow: workflow.clone(),
                input: self.invoked.input.clone(),
                parent: self.parent.clone(),
                // Where it works is set up already, and its input is its own.
                home: Home {
                    run_id,
                    depth,
                    setup: String::new(),
                    given_files: BTreeMap::new(),
                    ..self.home.clone()
                },
            };
            // Whatever is wrong with it is said before anything is made for it.
            let start = shared.library.start_of_child(invocation).map_err(NoChild::Failed)?;
            shared.library.keep_for_child(&start).await.map_err(NoChild::NotNow)?;
            let own = self.own_home(shared, &start).await?;
            let start = match &own {
                Some(own) => RunStarted { home: own.home.clone().into(), ..start },
                None => start,
            };
            let place = Place {
                workspace_id: own.as_ref().map(|own| own.workspace_id.clone()),
                branch_name: own.as_ref().and_then(|own| own.branch.clone()),
                ..shared.library.place_of_child(&start)
            };
            let (first, at) = (Entry::RunStarted(start), shared.clock.now());
            let new = NewRun { run: self.child, at, first, history: None, place, owner: None };
            return match shared.store.create_run(new).await {
                Err(CreateError::NameTaken { .. }) => continue,
                // Its id comes from the invocation: whoever created it did so for the same one, at another time.
                Ok(_) | Err(CreateError::Conflict { .. }) => {
                    if let Some(own) = own {
                        shared.homes.begun(self.child, own).await;
                    }
                    Ok(())
                }
                Err(CreateError::Backend(error)) => Err(NoChild::NotNow(error)),
                Err(error) => Err(no_child(&error)),
            };
        }
        Err(no_child(&format_args!("no name is left for a run of `{workflow}`")))
    }

    /// The workspace that it asks for, if it asks for its own.
    async fn own_home(
        &self,
        shared: &Shared,
        start: &RunStarted,
    ) -> Result<Option<OwnHome>, NoChild> {
        if !self.invoked.has_own_workspace {
            return Ok(None);
        }
        let own = shared.homes.own(self.child, (*start.home).clone()).await;
        own.map(Some).map_err(NoChild::Failed)
    }
}

/// Why there is no child run.
enum NoChild {
    Failed(Failure),
    NotNow(BackendError),
}

fn no_child(why: &dyn std::fmt::Display) -> NoChild {
    NoChild::Failed(Failure::new(FailureKind::Error, format!("no child run: {why}")))
}
