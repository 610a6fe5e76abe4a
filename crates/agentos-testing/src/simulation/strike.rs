//! Where the plan strikes, and what becomes of those that were struck.

use agentos_core::effect::Effect;
use agentos_core::id::{Epoch, RunId};
use agentos_store::commit::TurnCommit;
use agentos_store::simulated;
use agentos_store::store::Store;
use pollster::block_on;

use super::driver::Driver;
use super::plan::{Fault, Point};
use super::report::Ending;

/// Why a process ended early, or a run has to be loaded again.
pub(super) enum Struck {
    Dead(i64),
    PowerCut(i64),
    Switch,
    Hung,
    Reload,
    Over(Ending),
}

/// What an owner had on its mind when it hung.
pub(super) struct Mind {
    pub(super) run: RunId,
    pub(super) epoch: Epoch,
    pub(super) commit: Option<TurnCommit>,
    pub(super) effects: Vec<Effect>,
}

impl Driver<'_> {
    /// Passes a point; the plan may strike there.
    pub(super) fn pass(&mut self, _: Point) -> Result<(), Struck> {
        match self.next_fault() {
            None => Ok(()),
            Some(Fault::CrashFor(ms)) => Err(Struck::Dead(ms)),
            Some(Fault::PowerCut(ms)) => Err(Struck::PowerCut(ms)),
            Some(Fault::Switch) => Err(Struck::Switch),
            Some(Fault::ClockSetBack(ms)) => {
                self.world.set_clock_back(ms);
                Ok(())
            }
            Some(_) => Err(Struck::Dead(0)),
        }
    }

    /// Passes the point before a commit, where more can go wrong.
    pub(super) fn pass_commit(&mut self) -> Result<Option<Fault>, Struck> {
        match self.plan.at(self.points) {
            Some(fault) if fault.needs_commit() || matches!(fault, Fault::Hang(_)) => {
                self.next_fault();
                Ok(Some(fault))
            }
            _ => self.pass(Point::Commit).map(|()| None),
        }
    }

    pub(super) fn next_fault(&mut self) -> Option<Fault> {
        let fault = self.plan.at(self.points);
        self.points += 1;
        self.wake_sleepers();
        fault
    }

    /// This owner hangs, with something on its mind.
    pub(super) fn sleep(&mut self, points: u64, mind: Mind) -> Struck {
        self.sleepers.push((self.points + points, mind));
        Struck::Hung
    }

    /// Owners that hung go on with what they had in mind, unaware that the run has another owner now.
    pub(super) fn wake_sleepers(&mut self) {
        for (wakes_at, mind) in std::mem::take(&mut self.sleepers) {
            let head = block_on(self.store.head(mind.run));
            // As long as nobody has taken over, it would notice nothing.
            if head.is_ok_and(|head| head.epoch == mind.epoch) || wakes_at > self.points {
                self.sleepers.push((wakes_at, mind));
                continue;
            }
            if let Some(commit) = mind.commit
                && block_on(self.store.commit(vec![commit])).iter().any(Result::is_ok)
            {
                self.world.violations.push("a stale owner's commit was taken".into());
            }
            for effect in &mind.effects {
                self.perform_one(mind.run, mind.epoch, effect);
            }
        }
    }
}

/// What the store is to do wrong.
pub(super) fn store_fault(fault: Fault) -> simulated::Fault {
    match fault {
        Fault::LostAcknowledgement => simulated::Fault::LostAcknowledgement,
        Fault::LateCommit(operations) => simulated::Fault::AppliedLater { operations },
        Fault::Full => simulated::Fault::Full,
        _ => simulated::Fault::NotApplied,
    }
}
