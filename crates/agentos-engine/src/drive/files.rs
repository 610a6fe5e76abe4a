//! The files of a run, seen to before anything is done with them: kept, or taken back.

use agentos_core::codec::Chunk;
use agentos_core::effect::Effect;
use agentos_core::entry::Record;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::Seq;
use agentos_core::path::OperationId;
use agentos_core::standing::Standing;
use agentos_store::log::load_whole_log;

use super::Drive;
use crate::performer::{News, Performed};
use crate::shell::Refusal;
use crate::travel::{Due, History, Moment, Rollback, attempt_around, refused};

impl Drive {
    /// Takes in what a turn has decided. If that is the run's end, or it begins to wait, the files are kept as they are: what
    /// keeps them alive may be gone when it is known to others, or when it goes on.
    pub(super) async fn note_files(&mut self, chunk: &Chunk, standing: Standing) {
        let first = chunk.first.0;
        for (seq, entry) in (first..).map(Seq).zip(&chunk.entries) {
            self.track.note(seq, entry);
        }
        if !self.shared.snapshots.is_there() {
            return;
        }
        let is_waiting = matches!(standing, Standing::Parked { .. });
        if standing.is_ended() && self.track.has_touched() || is_waiting && self.track.rests() {
            let position = Seq(first + (chunk.entries.len() as u64).saturating_sub(1));
            let (run, home) = (self.run, self.home.clone());
            let moment =
                Moment { run, home, before: None, is_waiting, can_be_held: false, position };
            // There is nothing that could wait for it.
            if let Err(hold) = self.shared.snapshots.keep(moment).await {
                tracing::warn!(%run, why = hold.message, "the run's files are not kept");
            }
        }
    }

    /// What has to be done about files before this is performed.
    pub(super) async fn see_to_files(&mut self, effect: &Effect) -> Result<(), Refusal> {
        let Effect::Perform { operation, child, .. } = effect else { return Ok(()) };
        let can_be_held = child.is_none();
        let mut has_returned = false;
        for due in self.track.dues(operation) {
            has_returned |= self.take_back(operation, due).await?;
        }
        let Some(mark) = self.track.mark(operation).filter(|mark| mark.keeps) else {
            return Ok(());
        };
        if !has_returned {
            let step = self.execution.journal().step_of(operation).map(|(number, _)| number);
            let before = step.map(|number| (number, attempt_around(&operation.scope())));
            let home = self.home.clone();
            let (run, position, is_waiting) = (self.run, mark.position, false);
            let moment = Moment { run, home, before, is_waiting, can_be_held, position };
            self.shared.snapshots.keep(moment).await.map_err(Refusal::Held)?;
        }
        self.track.kept(operation);
        Ok(())
    }

    /// Takes the files back to the start of a step; whether there was anything to do.
    async fn take_back(&mut self, operation: &OperationId, due: Due) -> Result<bool, Refusal> {
        let name = due.step.name().map(|name| name.to_string()).unwrap_or_default();
        let position = self.track.mark(operation).map_or(due.until, |mark| mark.position);
        let before = Some((due.number, due.attempt));
        let (run, home, is_waiting, can_be_held) = (self.run, self.home.clone(), false, true);
        let moment = Moment { run, home, before, is_waiting, can_be_held, position };
        let (since, until) = (due.since, due.until);
        let rollback = Rollback { moment, step: name.clone(), since, until };
        let is_due = match self.shared.snapshots.is_done(&rollback).await? {
            true => false,
            false => self.is_due(&due, &name).await?,
        };
        if is_due {
            self.shared.snapshots.roll_back(rollback).await?;
        }
        self.track.settle(due.scope);
        Ok(is_due)
    }

    /// Whether earlier attempts at a step have changed files; if so, nobody else may have.
    async fn is_due(&self, due: &Due, name: &str) -> Result<bool, Failure> {
        let log = load_whole_log(&*self.shared.store, self.run).await.map_err(|error| {
            Failure::new(FailureKind::Error, format!("the run's log can't be read: {error}"))
        })?;
        let log: Vec<Record> = log.into_iter().flat_map(Chunk::into_records).collect();
        let history = History::of(&log);
        if !history.has_worked(&due.step, due.until) {
            return Ok(false);
        }
        match history.beside(&due.step, due.since) {
            None => Ok(true),
            Some(other) => {
                let other = other.step_name();
                Err(refused(name, &format!("`{other}` worked on them at the same time")))
            }
        }
    }

    /// Says that something was not done.
    pub(super) fn refuse(&self, effect: Effect, refusal: Refusal) {
        let Effect::Perform { operation, r#try, child, .. } = effect else { return };
        let refusal = match refusal {
            // A child run can't be held: its invocation fails, and the step around it may try again.
            Refusal::Held(hold) if child.is_some() => {
                Failure::new(FailureKind::Error, hold.message).into()
            }
            refusal => refusal,
        };
        let performed = Performed::from(refusal);
        let _unheard = self.in_flight.sender.send(News::Performed { operation, r#try, performed });
    }
}
