//! The recorded life of a scope: alive, closing, over.

use super::illegal::Illegal;
use super::{Deliverable, Journal};
use crate::entry::{CloseCause, ScopeClosing};
use crate::id::Seq;
use crate::path::ScopePath;
use crate::time::Timestamp;

/// A scope as the log knows it.
#[derive(Debug, Default)]
pub(crate) struct ScopeRecord {
    /// Operations and steps without a recorded answer.
    pub(super) open: u32,
    pub(super) over: bool,
    closings: Vec<ScopeClosing>,
    pub(crate) grace_expired: Option<Seq>,
    pub(crate) timed_out: Option<Seq>,
}

impl ScopeRecord {
    /// The closing for this cause, if it is recorded.
    pub(crate) fn closing(&self, cause: CloseCause) -> Option<&ScopeClosing> {
        self.closings.iter().find(|closing| closing.cause == cause)
    }
}

impl Journal {
    /// The scope, if it is alive.
    pub(super) fn live_scope(&self, path: &ScopePath) -> Result<&ScopeRecord, Illegal> {
        let alive = self.scopes.get(path).filter(|scope| !scope.over);
        alive.ok_or_else(|| Illegal::DeadScope { scope: path.clone() })
    }

    pub(super) fn live_scope_mut(&mut self, path: &ScopePath) -> Result<&mut ScopeRecord, Illegal> {
        let alive = self.scopes.get_mut(path).filter(|scope| !scope.over);
        alive.ok_or_else(|| Illegal::DeadScope { scope: path.clone() })
    }

    /// One operation or step of the scope got its answer.
    pub(super) fn close_one(&mut self, path: &ScopePath) {
        if let Some(scope) = self.scopes.get_mut(path) {
            scope.open = scope.open.saturating_sub(1);
        }
    }

    pub(super) fn check_nothing_open(&self, path: &ScopePath) -> Result<(), Illegal> {
        match self.live_scope(path)?.open {
            0 => Ok(()),
            open => Err(Illegal::LeftOpen { scope: path.clone(), open }),
        }
    }

    pub(super) fn scope_closing(&mut self, closing: ScopeClosing) -> Result<(), Illegal> {
        let scope = self.live_scope(&closing.scope)?;
        if scope.closing(closing.cause).is_some() {
            return Err(Illegal::Repeated { what: format!("the closing of `{}`", closing.scope) });
        }
        if let Some(operation) =
            closing.operations.iter().find(|id| !self.operations.contains_key(id))
        {
            return Err(Illegal::UnknownOperation { operation: operation.clone() });
        }
        if let Some(step) = closing.steps.iter().find(|step| !self.steps.contains_key(step)) {
            return Err(Illegal::UnknownStep { step: step.clone() });
        }
        let path = closing.scope.clone();
        self.live_scope_mut(&path)?.closings.push(closing);
        Ok(())
    }

    pub(super) fn grace_expired(
        &mut self,
        seq: Seq,
        at: Timestamp,
        path: ScopePath,
    ) -> Result<(), Illegal> {
        let scope = self.live_scope_mut(&path)?;
        if scope.grace_expired.is_some() {
            return Err(Illegal::Repeated { what: format!("the end of the grace of `{path}`") });
        }
        if !scope
            .closings
            .iter()
            .any(|closing| closing.grace_until.is_some_and(|until| until <= at))
        {
            return Err(Illegal::TooEarly);
        }
        scope.grace_expired = Some(seq);
        self.deliver(seq, at, Deliverable::Grace(path));
        Ok(())
    }
}
