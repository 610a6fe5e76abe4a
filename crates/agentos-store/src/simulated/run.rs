//! One run in the simulated store.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::entry::Entry;
use agentos_core::id::{Epoch, InboxKey, OwnerId, RunId, Seq};
use agentos_core::inbox::Message;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;

use crate::bounds;
use crate::commit::{CommitError, TurnCommit};
use crate::inbox::{Received, Sent};
use crate::log::end;
use crate::run::Head;

/// A run. Chunks are shared, so that a snapshot of the store copies no entries.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) created_at: Timestamp,
    pub(super) epoch: Epoch,
    pub(super) owner: Option<OwnerId>,
    pub(super) standing: Standing,
    log: Vec<Arc<Chunk>>,
    inbox: VecDeque<Received>,
    /// Every key that ever arrived, consumed or not.
    keys: BTreeSet<InboxKey>,
}

impl Run {
    pub(super) fn new(first: Arc<Chunk>, created_at: Timestamp) -> Self {
        Self {
            created_at,
            epoch: Epoch(0),
            owner: None,
            standing: Standing::Working { wake_at: None },
            log: vec![first],
            inbox: VecDeque::new(),
            keys: BTreeSet::new(),
        }
    }

    /// Adds to the log of a run that is being created with more than its first entry. The messages in it were received.
    pub(super) fn append(&mut self, chunk: Arc<Chunk>) {
        self.keys.extend(chunk.entries.iter().filter_map(Entry::message_key).cloned());
        self.log.push(chunk);
    }

    pub(super) fn began_with(&self, first: &Entry) -> bool {
        self.log.first().is_some_and(|chunk| chunk.entries.first() == Some(first))
    }

    fn length(&self) -> Seq {
        self.log.last().map_or(Seq::FIRST, |chunk| end(chunk))
    }

    pub(super) fn head(&self) -> Head {
        Head { head: self.length(), epoch: self.epoch, owner: self.owner, standing: self.standing }
    }

    pub(super) fn log(&self, from: Seq, limit: usize) -> Vec<Chunk> {
        let begin = self.log.partition_point(|chunk| end(chunk) <= from);
        self.log[begin..]
            .iter()
            .take(bounds::page(limit))
            .map(|chunk| Chunk::clone(chunk))
            .collect()
    }

    pub(super) fn inbox(&self, limit: usize) -> Vec<Received> {
        self.inbox.iter().take(bounds::page(limit)).cloned().collect()
    }

    pub(super) fn waiting(&self) -> usize {
        self.inbox.len()
    }

    pub(super) fn has_had(&self, key: &InboxKey) -> bool {
        self.keys.contains(key)
    }

    pub(super) fn receive(&mut self, message: Message, at: Timestamp) -> Sent {
        if !self.keys.insert(message.key.clone()) {
            return Sent::Duplicate;
        }
        self.inbox.push_back(Received { at, message });
        Sent::New
    }

    /// Whether the commit can be applied as the run is now. Changes nothing.
    pub(super) fn check(&self, run: RunId, commit: &TurnCommit) -> Result<(), CommitError> {
        if self.standing.is_ended() {
            return Err(CommitError::Ended { run });
        }
        if self.owner.is_none() || self.epoch != commit.epoch {
            return Err(CommitError::Stale { run, current: self.epoch });
        }
        if self.length() != commit.expected {
            return Err(CommitError::Conflict { run, head: self.length() });
        }
        let mut wanted = BTreeSet::new();
        for key in &commit.consumed {
            let waits = self.inbox.iter().any(|received| received.message.key == *key);
            if !waits || !wanted.insert(key) {
                return Err(CommitError::NotInInbox { run, key: key.clone() });
            }
        }
        Ok(())
    }

    /// Applies a commit that was checked, but for what it sends to other runs.
    pub(super) fn apply(
        &mut self,
        chunk: Arc<Chunk>,
        consumed: &[InboxKey],
        standing: Standing,
    ) -> Seq {
        self.log.push(chunk);
        self.inbox.retain(|received| !consumed.contains(&received.message.key));
        self.standing = standing;
        if standing.is_ended() {
            self.owner = None;
        }
        self.length()
    }
}
