//! Events on their way out, and what faults do to them.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::{Stream, StreamExt as _, stream};

use super::fault::Fault;

/// The longest wait before an event: whoever wants more wants [`Fault::Stall`].
const MAX_WAIT: Duration = Duration::from_secs(60);

/// What comes after the events that were sent.
#[derive(Clone, Copy)]
enum End {
    Proper,
    Broken,
    Never,
}

/// A body of these events, damaged as the fault says.
pub(super) fn body(mut events: Vec<String>, fault: Option<Fault>) -> Body {
    let wait = match fault {
        Some(Fault::Slow(ms)) => Duration::from_millis(ms).min(MAX_WAIT),
        _ => Duration::ZERO,
    };
    let end = match fault {
        Some(Fault::Malformed) => {
            cut(&mut events);
            events.push("event: nonsense\ndata: {\"type\": \"mess\n\n".to_owned());
            End::Proper
        }
        Some(Fault::Drop) => {
            cut(&mut events);
            End::Broken
        }
        Some(Fault::DropWithin) => {
            let next = events.get(events.len() / 2).cloned().unwrap_or_default();
            cut(&mut events);
            events.push(next.chars().take(next.chars().count() / 2).collect());
            End::Broken
        }
        Some(Fault::Short) => {
            cut(&mut events);
            End::Proper
        }
        Some(Fault::Stall) => {
            cut(&mut events);
            End::Never
        }
        _ => End::Proper,
    };
    Body::from_stream(sent(events, wait).chain(ended(end)))
}

/// Leaves half of an answer: of its events, or of the only one.
fn cut(events: &mut Vec<String>) {
    if let [only] = &mut events[..] {
        let mut half = only.len() / 2;
        while !only.is_char_boundary(half) {
            half -= 1;
        }
        only.truncate(half);
    } else {
        events.truncate(events.len() / 2);
    }
}

fn sent(events: Vec<String>, wait: Duration) -> impl Stream<Item = io::Result<Bytes>> {
    stream::iter(events).then(move |event| async move {
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        // Otherwise what is ready at once would be written, and could be lost, at once.
        tokio::task::yield_now().await;
        Ok(Bytes::from(event))
    })
}

fn ended(end: End) -> impl Stream<Item = io::Result<Bytes>> {
    stream::once(async move {
        match end {
            End::Proper => None,
            End::Broken => {
                // The events before it leave first.
                tokio::time::sleep(Duration::from_millis(20)).await;
                Some(Err(io::Error::other("the scenario breaks this connection")))
            }
            End::Never => Some(Ok(silence().await)),
        }
    })
    .filter_map(std::future::ready)
}

/// Waits until the connection is closed by somebody else.
pub(super) async fn silence() -> Bytes {
    match std::future::pending::<Infallible>().await {}
}
