//! Inboxes, done wrong.

use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::Message;
use agentos_core::time::Timestamp;
use agentos_store::inbox::{Received, SendError, Sent};
use agentos_store::log::ReadError;
use agentos_store::store::Store;

use super::Broken;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadMessages {
    /// Who reads takes.
    ReadingTakes,
    /// The latest comes first.
    LatestFirst,
    /// A key may be used again.
    SentTwice,
    /// Keys are forgotten when they are consumed.
    ComesBack,
    /// Keys are unique in the whole store.
    OneKeyForAll,
    /// Ended runs are sent to.
    EndedHears,
    /// Ended runs have forgotten what was sent to them.
    EndedForgets,
    /// What is over a bound is taken.
    NoBound,
    /// The inbox is never full.
    NeverFull,
}

impl Broken {
    pub(super) async fn send_badly(
        &self,
        bad: BadMessages,
        run: RunId,
        message: Message,
        at: Timestamp,
    ) -> Result<Sent, SendError> {
        let key = message.key.clone();
        if bad == BadMessages::OneKeyForAll && !self.memory().keys.insert(key.clone()) {
            return Ok(Sent::Duplicate);
        }
        let sent = self.inner.send(run, message.clone(), at).await;
        match (bad, sent) {
            (BadMessages::SentTwice, Ok(Sent::Duplicate)) => {
                let key = InboxKey(format!("{key} again"));
                self.inner.send(run, Message { key, ..message }, at).await
            }
            (BadMessages::ComesBack, Ok(Sent::Duplicate)) => {
                let waiting = self.inner.inbox(run, 100).await.expect("the run exists");
                if waiting.iter().all(|received| received.message.key != key) {
                    self.memory().returned.push((run, Received { at, message }));
                }
                Ok(Sent::Duplicate)
            }
            (BadMessages::EndedHears, Err(SendError::Ended { .. }))
            | (BadMessages::NoBound, Err(SendError::Message { .. }))
            | (BadMessages::NeverFull, Err(SendError::InboxFull { .. })) => Ok(Sent::New),
            (BadMessages::EndedForgets, Ok(Sent::Duplicate)) => {
                let head = self.inner.head(run).await.expect("the run exists");
                if head.standing.is_ended() {
                    return Err(SendError::Ended { run });
                }
                Ok(Sent::Duplicate)
            }
            (_, sent) => sent,
        }
    }

    pub(super) async fn inbox_badly(
        &self,
        bad: BadMessages,
        run: RunId,
        limit: usize,
    ) -> Result<Vec<Received>, ReadError> {
        let mut inbox = self.inner.inbox(run, limit).await?;
        match bad {
            BadMessages::ReadingTakes => {
                inbox = self.without_hidden(run, inbox);
                let taken = inbox.iter().map(|received| (run, received.message.key.clone()));
                self.memory().hidden.extend(taken);
            }
            BadMessages::LatestFirst => inbox.reverse(),
            BadMessages::ComesBack => {
                let memory = self.memory();
                let returned = memory.returned.iter().filter(|(to, _)| *to == run);
                inbox.extend(returned.map(|(_, received)| received.clone()));
            }
            _ => {}
        }
        Ok(inbox)
    }
}
