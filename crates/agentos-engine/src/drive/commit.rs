//! A turn becomes durable, or the run is lost.

use std::sync::Arc;
use std::time::Duration;

use agentos_core::codec::Chunk;
use agentos_core::id::InboxKey;
use agentos_core::standing::Standing;
use agentos_core::turn::Outgoing;
use agentos_store::backend::{BackendError, BackendErrorKind};
use agentos_store::commit::{self, CommitError, TurnCommit};

use super::{Drive, Left};
use crate::events::Event;

/// How long to wait before a commit is tried again that the backend could not take.
const AGAIN: Duration = Duration::from_millis(50);
const AGAIN_AT_MOST: Duration = Duration::from_secs(5);

impl Drive {
    /// Commits what a turn has decided. As long as the backend can't, it is tried again: the run stands still and
    /// nothing of the turn has happened.
    pub(super) async fn commit(
        &self,
        chunk: Chunk,
        consumed: Vec<InboxKey>,
        outgoing: Vec<Outgoing>,
        standing: Standing,
    ) -> Result<(), Left> {
        let told = self.shared.events.is_heard().then(|| Arc::new(chunk.clone()));
        let receivers: Vec<_> = outgoing.iter().map(|sent| sent.to).collect();
        let turn = TurnCommit {
            run: self.run,
            epoch: self.epoch,
            expected: chunk.first,
            chunk,
            consumed,
            standing,
            outgoing: outgoing
                .into_iter()
                .map(|sent| commit::Outgoing { to: sent.to, message: sent.message })
                .collect(),
        };
        let mut pause = AGAIN;
        while !self.try_commit(turn.clone()).await? {
            tokio::select! {
                () = self.shared.dead.cancelled() => return Err(Left::Dead),
                () = self.shared.leaving.cancelled() => return Err(Left::Leaving),
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(AGAIN_AT_MOST);
        }
        receivers.into_iter().for_each(|run| self.shared.ring(run));
        if let Some(chunk) = told {
            self.shared.events.tell(Event::Committed { run: self.run, chunk, standing });
        }
        Ok(())
    }

    /// Tries once; whether it is committed.
    async fn try_commit(&self, turn: TurnCommit) -> Result<bool, Left> {
        let (expected, entries) = (turn.expected, turn.chunk.entries.len() as u64);
        let mut answers = self.shared.store.commit(vec![turn]).await;
        match answers.pop() {
            Some(Ok(_)) => Ok(true),
            None => Ok(false),
            Some(Err(CommitError::Unknown { message })) => {
                tracing::warn!(run = %self.run, message, "whether a commit was taken is not known");
                // The epoch is still ours or the next commit fails; if the log has grown, it was by this commit.
                let head = self.shared.store.head(self.run).await;
                let head = head.map_err(|error| Left::Trouble(error.to_string()))?;
                if head.epoch != self.epoch {
                    return Err(Left::Lost);
                }
                Ok(head.head.0 == expected.0 + entries)
            }
            Some(Err(CommitError::Backend(error))) if can_help(&error) => {
                self.tell_trouble(error.to_string());
                Ok(false)
            }
            Some(Err(CommitError::Stale { .. } | CommitError::Conflict { .. })) => Err(Left::Lost),
            Some(Err(error)) => Err(Left::Trouble(error.to_string())),
        }
    }

    pub(super) fn tell_trouble(&self, message: String) {
        tracing::warn!(run = %self.run, message, "the run stands still");
        self.shared.events.tell(Event::Trouble { run: self.run, message });
    }
}

/// Whether it can get better by itself, or by somebody's making room.
fn can_help(error: &BackendError) -> bool {
    !matches!(error.kind, BackendErrorKind::Permanent)
}
