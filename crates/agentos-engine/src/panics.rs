//! A panic in somebody else's code is that code's failure, and not the end of whoever called it.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

/// Waits for a future; if it panics, what it said.
pub(crate) async fn caught<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let mut future = Box::pin(future);
    // What panicked is not polled again, so nobody sees what it left half done.
    poll_fn(move |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(panic) => Poll::Ready(Err(said(&*panic))),
    })
    .await
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_comes_out_as_what_it_said() {
        assert_eq!(caught(async { 5 }).await, Ok(5));
        assert_eq!(caught::<()>(async { panic!("no {}", 7) }).await, Err("no 7".to_owned()));
        assert_eq!(caught::<()>(async { panic!("no") }).await, Err("no".to_owned()));
    }
}
