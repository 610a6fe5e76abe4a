//! One of several futures that are waited for together.

use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that keeps its output until all others have theirs.
pub(super) enum Branch<F: Future> {
    Open(Pin<Box<F>>),
    Done(Option<F::Output>),
}

impl<F: Future> Branch<F> {
    pub(super) fn new(future: impl IntoFuture<IntoFuture = F, Output = F::Output>) -> Self {
        Self::Open(Box::pin(future.into_future()))
    }

    /// Goes on if it is not done, and says whether it is.
    pub(super) fn advance(&mut self, cx: &mut Context<'_>) -> bool {
        if let Self::Open(future) = self
            && let Poll::Ready(output) = future.as_mut().poll(cx)
        {
            *self = Self::Done(Some(output));
        }
        matches!(self, Self::Done(_))
    }

    /// Whether it is under way.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// What it came to, once.
    pub(super) fn take(&mut self) -> Option<F::Output> {
        match self {
            Self::Open(_) => None,
            Self::Done(output) => output.take(),
        }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Branch<F> {
    /// Its failure, if it is done with one.
    pub(super) fn take_failure(&mut self) -> Option<E> {
        if !matches!(self, Self::Done(Some(Err(_)))) {
            return None;
        }
        self.take()?.err()
    }
}
