//! Commits and effects: durable first, visible after.

use agentos_core::codec::Chunk;
use agentos_core::effect::Effect;
use agentos_core::entry::Entry;
use agentos_core::id::{Epoch, RunId, Try};
use agentos_store::commit::{CommitError, TurnCommit};
use agentos_store::simulated::Verb;
use agentos_store::store::Store;
use pollster::block_on;

use super::driver::Driver;
use super::plan::{Fault, Point, Sabotage};
use super::strike::{Mind, Struck, store_fault};

impl Driver<'_> {
    pub(super) fn commit(&mut self, commit: TurnCommit, effects: &[Effect]) -> Result<(), Struck> {
        match self.pass_commit()? {
            Some(Fault::Hang(points)) => {
                let (run, epoch, effects) = (commit.run, commit.epoch, effects.to_vec());
                return Err(self.sleep(points, Mind { run, epoch, commit: Some(commit), effects }));
            }
            Some(fault) => self.store.fail_next(Verb::Commit, store_fault(fault)),
            None => {}
        }
        loop {
            match block_on(self.store.commit(vec![commit.clone()])).pop() {
                Some(Ok(_)) => {
                    self.remember(commit.run, &commit.chunk);
                    return Ok(());
                }
                Some(Err(CommitError::Backend(_))) => {}
                Some(Err(CommitError::Unknown { .. }))
                    if self.is(Sabotage::UnknownTakenForDone) =>
                {
                    return Ok(());
                }
                Some(Err(CommitError::Unknown { .. })) | None => return Err(Struck::Reload),
                Some(Err(error)) => {
                    self.world.violations.push(format!("the owner's commit failed: {error}"));
                    return Err(Struck::Reload);
                }
            }
        }
    }

    pub(super) fn remember(&mut self, run: RunId, chunk: &Chunk) {
        for entry in &chunk.entries {
            match entry {
                Entry::SourceSwitched { .. } => self.invoked.retain(|(of, _), _| *of != run),
                Entry::OperationOrdered { operation, r#try, child, .. } => {
                    let operation = (run, operation.clone());
                    self.ordered.insert((operation.clone(), *r#try));
                    if *r#try > Try::FIRST {
                        // Another source left an earlier try behind, and begins again.
                        self.finished.remove(&operation);
                        self.started.remove(&operation);
                    }
                    self.invoked.extend(child.map(|child| (operation, child.farewell())));
                }
                Entry::OperationRetried { operation, r#try } => {
                    self.ordered.insert(((run, operation.clone()), *r#try));
                }
                Entry::OperationEnded { operation, .. } => {
                    self.finished.insert((run, operation.clone()));
                }
                Entry::ChildEnded { key, operation, .. } => {
                    let operation = (run, operation.clone());
                    if self.invoked.get(&operation) == Some(key) {
                        self.finished.insert(operation);
                    }
                }
                Entry::OperationStarted { operation, .. } => {
                    self.started.insert((run, operation.clone()));
                }
                _ => {}
            }
        }
    }

    pub(super) fn perform(
        &mut self,
        run: RunId,
        epoch: Epoch,
        effects: Vec<Effect>,
    ) -> Result<(), Struck> {
        for (index, effect) in effects.iter().enumerate() {
            if let Some(Fault::Hang(points)) = self.plan.at(self.points) {
                self.points += 1;
                let effects = effects[index..].to_vec();
                return Err(self.sleep(points, Mind { run, epoch, commit: None, effects }));
            }
            self.pass(Point::Effect)?;
            self.perform_one(run, epoch, effect);
            self.pass(Point::Performed)?;
        }
        Ok(())
    }

    /// Every effect checks again that its owner still is one.
    pub(super) fn perform_one(&mut self, run: RunId, epoch: Epoch, effect: &Effect) {
        let owns = block_on(self.store.head(run)).is_ok_and(|head| head.epoch == epoch);
        if !owns && !self.is(Sabotage::EffectsUnfenced) {
            return;
        }
        if self.finished.contains(&(run, effect.operation().clone())) {
            let operation = self.world.call(run, effect.operation());
            self.world.violations.push(format!("performed after its end: {operation}"));
        }
        if let Effect::Perform { operation, r#try, .. } = effect
            && !self.ordered.contains(&((run, operation.clone()), *r#try))
        {
            let operation = self.world.call(run, operation);
            self.world.violations.push(format!("performed before it was ordered: {operation}"));
        }
        match effect {
            Effect::Perform { operation, child: Some(child), .. } => {
                self.create(run, *child, operation)
            }
            Effect::Perform { operation, r#try, .. } => self.world.start(run, operation, *r#try),
            Effect::Stop { operation, r#try, child: Some(child) } => {
                if !self.cancel(*child) {
                    self.world.never_began(run, operation, *r#try);
                }
            }
            Effect::Stop { operation, r#try, child: None } => {
                self.world.stop(run, operation, *r#try)
            }
        }
    }
}
