//! Whose turn it is: so many requests are answered at once, and others wait.
//!
//! Whoever sends a body decides how long that takes, so those who do wait for one another and for nobody else; and the user
//! whose server it is does not wait for others.

use axum::extract::Request;
use hyper::body::Body as _;
use tokio::sync::Semaphore;

use crate::access::{Caller, Who};

/// Turns of three kinds, as many of each.
pub(super) struct Turns {
    without_body: Semaphore,
    with_body: Semaphore,
    with_body_of_the_user: Semaphore,
}

impl Turns {
    pub(super) fn new(at_once: usize) -> Self {
        let turns = || Semaphore::new(at_once);
        Self { without_body: turns(), with_body: turns(), with_body_of_the_user: turns() }
    }

    /// Those that this request waits for.
    pub(super) fn of(&self, request: &Request) -> &Semaphore {
        let caller = request.extensions().get::<Caller>();
        let is_user = caller.is_some_and(|caller| matches!(caller.who(), Who::User { .. }));
        match (request.body().is_end_stream(), is_user) {
            (true, _) => &self.without_body,
            (false, true) => &self.with_body_of_the_user,
            (false, false) => &self.with_body,
        }
    }
}
