//! Any number of futures of one type.

use std::future::poll_fn;
use std::task::{Context, Poll};

use super::branch::Branch;

fn branches<F: IntoFuture>(futures: impl IntoIterator<Item = F>) -> Vec<Branch<F::IntoFuture>> {
    futures.into_iter().map(Branch::new).collect()
}

/// Lets each of them go on, and says whether one is open.
fn advance<F: Future>(branches: &mut [Branch<F>], cx: &mut Context<'_>) -> bool {
    let mut open = false;
    for branch in branches {
        open |= !branch.advance(cx);
    }
    open
}

/// Waits until all are done, and gives what they came to, in their order.
pub fn join_all<F: IntoFuture>(
    futures: impl IntoIterator<Item = F>,
) -> impl Future<Output = Vec<F::Output>> {
    let mut branches = branches(futures);
    poll_fn(move |cx| {
        if advance(&mut branches, cx) {
            return Poll::Pending;
        }
        Poll::Ready(branches.iter_mut().filter_map(Branch::take).collect())
    })
}

/// Waits until all have worked, and gives their results in their order; or the first failure at once.
pub fn try_join_all<T, E, F: IntoFuture<Output = Result<T, E>>>(
    futures: impl IntoIterator<Item = F>,
) -> impl Future<Output = Result<Vec<T>, E>> {
    let mut branches = branches(futures);
    poll_fn(move |cx| {
        let open = advance(&mut branches, cx);
        if let Some(failure) = branches.iter_mut().find_map(Branch::take_failure) {
            return Poll::Ready(Err(failure));
        }
        if open {
            return Poll::Pending;
        }
        Poll::Ready(branches.iter_mut().filter_map(Branch::take).collect())
    })
}

/// Waits for the first that is done, whether it worked or not. Of none, waits for nothing, which the run notices.
pub fn race_all<F: IntoFuture>(
    futures: impl IntoIterator<Item = F>,
) -> impl Future<Output = F::Output> {
    let mut branches = branches(futures);
    poll_fn(move |cx| {
        advance(&mut branches, cx);
        branches.iter_mut().find_map(Branch::take).map_or(Poll::Pending, Poll::Ready)
    })
}
