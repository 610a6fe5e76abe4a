//! Any number of futures of one type.

use std::future::poll_fn;
use std::task::Poll;

use super::branch::Branch;
use super::many::Many;

/// Waits until all are done, and gives what they came to, in their order.
pub fn join_all<F: IntoFuture>(
    futures: impl IntoIterator<Item = F>,
) -> impl Future<Output = Vec<F::Output>> {
    let mut many = Many::new(futures);
    poll_fn(move |cx| {
        many.advance(cx);
        if !many.is_done() {
            return Poll::Pending;
        }
        Poll::Ready(many.branches.iter_mut().filter_map(Branch::take).collect())
    })
}

/// Waits until all have worked, and gives their results in their order; or the first failure at once.
pub fn try_join_all<T, E, F: IntoFuture<Output = Result<T, E>>>(
    futures: impl IntoIterator<Item = F>,
) -> impl Future<Output = Result<Vec<T>, E>> {
    let mut many = Many::new(futures);
    poll_fn(move |cx| {
        let done = many.advance(cx);
        if let Some(failure) = done.iter().find_map(|index| many.branches[*index].take_failure()) {
            return Poll::Ready(Err(failure));
        }
        if !many.is_done() {
            return Poll::Pending;
        }
        Poll::Ready(many.branches.iter_mut().filter_map(Branch::take).collect())
    })
}

/// Waits for the first that is done, whether it worked or not. Of none, waits for nothing, which the run notices.
pub fn race_all<F: IntoFuture>(
    futures: impl IntoIterator<Item = F>,
) -> impl Future<Output = F::Output> {
    let mut many = Many::new(futures);
    poll_fn(move |cx| {
        let done = many.advance(cx);
        let first = done.first().and_then(|index| many.branches[*index].take());
        first.map_or(Poll::Pending, Poll::Ready)
    })
}
