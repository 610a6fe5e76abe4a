//! A wait for an event from outside.

use std::marker::PhantomData;
use std::panic::Location;
use std::time::Duration;

use agentos_core::operation::Request;
use serde::de::DeserializeOwned;

use super::asks_when_awaited;
use crate::answer::Answer;
use crate::ctx::{Ctx, millis, named};

impl Ctx {
    /// Waits for an event of this name, and gives what it carries. A signal answers every open wait of its name; one that
    /// nobody waits for is kept for the next.
    #[track_caller]
    pub fn wait_for<T: DeserializeOwned>(&self, event: impl AsRef<str>) -> WaitFor<'_, T> {
        let event = event.as_ref().to_owned();
        WaitFor { ctx: self, event, timeout: None, from: Location::caller(), reads: PhantomData }
    }
}

/// A wait that is about to be asked for.
#[derive(Debug)]
#[must_use = "a wait is asked for when it is awaited or started"]
pub struct WaitFor<'a, T> {
    ctx: &'a Ctx,
    event: String,
    timeout: Option<Duration>,
    from: &'static Location<'static>,
    reads: PhantomData<fn() -> T>,
}

impl<T> WaitFor<'_, T> {
    /// How long to wait at most; then it fails with a timeout.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Asks for it, without waiting.
    pub fn start(self) -> Answer<T> {
        let timeout = self.timeout.map(millis);
        self.ctx.ask(named(&self.event).map(|name| Request::wait(name, timeout)), self.from)
    }
}

asks_when_awaited!(WaitFor<'_, T> => T);
