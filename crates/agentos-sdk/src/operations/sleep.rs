//! A durable timer.

use std::panic::Location;
use std::time::Duration;

use agentos_core::operation::Request;

use crate::answer::Answer;
use crate::ctx::{Ctx, millis, named};

impl Ctx {
    /// Waits for a while. The run needs no memory and no process in the meantime. Asked for at this call.
    #[track_caller]
    pub fn sleep(&self, length: Duration) -> Answer<()> {
        self.ask(
            named("sleep").map(|name| Request::sleep(name, millis(length))),
            Location::caller(),
        )
    }
}
