//! Commits in SQL.
//!
//! Everything is checked before anything is changed, so a commit that is refused leaves nothing behind and needs no
//! savepoint.

use std::collections::BTreeSet;

use super::error::Done;
use super::project::Target;
use super::row::{RunRow, standing_columns, to_i64};
use super::transaction::Tx;
use super::{inbox, log, project};
use crate::commit::{CommitError, Committed, MalformedCommit, Outgoing, TurnCommit};
use crate::run::Head;

/// A commit with everything that can be done for it before its transaction.
pub(super) struct Prepared {
    commit: TurnCommit,
    /// The chunk as the log holds it.
    text: Result<String, MalformedCommit>,
}

impl Prepared {
    fn new(commit: TurnCommit) -> Self {
        let text = commit.check();
        Self { commit, text }
    }

    pub(super) fn all(batch: Vec<TurnCommit>) -> Vec<Self> {
        batch.into_iter().map(Self::new).collect()
    }

    pub(super) fn apply_all(
        batch: &[Self],
        tx: &Tx<'_>,
    ) -> Done<Vec<Result<Committed, CommitError>>> {
        batch.iter().map(|commit| commit.apply(tx)).collect()
    }

    fn apply(&self, tx: &Tx<'_>) -> Done<Result<Committed, CommitError>> {
        let run = self.commit.run;
        let text = match &self.text {
            Ok(text) => text,
            Err(source) => {
                return Ok(Err(CommitError::Malformed { run, source: source.clone() }));
            }
        };
        let Some(found) = tx.run(run)? else {
            return Ok(Err(CommitError::NotFound { run }));
        };
        match self.refusal(tx, &found)? {
            Some(error) => Ok(Err(error)),
            None => self.write(tx, &found, text).map(Ok),
        }
    }

    fn refusal(&self, tx: &Tx<'_>, found: &RunRow) -> Done<Option<CommitError>> {
        let (run, head) = (self.commit.run, found.head);
        if head.standing.is_ended() {
            return Ok(Some(CommitError::Ended { run }));
        }
        if head.owner.is_none() || head.epoch != self.commit.epoch {
            return Ok(Some(CommitError::Stale { run, current: head.epoch }));
        }
        if head.head != self.commit.expected {
            return Ok(Some(CommitError::Conflict { run, head: head.head }));
        }
        let mut wanted = BTreeSet::new();
        for key in &self.commit.consumed {
            if !wanted.insert(key) || !inbox::waits(tx, found.key, key)? {
                return Ok(Some(CommitError::NotInInbox { run, key: key.clone() }));
            }
        }
        Ok(None)
    }

    fn write(&self, tx: &Tx<'_>, found: &RunRow, text: &str) -> Done<Committed> {
        let TurnCommit { chunk, consumed, standing, outgoing, .. } = &self.commit;
        let head = crate::log::end(chunk);
        log::append(tx, found.key, chunk.first, text)?;
        let target = Target { key: found.key, run: self.commit.run };
        let step = project::commit(tx, target, chunk, *standing)?;
        if *standing == found.head.standing {
            // The usual case leaves the index on standings alone.
            tx.statement(
                "UPDATE workflow_runs SET head = ?2, updated_at = max(updated_at, ?3), \
                 current_workflow_step_id = coalesce(?4, current_workflow_step_id) WHERE key = ?1",
            )?
            .execute((found.key, to_i64(head.0), chunk.at.0, step))?;
        } else {
            let (number, wake_at) = standing_columns(*standing);
            tx.statement(
                "UPDATE workflow_runs SET head = ?2, updated_at = max(updated_at, ?3), \
                 current_workflow_step_id = coalesce(?4, current_workflow_step_id), standing = ?5, wake_at = ?6, \
                 owner = CASE WHEN ?5 < 2 THEN owner END WHERE key = ?1",
            )?
            .execute((found.key, to_i64(head.0), chunk.at.0, step, number, wake_at))?;
        }
        if consumed.is_empty() && !standing.is_ended() {
            let head = Head { head, standing: *standing, ..found.head };
            tx.remember(self.commit.run, RunRow { head, ..*found });
        } else {
            tx.forget(self.commit.run);
        }
        if !consumed.is_empty() {
            inbox::consume(tx, found.key, consumed)?;
        }
        for Outgoing { to, message } in outgoing {
            if let Some(other) = tx.run(*to)?
                && !other.head.standing.is_ended()
                && !inbox::has_had(tx, other.key, &message.key)?
            {
                inbox::receive(tx, (*to, other.key), message, chunk.at)?;
            }
        }
        Ok(Committed { head })
    }
}
