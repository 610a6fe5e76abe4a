//! How the functions that a world calls reach the door: for the time of one turn, on the thread that takes it.
//!
//! The engine calls back into plain functions that know nothing of the delivery under way. So the program puts its door
//! on a stage around each turn, and they look for it there. While a module is loaded only to read its config there is no
//! stage: then the clock stands at zero and nothing can be asked for.

use agentos_core::program::Door;
use scoped_tls_hkt::{ReborrowMut, scoped_thread_local};

use crate::desk::Desk;

/// What the functions of the host can reach while code runs.
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

/// Goes on the stage, if there is one. No code of a workflow may run inside of `act`.
pub(crate) fn enter<R>(act: impl FnOnce(&mut Stage<'_>) -> R) -> Option<R> {
    STAGE.is_set().then(|| STAGE.with(|mut stage| act(&mut stage)))
}
