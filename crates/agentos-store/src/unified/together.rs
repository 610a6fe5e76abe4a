//! Asking several databases at once. Their own threads do the work, so waiting for all of them needs no executor. The first
//! may be read by whoever asks, so it is asked last: then the others are under way.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// A question on its way.
type Asked<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// All answers, in the order of the questions. They are all asked before anybody waits: what is kept while waiting is
/// nothing but answers to come, which any thread may wait for.
pub(super) fn together<'a, T, F>(
    questions: impl IntoIterator<Item = F>,
) -> impl Future<Output = Vec<T>> + Send + 'a
where
    T: Send + 'a,
    F: Future<Output = T> + Send + 'a,
{
    let asked =
        |question: F| -> (Option<Asked<'a, T>>, Option<T>) { (Some(Box::pin(question)), None) };
    let open: Vec<(Option<Asked<'a, T>>, Option<T>)> = questions.into_iter().map(asked).collect();
    answered(open)
}

async fn answered<T>(mut open: Vec<(Option<Asked<'_, T>>, Option<T>)>) -> Vec<T> {
    poll_fn(|context| {
        for (question, answer) in open.iter_mut().rev() {
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
