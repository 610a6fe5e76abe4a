//! What a run has ordered and what is under way for it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use agentos_core::effect::{Effect, Happening};
use agentos_core::entry::{Hold, OperationResult};
use agentos_core::id::Try;
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::value::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Drive;
use crate::events::Event;
use crate::panics::caught;
use crate::performer::{News, Order, Performed, Ticket};
use crate::points::Point;
use crate::progress::Progress;

/// Effects that are under way. When this is dropped, they are.
pub(super) struct InFlight {
    pub(super) sender: mpsc::UnboundedSender<News>,
    /// What was ordered before this process took the run up.
    earlier: HashSet<(OperationId, Try)>,
    stops: HashMap<(OperationId, Try), CancellationToken>,
    pub(super) working: JoinSet<()>,
    pub(super) progress: Progress,
}

impl InFlight {
    pub(super) fn new(
        sender: mpsc::UnboundedSender<News>,
        earlier: HashSet<(OperationId, Try)>,
    ) -> Self {
        let (stops, working, progress) = (HashMap::new(), JoinSet::new(), Progress::default());
        Self { sender, earlier, stops, working, progress }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stops.is_empty()
    }

    /// Whether this try was ordered before this process took the run up.
    pub(super) fn is_earlier(&self, operation: &OperationId, r#try: Try) -> bool {
        self.earlier.contains(&(operation.clone(), r#try))
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

    pub(super) fn ticket(&mut self, operation: &OperationId, r#try: Try) -> Ticket {
        let stop = CancellationToken::new();
        self.stops.insert((operation.clone(), r#try), stop.clone());
        let (news, progress) = (self.sender.clone(), self.progress.clone());
        Ticket { stop, news, progress, operation: operation.clone(), r#try }
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
            Effect::Perform { operation, kind, r#try, args, child: None, started, granted } => {
                self.begin((operation, kind, r#try), args, (started, granted));
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
        (started, granted): (Option<Value>, Option<String>),
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
        let order = Order {
            run,
            home: self.home.clone(),
            step: self.execution.journal().step_of(&operation),
            operation: operation.clone(),
            r#try,
            args,
            started,
            granted,
            recovered,
            action,
        };
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

    /// What a performer says becomes something that happens to the run.
    pub(super) fn hear(&mut self, news: News) -> Happening {
        match news {
            News::Started { operation, r#try, detail } => {
                if operation.kind() == Some(OperationKind::Invoke) {
                    // From here on the child is on its own.
                    self.in_flight.stops.remove(&(operation.clone(), r#try));
                }
                Happening::Started { operation, r#try, detail }
            }
            News::Performed { operation, r#try, performed } => {
                self.in_flight.stops.remove(&(operation.clone(), r#try));
                if let Some(progress) = self.in_flight.progress.take_last(&operation) {
                    self.tell_progress(operation.clone(), progress);
                }
                if performed != Performed::Interrupted {
                    self.give_up_session(&operation);
                }
                match performed {
                    Performed::Ended(result) => Happening::Ended { operation, r#try, result },
                    Performed::Interrupted => Happening::Interrupted { operation, r#try },
                    Performed::Held(hold) => {
                        let reading = self.shared.clock.read();
                        let until = hold.until.map(|at| self.clock.to_run_time(reading, at));
                        Happening::Held { operation, r#try, hold: Hold { until, ..hold } }
                    }
                }
            }
            News::Queued { operation, r#try, hold } => Happening::Held { operation, r#try, hold },
        }
    }

    /// Tells how far operations have come since the last time.
    pub(super) fn tell_all_progress(&mut self) {
        self.told_at = Some(Instant::now());
        for (operation, progress) in self.in_flight.progress.take() {
            self.tell_progress(operation, progress);
        }
    }

    fn tell_progress(&self, operation: OperationId, progress: Value) {
        self.shared.events.tell(Event::Progress { run: self.run, operation, progress });
    }
}
