//! A body that has to be there in time, and that may not be silent for long, however steadily it trickles.
//!
//! What the body says about its length passes through: the limits on bodies in memory depend on it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// A body that fails when its time is over, or when nothing came for a while.
pub(super) struct DeadlineBody<B> {
    body: Pin<Box<B>>,
    whole: Timer,
    idle: Timer,
}

/// Begins when it is first asked.
struct Timer {
    time: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

/// It took too long.
#[derive(Debug, thiserror::Error)]
#[error("the body took too long")]
struct TooLong;

impl Timer {
    const fn new(time: Duration) -> Self {
        Self { time, sleep: None }
    }

    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let time = self.time;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(time)));
        sleep.as_mut().poll(context).is_ready()
    }
}

impl<B> DeadlineBody<B> {
    /// Allows `whole` for all of the body, and `idle` without any of it.
    pub(super) fn new(whole: Duration, idle: Duration, body: B) -> Self {
        Self { body: Box::pin(body), whole: Timer::new(whole), idle: Timer::new(idle) }
    }
}

impl<B> Body for DeadlineBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.whole.is_over(context) {
            return Poll::Ready(Some(Err(Box::new(TooLong))));
        }
        if let Poll::Ready(frame) = self.body.as_mut().poll_frame(context) {
            self.idle.sleep = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        if self.idle.is_over(context) {
            return Poll::Ready(Some(Err(Box::new(TooLong))));
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
