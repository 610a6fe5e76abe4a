//! Many futures of one type, of which only those are polled for which something has changed.
//!
//! Looking at all of them at each answer costs the square of their number. Each branch is remembered by the answers that it
//! looked for in vain; the next answer belongs to one of them, or to none. That is the same in every execution, because a
//! body is polled for one answer at a time. A branch that waits for nothing of ours is polled every time, and all of them
//! are if the body was polled in between without coming by here.

use std::collections::{BTreeSet, HashMap};
use std::task::Context;

use super::branch::Branch;
use crate::desk::{Occasion, SlotId};
use crate::stage;

/// The branches, in the order of the arguments.
pub(super) struct Many<F: Future> {
    pub(super) branches: Vec<Branch<F>>,
    open: usize,
    /// Which branch looked for which answer.
    waiting: HashMap<SlotId, usize>,
    /// Branches that are polled every time.
    always: BTreeSet<usize>,
    /// When they were last looked at.
    last: Option<Occasion>,
}

impl<F: Future> Many<F> {
    pub(super) fn new<I: IntoFuture<IntoFuture = F, Output = F::Output>>(
        futures: impl IntoIterator<Item = I>,
    ) -> Self {
        let branches: Vec<_> = futures.into_iter().map(Branch::new).collect();
        let open = branches.len();
        let (waiting, always) = (HashMap::new(), BTreeSet::new());
        Self { branches, open, waiting, always, last: None }
    }

    /// Whether all are done.
    pub(super) const fn is_done(&self) -> bool {
        self.open == 0
    }

    /// Lets those go on for which something may have changed. Those that came to their end by that, in their order.
    pub(super) fn advance(&mut self, cx: &mut Context<'_>) -> Vec<usize> {
        let occasion = stage::look(|desk| desk.occasion());
        let last = std::mem::replace(&mut self.last, occasion);
        let polled: Vec<usize> = match (occasion, last) {
            (Some(occasion), Some(last)) if occasion.follows(&last) => {
                let fresh = occasion.fresh.and_then(|slot| self.waiting.remove(&slot));
                let mut polled = self.always.clone();
                polled.extend(fresh);
                polled.into_iter().collect()
            }
            _ => (0..self.branches.len()).collect(),
        };
        let mut done = Vec::new();
        for index in polled {
            if self.advance_one(index, cx) {
                done.push(index);
            }
        }
        if self.open > self.always.len() {
            stage::look(|desk| desk.still_waits());
        }
        done
    }

    /// Lets one go on, and says whether it came to its end by that.
    fn advance_one(&mut self, index: usize, cx: &mut Context<'_>) -> bool {
        let Some(branch) = self.branches.get_mut(index).filter(|branch| branch.is_open()) else {
            return false;
        };
        let mark = stage::look(|desk| desk.mark());
        if branch.advance(cx) {
            self.open -= 1;
            self.always.remove(&index);
            return true;
        }
        let waiting = &mut self.waiting;
        let waits = stage::look(|desk| {
            let (looked, waits) = desk.since(mark?);
            waiting.extend(looked.iter().map(|slot| (*slot, index)));
            Some(waits)
        });
        match waits.flatten() {
            Some(true) => self.always.remove(&index),
            _ => self.always.insert(index),
        };
        false
    }
}
