//! A turn becomes durable, or the run is lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use agentos_core::codec::Chunk;
use agentos_core::id::InboxKey;
use agentos_core::standing::Standing;
use agentos_core::turn::{LogLine, Outgoing};
use agentos_store::backend::BackendError;
use agentos_store::claim::{ClaimError, ClaimMode};
use agentos_store::commit::{self, CommitError, TurnCommit};
use agentos_store::retry::Retry;

use super::{Drive, Left};
use crate::backoff::Backoff;
use crate::events::Event;

impl Drive {
    /// Commits what a turn has decided. As long as the backend can't, it is tried again: the run stands still and
    /// nothing of the turn has happened.
    pub(super) async fn commit(
        &mut self,
        chunk: Chunk,
        consumed: Vec<InboxKey>,
        (outgoing, lines): (Vec<Outgoing>, &[LogLine]),
        standing: Standing,
    ) -> Result<(), Left> {
        let receivers: Vec<_> = outgoing.iter().map(|sent| sent.to).collect();
        let outgoing: Vec<commit::Outgoing> = outgoing
            .into_iter()
            .map(|sent| commit::Outgoing { to: sent.to, message: sent.message })
            .collect();
        let run = self.run;
        let turn = |epoch| TurnCommit {
            run,
            epoch,
            expected: chunk.first,
            chunk: chunk.clone(),
            consumed: consumed.clone(),
            standing,
            outgoing: outgoing.clone(),
        };
        let mut backoff = Backoff::new();
        while !self.try_commit(turn(self.epoch)).await? {
            if !backoff.pause(&self.shared).await {
                return Err(Left::Leaving);
            }
        }
        self.end_trouble();
        receivers.into_iter().for_each(|run| self.shared.ring(run));
        // Before the commit is told of: a document that is written of the run's end has its warnings.
        self.keep_warnings(lines).await;
        self.shared.events.tell(Event::Committed { run, chunk: Arc::new(chunk), standing });
        Ok(())
    }

    /// Tries once; whether it is committed.
    async fn try_commit(&mut self, turn: TurnCommit) -> Result<bool, Left> {
        let end = turn.expected.0 + turn.chunk.entries.len() as u64;
        // Whoever shares the thread with nobody has nothing to do until the answer is there.
        let is_alone = self.load.load(Ordering::Relaxed) <= 1 && self.in_flight.is_empty();
        let store = &self.shared.store;
        let mut answers = if is_alone {
            store.commit_here(vec![turn]).await
        } else {
            store.commit(vec![turn]).await
        };
        match answers.pop() {
            Some(Ok(_)) => Ok(true),
            None => Ok(false),
            Some(Err(CommitError::Unknown { message })) => {
                tracing::warn!(run = %self.run, message, "whether a commit was taken is not known");
                self.find_out(end).await
            }
            Some(Err(CommitError::Backend(error))) if may_pass(&error) => {
                self.tell_trouble(error.to_string());
                Ok(false)
            }
            Some(Err(CommitError::Stale { .. } | CommitError::Conflict { .. })) => Err(Left::Lost),
            Some(Err(error)) => Err(Left::Trouble(error.to_string())),
        }
    }

    /// Whether a commit was taken of which nobody knows. The run is claimed again: then nothing can be on its way any more.
    async fn find_out(&mut self, end: u64) -> Result<bool, Left> {
        let mut backoff = Backoff::new();
        loop {
            let claim = self.shared.store.claim(self.run, self.shared.owner, ClaimMode::IfFree);
            match claim.await {
                Ok(claim) => {
                    self.epoch = claim.epoch;
                    return Ok(claim.head.0 == end);
                }
                Err(ClaimError::Ended { .. }) => return Ok(true),
                Err(ClaimError::NotAlive { .. }) => {
                    self.shared.die();
                    return Err(Left::Dead);
                }
                Err(ClaimError::Backend(error)) if may_pass(&error) => {
                    self.tell_trouble(error.to_string());
                }
                Err(ClaimError::Backend(error)) => return Err(Left::Trouble(error.to_string())),
                Err(_) => return Err(Left::Lost),
            }
            if !backoff.pause(&self.shared).await {
                return Err(Left::Leaving);
            }
        }
    }

    /// Says why the run stands still: once, however often the same is tried.
    pub(super) fn tell_trouble(&mut self, message: String) {
        if self.trouble.as_ref() == Some(&message) {
            return;
        }
        tracing::warn!(run = %self.run, message, "the run stands still");
        self.shared.events.tell(Event::Trouble {
            run: self.run,
            message: message.clone(),
            is_left: false,
        });
        self.trouble = Some(message);
    }

    /// What kept the run from going on has passed.
    pub(super) fn end_trouble(&mut self) {
        if self.trouble.take().is_some() {
            tracing::warn!(run = %self.run, "the run goes on");
        }
    }
}

/// Whether it can get better by itself, or when a person makes room.
pub(super) fn may_pass(error: &BackendError) -> bool {
    error.retry() == Retry::SameAgain
}
