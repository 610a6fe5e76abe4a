//! Asking several databases at once. Their own threads do the work, so waiting for all of them needs no executor.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// All answers, in the order of the questions.
pub(super) async fn together<T>(questions: impl IntoIterator<Item: Future<Output = T>>) -> Vec<T> {
    let mut open: Vec<(Option<Pin<Box<_>>>, Option<T>)> =
        questions.into_iter().map(|question| (Some(Box::pin(question)), None)).collect();
    poll_fn(|context| {
        for (question, answer) in &mut open {
            if let Some(asked) = question
                && let Poll::Ready(ready) = asked.as_mut().poll(context)
            {
                (*question, *answer) = (None, Some(ready));
            }
        }
        match open.iter().all(|(_, answer)| answer.is_some()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    open.into_iter().filter_map(|(_, answer)| answer).collect()
}
