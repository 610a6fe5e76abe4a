//! One run in the hands of one process.

use std::cell::RefCell;
use std::rc::Rc;

use agentos_core::execution::Execution;
use agentos_core::id::Epoch;
use agentos_core::standing::Standing;

use crate::script::{Script, Trace};

/// A run that was claimed and executed up to the end of its log.
pub(super) struct Life {
    pub(super) execution: Execution<Script>,
    pub(super) epoch: Epoch,
    /// How it stood after its latest turn.
    pub(super) standing: Option<Standing>,
}

/// What is remembered of a run's lives: the trace of the latest one, and how much of it was committed.
#[derive(Default)]
pub(super) struct Past {
    trace: Rc<RefCell<Trace>>,
    committed: usize,
}

impl Past {
    /// Another life has begun. What an earlier one had committed, it must have done again.
    pub(super) fn goes_on_as(&mut self, execution: &Execution<Script>) -> Result<(), String> {
        let trace = execution.program().trace();
        let result = {
            let (was, is) = (self.trace.borrow(), trace.borrow());
            let committed = &was[..self.committed];
            if is.starts_with(committed) {
                Ok(())
            } else {
                let place = committed.iter().zip(&*is).take_while(|(was, is)| was == is).count();
                let (is, was) = (is.get(place), committed.get(place));
                Err(format!("a later life did something else: {is:?} instead of {was:?}"))
            }
        };
        self.committed = self.committed.min(trace.borrow().len());
        self.trace = trace;
        result
    }

    /// Executed again at the end, the run must do at least what its last life had committed.
    pub(super) fn ends_as(&self, trace: &Trace) -> Result<(), String> {
        let was = self.trace.borrow();
        if trace.starts_with(&was[..self.committed]) {
            return Ok(());
        }
        Err("executed again at its end, the run does something else than it did".into())
    }

    /// What the run has done so far is committed.
    pub(super) fn commit(&mut self) {
        self.committed = self.trace.borrow().len();
    }

    /// Under another source nothing that was done before counts.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}
