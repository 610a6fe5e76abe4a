//! What program code says without waiting for an answer: state, comments, log lines.
//!
//! State writes and comments are entries; log lines are not (they can be made again), but have numbers.

use super::AdvanceError;
use super::cursor::Cursor;
use super::diverge::Divergence;
use super::scope::Counted;
use crate::bounds;
use crate::entry::{CommentOn, Entry};
use crate::failure::{Failure, FailureKind};
use crate::id::Seq;
use crate::journal::Note;
use crate::name::Name;
use crate::operation::OperationKind;
use crate::path::OperationId;
use crate::program::ScopeId;
use crate::turn::{LineStep, LogLevel, LogLine};
use crate::value::{self, Value};

impl Cursor {
    pub(crate) fn write_state(
        &mut self,
        scope: ScopeId,
        key: Name,
        value: Option<Value>,
    ) -> Result<(), Failure> {
        if let Some(value) = &value {
            value::check(value)
                .map_err(|error| Failure::new(FailureKind::Limit, error.to_string()))?;
        }
        let operation = self.note_identity(scope, OperationKind::Set, &key)?;
        self.put_state(operation, key, value);
        Ok(())
    }

    pub(super) fn put_state(&mut self, operation: OperationId, key: Name, value: Option<Value>) {
        self.note_fault(|cursor| {
            let note = Note::State(value.clone());
            cursor.note(operation, note, |operation| Entry::StateWritten {
                operation,
                value: value.clone(),
            })
        });
        match value {
            Some(value) => self.state.insert(key, value),
            None => self.state.remove(&key),
        };
    }

    pub(crate) fn add_comment(
        &mut self,
        scope: ScopeId,
        on: CommentOn,
        message: String,
        meta: Value,
    ) -> Result<(), Failure> {
        let limit = |error: value::ValueError| Failure::new(FailureKind::Limit, error.to_string());
        let message = Value::String(message);
        value::check(&message).and_then(|()| value::check(&meta)).map_err(limit)?;
        let Value::String(message) = message else { return Ok(()) };
        let name = Name::new("comment")
            .map_err(|error| Failure::new(FailureKind::Limit, error.to_string()))?;
        let operation = self.note_identity(scope, OperationKind::Comment, &name)?;
        self.put_comment(operation, on, message, meta);
        Ok(())
    }

    pub(super) fn put_comment(
        &mut self,
        operation: OperationId,
        on: CommentOn,
        message: String,
        meta: Value,
    ) {
        self.note_fault(|cursor| {
            let note = Note::Comment { on, message: message.clone(), meta: meta.clone() };
            cursor.note(operation, note, |operation| Entry::CommentAdded {
                operation,
                on,
                message,
                meta,
            })
        });
    }

    fn note_identity(
        &mut self,
        scope: ScopeId,
        kind: OperationKind,
        name: &Name,
    ) -> Result<OperationId, Failure> {
        self.drain_requests += 1;
        let asking = &mut self.scopes[scope.0];
        if self.drain_requests > bounds::DRAIN_REQUESTS {
            return Err(Failure::new(FailureKind::Limit, "too many calls without waiting"));
        }
        if asking.ended {
            return Err(Failure::new(FailureKind::Closed, "this part of the run is over"));
        }
        let occurrence = asking.count(Counted::Operation(kind, name.clone()));
        Ok(asking.path.operation(kind, name, occurrence))
    }

    fn note(
        &mut self,
        operation: OperationId,
        note: Note,
        entry: impl FnOnce(OperationId) -> Entry,
    ) -> Result<(), AdvanceError> {
        self.noted += 1;
        match self.journal.recorded_note(&operation) {
            Some(recorded) if *recorded == note => Ok(()),
            Some(recorded) => Err(Divergence::changed(operation, recorded, &note).into()),
            None => self.append(entry(operation)).map(|_| ()),
        }
    }

    pub(crate) fn log(
        &mut self,
        scope: ScopeId,
        level: LogLevel,
        message: String,
        is_warning: bool,
    ) {
        self.drain_requests += 1;
        self.lines_here += 1;
        let ordinal = line_number(self.delivered, self.lines_here);
        let news = ordinal > self.lines_written && !self.journal.is_history(self.delivered);
        if news && self.drain_requests <= bounds::DRAIN_REQUESTS {
            let scope = self.scopes[scope.0].path.clone();
            let around = self.journal.step_around(&scope);
            let step = around.map(|(path, number)| LineStep { path, number });
            let at = self.now;
            self.lines.push(LogLine { ordinal, at, scope, step, level, message, is_warning });
        }
    }
}

/// The number of the nth line under one delivery. Deliveries come in the order of their positions, so later lines have
/// larger numbers.
const fn line_number(delivered: Seq, nth: u64) -> u64 {
    delivered.0.saturating_mul(bounds::DELIVERY_LINES).saturating_add(nth)
}
