//! Any number of futures of one type.

use std::future::poll_fn;
use std::task::Poll;

use super::branch::Branch;

fn branches<F: IntoFuture>(futures: impl IntoIterator<Item = F>) -> Vec<Branch<F::IntoFuture>> {
    futures.into_iter().map(Branch::new).collect()
}

/// Waits until all are done, and gives what they came to, in their order.
pub fn join_all<F: IntoFuture>(
    futures: impl IntoIterator<Item = F>,
) -> impl Future<Output = Vec<F::Output>> {
    let mut branches = branches(futures);
    poll_fn(move |cx| {
        // Not `all`: each of them has to go on.
        let open =
            branches.iter_mut().filter_map(|branch| (!branch.advance(cx)).then_some(())).count();
        match open {
            0 => Poll::Ready(branches.iter_mut().filter_map(Branch::take).collect()),
            _ => Poll::Pending,
        }
    })
}

/// Waits until all have worked, and gives their results in their order; or the first failure at once.
pub fn try_join_all<T, E, F: IntoFuture<Output = Result<T, E>>>(
    futures: impl IntoIterator<Item = F>,
) -> impl Future<Output = Result<Vec<T>, E>> {
    let mut branches = branches(futures);
    poll_fn(move |cx| {
        let mut open = false;
        for branch in &mut branches {
            open |= !branch.advance(cx);
            if let Some(failure) = branch.take_failure() {
                return Poll::Ready(Err(failure));
            }
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
        let first = branches.iter_mut().find_map(|branch| {
            branch.advance(cx);
            branch.take()
        });
        first.map_or(Poll::Pending, Poll::Ready)
    })
}
