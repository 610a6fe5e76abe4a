//! A body that has to be there in time, however steadily it trickles.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// A body that fails when its time is over.
pub(super) struct DeadlineBody<B> {
    body: Pin<Box<B>>,
    /// Begins with the first look at it.
    over: Option<Pin<Box<Sleep>>>,
    time: Duration,
}

/// It took too long.
#[derive(Debug, thiserror::Error)]
#[error("the body took too long")]
struct TooLong;

impl<B> DeadlineBody<B> {
    pub(super) fn new(time: Duration, body: B) -> Self {
        Self { body: Box::pin(body), over: None, time }
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
        let time = self.time;
        let over = self.over.get_or_insert_with(|| Box::pin(sleep(time)));
        if over.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(Box::new(TooLong))));
        }
        self.body.as_mut().poll_frame(context).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
