//! How `ctx` reaches the door: for the time of one poll, on the thread that polls.
//!
//! A door exists only while the core resumes the program, but `ctx` objects live as long as the workflow's futures,
//! and half of their calls are synchronous. So the program puts the door on a stage around each poll, and `ctx` looks
//! for it there. Whoever calls from elsewhere (a thread, an effect, another run's code) finds no stage, or one of
//! another run, and is told so. The borrow ends with the poll, and the crate behind it keeps that safe.

use std::sync::Arc;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::program::Door;
use scoped_tls_hkt::{ReborrowMut, scoped_thread_local};

use crate::desk::Desk;
use crate::run::Run;

/// What workflow code can reach while it is polled.
pub(crate) struct Stage<'a> {
    pub(crate) door: Door<'a>,
    pub(crate) desk: &'a mut Desk,
}

impl<'a, 'b: 'a> ReborrowMut<'a> for Stage<'b> {
    type Result = Stage<'a>;

    fn reborrow_mut(&'a mut self) -> Stage<'a> {
        Stage { door: self.door.reborrow(), desk: self.desk }
    }
}

scoped_thread_local!(static mut STAGE: for<'a> Stage<'a>);

impl Stage<'_> {
    /// Lets code run that finds this stage.
    pub(crate) fn perform<R>(self, act: impl FnOnce() -> R) -> R {
        STAGE.set(self, act)
    }
}

/// Goes on the stage of this run.
///
/// # Errors
/// It is not this run's code that is polled here and now.
pub(crate) fn enter<R>(
    run: &Arc<Run>,
    act: impl FnOnce(&mut Stage<'_>) -> R,
) -> Result<R, Failure> {
    if !STAGE.is_set() {
        return Err(outside());
    }
    STAGE.with(|mut stage| match Arc::ptr_eq(&stage.desk.run, run) {
        true => Ok(act(&mut stage)),
        false => Err(outside()),
    })
}

/// Looks at the desk of whatever is polled here and now, if anything is.
pub(crate) fn look<R>(act: impl FnOnce(&mut Desk) -> R) -> Option<R> {
    STAGE.is_set().then(|| STAGE.with(|stage| act(stage.desk)))
}

fn outside() -> Failure {
    Failure::new(
        FailureKind::NonRetryable,
        "`ctx` was used outside of the code of its workflow: from a thread, another run or inside of an effect; \
         call it in the workflow, and hand an effect the values that it needs",
    )
}
