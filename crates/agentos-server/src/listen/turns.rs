//! Whose turn it is: so many requests are answered at once, with so many bytes of bodies in memory, and others wait.
//!
//! Whoever sends a body decides how long that takes, so those who do wait for one another and for nobody else; and the user
//! whose server it is does not wait for others.

use axum::extract::Request;
use hyper::body::Body as _;
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};

use crate::access::{Caller, Who};

/// Bytes of bodies that are in memory at once, for each of both kinds; one body may always be.
const BODIES: u64 = 256 << 20;

/// Turns of three kinds, as many of each.
pub(super) struct Turns {
    without_body: Semaphore,
    with_body: Bodies,
    with_body_of_the_user: Bodies,
    longest: u64,
}

/// Turns of requests that have bodies.
struct Bodies {
    turns: Semaphore,
    kilobytes: Semaphore,
}

/// What a request waits for: a turn, and room for its body in kilobytes.
pub(super) struct Queue<'a> {
    turns: &'a Semaphore,
    room: Option<(&'a Semaphore, u32)>,
}

/// A turn, until it is dropped.
pub(super) struct Turn<'a> {
    _turn: SemaphorePermit<'a>,
    _kilobytes: Option<SemaphorePermit<'a>>,
}

impl Turns {
    /// Turns for so many requests at once, none of which has a longer body.
    pub(super) fn new(at_once: usize, longest: u64) -> Self {
        let bodies = || Bodies {
            turns: Semaphore::new(at_once),
            kilobytes: Semaphore::new(kilobytes(BODIES.max(longest)) as usize),
        };
        let without_body = Semaphore::new(at_once);
        Self { without_body, with_body: bodies(), with_body_of_the_user: bodies(), longest }
    }

    /// What this request waits for.
    pub(super) fn of(&self, request: &Request) -> Queue<'_> {
        let caller = request.extensions().get::<Caller>();
        let is_user = caller.is_some_and(|caller| matches!(caller.who(), Who::User { .. }));
        let bodies = match (request.body().is_end_stream(), is_user) {
            (true, _) => return Queue { turns: &self.without_body, room: None },
            (false, true) => &self.with_body_of_the_user,
            (false, false) => &self.with_body,
        };
        // One that does not say how long its body is may send the longest.
        let length = request.body().size_hint().upper().unwrap_or(self.longest);
        let room = Some((&bodies.kilobytes, kilobytes(length.min(self.longest))));
        Queue { turns: &bodies.turns, room }
    }
}

impl<'a> Queue<'a> {
    pub(super) async fn wait(self) -> Result<Turn<'a>, AcquireError> {
        let turn = self.turns.acquire().await?;
        let kilobytes = match self.room {
            Some((all, count)) => Some(all.acquire_many(count).await?),
            None => None,
        };
        Ok(Turn { _turn: turn, _kilobytes: kilobytes })
    }
}

fn kilobytes(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures_util::FutureExt as _;

    use super::*;

    fn post(bytes: usize) -> Request {
        Request::new(Body::from(vec![b' '; bytes]))
    }

    #[test]
    fn a_body_waits_for_room_in_memory_and_holds_up_nothing_without_one() {
        let longest = BODIES / 2;
        let turns = Turns::new(8, longest);
        let large = post(usize::try_from(longest).unwrap());
        let wait = |request: &Request| turns.of(request).wait().now_or_never().map(Result::unwrap);
        let first = wait(&large).expect("there is room");
        let _second = wait(&large).expect("there is room");
        assert!(wait(&post(1)).is_none(), "there is none left");
        assert!(wait(&Request::new(Body::empty())).is_some());
        drop(first);
        let streamed =
            Body::from_stream(futures_util::stream::pending::<std::io::Result<Vec<u8>>>());
        let _third = wait(&Request::new(streamed)).expect("it counts as the longest");
        assert!(wait(&post(1)).is_none(), "there is none left");
    }
}
