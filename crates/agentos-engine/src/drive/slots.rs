//! A run at the gate: before anything is begun for it, it has its slots.
//!
//! A run takes its slot with the first thing that is to be done for it, keeps it while anything is done, and gives it back
//! whenever it only waits: for a person, a time, another run, or for a slot of something else. So a parent holds nothing
//! while its child works, and one slot is enough for any depth of runs.
//!
//! A session of an agent that is limited wants its own slot and that of its run at once. While it waits the run may rest, and
//! then has neither.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agentos_core::effect::{Effect, Happening};
use agentos_core::entry::{Hold, HoldKind, Home};
use agentos_core::id::Try;
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_core::value::Value;
use tokio::sync::watch;

use super::Drive;
use crate::performer::News;
use crate::slots::{Claim, Slots, Ticket, Wish};

/// Whoever waits is found again by others after so long, should its process die. More seldom the longer it waits: each
/// time is in the log.
const SOONEST_MS: i64 = 120_000;
const LATEST_MS: i64 = 900_000;

/// When it is tried again if the queue can't be entered.
const AGAIN_MS: i64 = 5_000;

/// What a ticket is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    Run,
    Session(OperationId),
}

/// What a run has of the queue.
pub(super) struct Places {
    /// What the run counts against while it is at work.
    claims: Vec<Claim>,
    /// Each with whether it was noticed to be in.
    tickets: BTreeMap<Purpose, (Ticket, bool)>,
    changes: Option<watch::Receiver<u64>>,
    /// Since when the run waits.
    since: Option<Timestamp>,
}

impl Places {
    pub(super) fn new(claims: Vec<Claim>, slots: Option<&Slots>) -> Self {
        let changes = slots.map(Slots::changes);
        Self { claims, tickets: BTreeMap::new(), changes, since: None }
    }

    /// Whether something waits for its turn.
    pub(super) fn is_waiting(&self) -> bool {
        self.tickets.values().any(|(_, is_in)| !is_in)
    }

    /// Waits until somebody may have been let in.
    pub(super) async fn change(&mut self) {
        let is_waiting = self.is_waiting();
        let told = match self.changes.as_mut().filter(|_| is_waiting) {
            Some(changes) => changes.changed().await.is_ok(),
            None => false,
        };
        if !told {
            std::future::pending::<()>().await;
        }
    }

    /// Who has been let in since the last time.
    fn admitted(&mut self) -> Vec<Purpose> {
        let mut admitted = Vec::new();
        for (purpose, (ticket, is_in)) in &mut self.tickets {
            if !*is_in && ticket.is_in() {
                *is_in = true;
                admitted.push(purpose.clone());
            }
        }
        admitted
    }
}

impl Drive {
    /// Sees to it that something that is to be begun has its slots, or says what it waits for.
    pub(super) async fn admit(&mut self, effect: &Effect) -> Result<(), Hold> {
        let Effect::Perform { operation, kind, r#try, args, child: None, .. } = effect else {
            return Ok(());
        };
        let shared = Arc::clone(&self.shared);
        let Some(slots) = &shared.slots else { return Ok(()) };
        if self.execution.journal().is_ending() {
            // Whoever clears up makes room.
            return Ok(());
        }
        let session = Some(*kind).filter(|kind| *kind == OperationKind::Agent);
        let session = session.and_then(|_| self.session_claim(slots, operation, args));
        let claims = self.places.claims.clone();
        let run = (!claims.is_empty()).then(|| (Purpose::Run, claims.clone()));
        let session = session
            .map(|claim| (Purpose::Session(operation.clone()), [claims, vec![claim]].concat()));
        for (purpose, claims) in [session, run].into_iter().flatten() {
            if let Err(hold) = self.take(slots, purpose.clone(), claims).await {
                if !self.is_begun(operation, *kind, *r#try) {
                    return Err(hold);
                }
                // What outlived its process is seen to its end, with a slot or without.
                self.places.tickets.remove(&purpose);
            }
        }
        self.places.since = None;
        Ok(())
    }

    /// Whether somebody else has begun it, before this process took the run up.
    fn is_begun(&self, operation: &OperationId, kind: OperationKind, r#try: Try) -> bool {
        let performer = self.shared.performers.of(kind);
        self.in_flight.is_earlier(operation, r#try)
            && performer.is_some_and(|performer| performer.is_begun(self.run, operation, r#try))
    }

    async fn take(
        &mut self,
        slots: &Slots,
        purpose: Purpose,
        claims: Vec<Claim>,
    ) -> Result<(), Hold> {
        let why = match self.places.tickets.get_mut(&purpose) {
            Some((ticket, is_in)) => {
                *is_in = *is_in || ticket.is_in();
                if *is_in { Ok(None) } else { slots.why_not(ticket).await }
            }
            None => {
                let name = self.home.run_id.clone();
                let wish = Wish { name, place: place_of(&self.home), within: None, claims };
                slots.enter(wish).await.map(|(ticket, why)| {
                    self.places.tickets.insert(purpose, (ticket, why.is_none()));
                    why
                })
            }
        };
        let now = self.now();
        let since = *self.places.since.get_or_insert(now);
        let (message, wait) = match why {
            Ok(None) => return Ok(()),
            Ok(Some(why)) => {
                (why, (now.0.saturating_sub(since.0) / 4).clamp(SOONEST_MS, LATEST_MS))
            }
            Err(error) => (format!("the slots can't be looked at: {error}"), AGAIN_MS),
        };
        let until = Some(Timestamp(now.0.saturating_add(wait)));
        Err(Hold { kind: HoldKind::Slot, message, subject: None, until, limit: None })
    }

    /// Says that something waits for a slot.
    pub(super) fn hold_back(&self, effect: Effect, hold: Hold) {
        let Effect::Perform { operation, r#try, .. } = effect else { return };
        let _unheard = self.in_flight.sender.send(News::Queued { operation, r#try, hold });
    }

    /// Gives back what a run that stands so does not need, and says whether it waits.
    pub(super) fn rest(&mut self, standing: Standing) {
        let rests = matches!(standing, Standing::Parked { .. }) || standing.is_ended();
        if rests {
            let has_queue = self.execution.journal().held_for(HoldKind::Slot).next().is_some();
            self.places.tickets.retain(|_, (_, is_in)| !*is_in && has_queue);
        }
        if self.places.tickets.is_empty() && rests {
            self.places.since = None;
        }
        self.shared.queue(self.run, rests && self.places.is_waiting());
    }

    /// An operation is over, or does not begin: it needs no slot of its own.
    pub(super) fn give_up_session(&mut self, operation: &OperationId) {
        self.places.tickets.remove(&Purpose::Session(operation.clone()));
    }

    /// Those for whom there is a slot now.
    pub(super) fn admitted(&mut self) -> Vec<Happening> {
        let admitted = self.places.admitted();
        let mut held = self.held_for(HoldKind::Slot);
        held.retain(|operation| {
            let own = Purpose::Session(operation.clone());
            match self.places.tickets.get(&own) {
                Some(_) => admitted.contains(&own),
                None => admitted.contains(&Purpose::Run),
            }
        });
        held.into_iter().map(|operation| Happening::Admitted { operation }).collect()
    }

    /// What waited for a slot when another process drove the run enters the queue again; what waited for room on the disk is
    /// tried again.
    pub(super) fn try_held_again(&self) -> Vec<Happening> {
        let held = [HoldKind::Slot, HoldKind::Disk, HoldKind::Tool]
            .into_iter()
            .flat_map(|kind| self.held_for(kind));
        held.map(|operation| Happening::Admitted { operation }).collect()
    }

    /// The settings have changed: what the run counts against is asked again, and what waited for room on the disk is tried
    /// again, or for a slot under other limits. A ticket keeps its place in the queue.
    pub(super) async fn follow_settings(&mut self) -> Vec<Happening> {
        let shared = Arc::clone(&self.shared);
        let before = self.places.claims.clone();
        if let (Some(slots), Some(start)) = (&shared.slots, self.execution.journal().start()) {
            let own = shared.library.concurrency(start);
            self.places.claims = slots.quotas().of_run(start, own).await;
            let purposes: Vec<Purpose> = self.places.tickets.keys().cloned().collect();
            for purpose in purposes {
                let claims = self.claims_for(slots, &purpose);
                let Some((ticket, _)) = self.places.tickets.get(&purpose) else { continue };
                if let Err(error) = slots.change_claims(ticket, claims).await {
                    tracing::warn!(run = %self.run, %error, "the queue keeps the old limits");
                }
            }
        }
        let again = |held: Vec<OperationId>| {
            held.into_iter().map(|operation| Happening::Admitted { operation })
        };
        let queued = match self.places.claims == before {
            true => self.admitted(),
            // What still waits gets the reason that holds now.
            false => again(self.held_for(HoldKind::Slot)).collect(),
        };
        queued.into_iter().chain(again(self.held_for(HoldKind::Disk))).collect()
    }

    fn claims_for(&self, slots: &Slots, purpose: &Purpose) -> Vec<Claim> {
        let mut claims = self.places.claims.clone();
        if let Purpose::Session(operation) = purpose {
            let mut open = self.execution.journal().open_operations();
            let args = open.find(|(id, ..)| *id == operation).map(|(_, _, args)| args);
            claims.extend(args.and_then(|args| self.session_claim(slots, operation, args)));
        }
        claims
    }

    /// What a session of an agent counts against, besides what its run does.
    fn session_claim(&self, slots: &Slots, operation: &OperationId, args: &Value) -> Option<Claim> {
        slots.quotas().of_session(&self.home, args, format!("{}{operation}", self.run))
    }

    /// What is held for this, in an order that is the same every time.
    fn held_for(&self, kind: HoldKind) -> Vec<OperationId> {
        let mut held: Vec<_> = self.execution.journal().held_for(kind).cloned().collect();
        held.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        held
    }
}

/// What a run's commands know of where they are: see `AGENT_WORKSPACE_ID`.
fn place_of(home: &Home) -> String {
    let is_apart = !home.workspace_path.is_empty() && home.workspace_path != home.project_path;
    let id = Path::new(&home.workspace_path).file_name();
    match id.filter(|_| is_apart) {
        Some(id) => id.to_string_lossy().into_owned(),
        None => home.run_id.clone(),
    }
}
