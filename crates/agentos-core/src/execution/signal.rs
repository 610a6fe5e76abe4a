//! Signals meet waits.
//!
//! When its arrival is delivered, a signal answers *every* open wait of its name. Were it only the oldest, the wait that
//! an earlier `race([waitFor, sleep])` left behind would swallow what the next round is waiting for. The waits are
//! answered one by one, the program running in between, before anything else is delivered.

use std::collections::VecDeque;

use super::AdvanceError;
use super::cursor::{Cursor, Kept};
use super::scope::Accepts;
use crate::bounds;
use crate::entry::Entry;
use crate::failure::{Failure, FailureKind};
use crate::id::InboxKey;
use crate::name::Name;
use crate::operation::OperationKind;
use crate::path::OperationId;
use crate::program::Ticket;

impl Cursor {
    /// A new wait: perhaps a kept signal has been waiting for it.
    pub(super) fn begin_wait(
        &mut self,
        ticket: Ticket,
        id: &OperationId,
        name: Name,
    ) -> Result<(), AdvanceError> {
        let scope = self.asked[ticket.0].scope;
        let hears = self.accepts(scope) == Accepts::Work;
        // A signal that is already on its way to a wait of this name will meet this one too. It is the oldest.
        let oldest = self.kept.get_mut(&name).and_then(|kept| kept.front_mut());
        if let Some(kept) = oldest.filter(|kept| hears && !kept.offered) {
            kept.offered = true;
            let key = kept.key.clone();
            if self.journal.operation(id).is_some_and(|record| record.offered.is_none()) {
                self.append(Entry::SignalOffered { key, operation: id.clone() })?;
            }
        }
        self.waits.entry(name).or_default().insert(ticket);
        Ok(())
    }

    /// A signal's arrival is delivered.
    pub(super) fn signal_arrives(&mut self, key: InboxKey) -> Result<(), AdvanceError> {
        let Some((name, to)) =
            self.journal.signal(&key).map(|signal| (signal.name.clone(), signal.to.clone()))
        else {
            return Ok(());
        };
        if let Some(question) = to {
            if Self::kind_of(&question) != OperationKind::Approve {
                return self.decide_on_held(&key, &question);
            }
            self.decide(key, &question);
            return Ok(());
        }
        if self.answer_waits(&key, &name) {
            return Ok(());
        }
        self.kept.entry(name).or_default().push_back(Kept { key, offered: false });
        self.kept_signals += 1;
        if self.kept_signals > bounds::KEPT_SIGNALS {
            let message =
                format!("more than {} signals came in that nobody waits for", bounds::KEPT_SIGNALS);
            self.fail_run(Failure::new(FailureKind::Limit, message))?;
        }
        Ok(())
    }

    /// A decision answers its question, if that is still open. It is never kept: whoever decides has seen one question,
    /// and not the next.
    fn decide(&mut self, key: InboxKey, question: &OperationId) {
        let ticket = self.operations.get(question).copied();
        let open = ticket.filter(|ticket| self.hears(*ticket));
        self.answering.extend(open.map(|ticket| (key, ticket)));
    }

    /// A kept signal reaches the wait it was offered to, and every other one that has come since.
    pub(super) fn signal_offered(&mut self, key: &InboxKey) {
        let Some(name) = self.journal.signal(key).map(|signal| signal.name.clone()) else {
            return;
        };
        let is_oldest = |kept: &VecDeque<Kept>| kept.front().is_some_and(|kept| kept.key == *key);
        if !self.kept.get(&name).is_some_and(is_oldest) {
            return;
        }
        let answered = self.answer_waits(key, &name);
        let kept = self.kept.entry(name).or_default();
        if answered {
            kept.pop_front();
            self.kept_signals -= 1;
        } else if let Some(oldest) = kept.front_mut() {
            oldest.offered = false;
        }
    }

    /// Queues the answer for every open wait of the name; whether there was one.
    fn answer_waits(&mut self, key: &InboxKey, name: &Name) -> bool {
        let open: Vec<Ticket> = self
            .waits
            .get(name)
            .into_iter()
            .flatten()
            .copied()
            .filter(|ticket| self.hears(*ticket))
            .collect();
        self.answering.extend(open.iter().map(|ticket| (key.clone(), *ticket)));
        !open.is_empty()
    }

    /// Whether a wait is open and its scope too. A wait in a closing scope consumes nothing.
    pub(super) fn hears(&self, ticket: Ticket) -> bool {
        let asked = &self.asked[ticket.0];
        !asked.settled
            && self.accepts(asked.scope) == Accepts::Work
            && !self.scopes[asked.scope].is_closing()
    }
}
