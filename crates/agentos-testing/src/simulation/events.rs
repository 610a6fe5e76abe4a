//! What happens in a round: everything that happens at the next moment at which anything does.

use agentos_core::effect::Happening;
use agentos_core::entry::Parent;
use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_store::inbox::SendError;
use agentos_store::place::Place;
use agentos_store::run::{Created, NewRun};
use agentos_store::store::Store;
use pollster::block_on;
use serde_json::Value;

use super::driver::Driver;
use super::plan::Sabotage;

impl Driver<'_> {
    /// Waits until something happens, and gathers what happens at that time to each run; `None` if nothing ever will.
    pub(super) fn gather(&mut self) -> Option<Vec<(RunId, Vec<Happening>)>> {
        self.follower.read(&self.store, self.scenario.run());
        let time = self.next_time()?;
        self.world.advance_to(time, &self.store, self.scenario.run());
        let mut runs: Vec<RunId> = self.lives.keys().copied().collect();
        runs.sort_by_key(|run| self.world.place(&run.to_string()));
        let batches = runs.into_iter().map(|run| (run, self.happenings(run)));
        Some(batches.filter(|(_, happenings)| !happenings.is_empty()).collect())
    }

    /// When something happens next: to a run that is driven, or to one that waits to be.
    fn next_time(&self) -> Option<i64> {
        let now = self.world.now();
        let driven = self.lives.iter().filter_map(|(run, life)| {
            if !self.inbox(*run).is_empty() || !self.births(*run).is_empty() {
                return Some(now.0);
            }
            let timer = life.execution.timers().next().map(|(due, _)| due.0);
            let end = self.world.next_end(*run, life.execution.performing());
            timer.into_iter().chain(end).min()
        });
        let others = self.family.iter().filter(|run| !self.lives.contains_key(run));
        let others = others.filter_map(|run| {
            let head =
                block_on(self.store.head(*run)).ok().filter(|head| !head.standing.is_ended())?;
            if self.inbox(*run).is_empty() {
                head.standing.wake_at().map(|at| at.0)
            } else {
                Some(now.0)
            }
        });
        driven.chain(others).chain(self.world.next_mail()).min()
    }

    /// What happens to a run now, in the order in which it happens.
    fn happenings(&mut self, run: RunId) -> Vec<Happening> {
        let now = self.world.now();
        let Some(life) = self.lives.get(&run) else {
            return Vec::new();
        };
        let mut news = self.world.news(run, life.execution.performing());
        let due = life.execution.timers().take_while(|(due, _)| *due <= now);
        news.extend(
            due.map(|(_, timer)| {
                (self.world.place_of_timer(timer), Happening::Timer(timer.clone()))
            }),
        );
        news.extend(self.births(run));
        news.extend(self.inbox(run));
        if self.is(Sabotage::InboxTakenOnRead) {
            self.taken.extend(news.iter().filter_map(|(_, happening)| match happening {
                Happening::Message(message) => Some(message.key.clone()),
                _ => None,
            }));
        }
        news.sort_by_key(|(place, _)| *place);
        let mut happenings: Vec<Happening> =
            news.into_iter().map(|(_, happening)| happening).collect();
        if self.plan.twice && !happenings.is_empty() {
            happenings.extend(happenings.clone());
            happenings.extend(self.world.old_news(run));
        }
        happenings
    }

    fn inbox(&self, run: RunId) -> Vec<(u32, Happening)> {
        let mut received = block_on(self.store.inbox(run, 100)).unwrap_or_default();
        received.retain(|received| !self.taken.contains(&received.message.key));
        let place = |key: &str| self.world.place(&format!("i{key}"));
        received
            .into_iter()
            .map(|received| (place(&received.message.key.0), Happening::Message(received.message)))
            .collect()
    }

    /// Children that exist and whose parents have not been told.
    fn births(&self, run: RunId) -> Vec<(u32, Happening)> {
        let Some(life) = self.lives.get(&run) else {
            return Vec::new();
        };
        let invoked =
            life.execution.performing().filter(|(id, _)| id.kind() == Some(OperationKind::Invoke));
        let untold = invoked.filter(|(id, _)| !self.started.contains(&(run, (*id).clone())));
        untold
            .filter(|(id, r#try)| {
                let child = run.child(id, *r#try);
                let is_latest = self.invoked.get(&(run, (*id).clone())) == Some(&child.farewell());
                is_latest && self.family.contains(&child)
            })
            .map(|(id, r#try)| {
                let started =
                    Happening::Started { operation: id.clone(), r#try, detail: Value::Null };
                (self.world.place(&format!("born:{}", self.world.call(run, id))), started)
            })
            .collect()
    }

    /// Creates a child run; again, if need be.
    pub(super) fn create(&mut self, run: RunId, child: RunId, operation: &OperationId) {
        let workflow =
            operation.name().unwrap_or_else(|| Name::new("nameless").expect("a short name"));
        let parent = Parent { run, operation: operation.clone() };
        let first = self.scenario.child_entry(child, workflow, parent);
        let new = NewRun {
            run: child,
            at: self.world.now(),
            first,
            history: None,
            place: Place::default(),
            owner: None,
        };
        match block_on(self.store.create_run(new)) {
            Ok(Created::New | Created::Claimed(_)) => {
                let id = self.world.call(run, operation);
                self.world.count_start(&id);
                self.family.insert(child);
            }
            Ok(Created::Existed) => {}
            Err(error) => self.world.violations.push(format!("the child was not created: {error}")),
        }
    }

    /// Wants a child run to end; whether there is one.
    pub(super) fn cancel(&mut self, child: RunId) -> bool {
        let key = InboxKey(format!("cancel:{child}"));
        let message = Message { key, body: MessageBody::Cancel { reason: None } };
        !matches!(
            block_on(self.store.send(child, message, self.world.now())),
            Err(SendError::NotFound { .. })
        )
    }
}
