//! Commits, done wrong.

use agentos_core::entry::Entry;
use agentos_core::id::InboxKey;
use agentos_core::id::{Epoch, RunId, Seq};
use agentos_core::inbox::Message;
use agentos_core::time::Millis;
use agentos_store::bounds::PAGE;
use agentos_store::claim::ClaimMode;
use agentos_store::commit::{CommitError, Committed, MalformedCommit, Outgoing, TurnCommit};
use agentos_store::inbox::{self, Received};
use agentos_store::log::end;
use agentos_store::run::Head;
use agentos_store::store::Store;
use agentos_store::tail::TailEvent;

use super::{Broken, phantom};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadCommits {
    /// What is committed on the caller's thread is lost.
    HereLost,
    /// One that fails takes the whole batch down.
    NeighboursFail,
    /// The batch is applied from its end.
    BatchReversed,
    /// The answers come from the end.
    AnswersReversed,
    /// An empty batch is answered.
    EmptyBatchAnswered,
    /// The epoch is not compared.
    AnyEpoch,
    /// Only the epoch is compared, not whether the run is held.
    HeldByNobody,
    /// The end of the log is not compared.
    AnyPosition,
    /// Entries are moved to where they fit.
    Repositioned,
    /// Large entries are left out.
    LargeEntryIsLeftOut,
    /// A commit without entries is fine.
    EmptyIsFine,
    /// Everything is compared first, and the commit applied then.
    ChecksThenApplies,
    /// Ended runs take commits.
    EndedGoesOn,
    /// Who is taken for dead is shut out at once.
    DeadAreShutOut,
    /// The head is told wrong.
    HeadMiscounted,
    /// Every fifth commit is acknowledged only.
    FifthIsLost,
    /// All that waits is consumed.
    ConsumesAll,
    /// Nothing is consumed.
    ConsumesNothing,
    /// What does not wait is consumed all the same.
    ConsumesLeniently,
    /// A refused commit consumes.
    RefusedConsumes,
    /// A refused commit sends.
    RefusedSends,
    /// A refused commit is in the tail.
    RefusedIsShown,
    /// Nothing is sent.
    NothingSent,
    /// Everything is sent twice.
    SentTwice,
    /// Who sends needs somebody who hears it.
    HasToBeHeard,
    /// What is over a bound is left out.
    LargeIsLeftOut,
}

impl Broken {
    pub(super) async fn commit_badly(
        &self,
        bad: BadCommits,
        mut batch: Vec<TurnCommit>,
    ) -> Vec<Result<Committed, CommitError>> {
        match bad {
            BadCommits::NeighboursFail => {
                let trial = self.inner.snapshot().commit(batch.clone()).await;
                match trial.into_iter().find_map(Result::err) {
                    Some(error) => vec![Err(error); batch.len()],
                    None => self.inner.commit(batch).await,
                }
            }
            BadCommits::BatchReversed => {
                batch.reverse();
                let mut answers = self.inner.commit(batch).await;
                answers.reverse();
                answers
            }
            BadCommits::AnswersReversed => {
                let mut answers = self.inner.commit(batch).await;
                answers.reverse();
                answers
            }
            BadCommits::EmptyBatchAnswered if batch.is_empty() => {
                vec![Ok(Committed { head: Seq(0) })]
            }
            BadCommits::ChecksThenApplies => {
                let trial = self.inner.snapshot().commit(batch.clone()).await;
                self.wait_in_the_gap();
                for (commit, trial) in batch.iter_mut().zip(trial) {
                    if trial.is_ok() {
                        self.make_it_fit(commit).await;
                    }
                }
                self.inner.commit(batch).await
            }
            _ => {
                let mut answers = Vec::new();
                for commit in batch {
                    answers.push(self.commit_one_badly(bad, commit).await);
                }
                answers
            }
        }
    }

    async fn make_it_fit(&self, commit: &mut TurnCommit) {
        let head = self.inner.head(commit.run).await.expect("the run exists");
        if commit.epoch != head.epoch {
            commit.epoch = head.epoch;
            commit.expected = head.head;
            commit.chunk.first = head.head;
        }
    }

    async fn commit_one_badly(
        &self,
        bad: BadCommits,
        mut commit: TurnCommit,
    ) -> Result<Committed, CommitError> {
        let Ok(head) = self.inner.head(commit.run).await else {
            return self.commit_one(commit).await;
        };
        match bad {
            BadCommits::AnyEpoch => commit.epoch = head.epoch,
            BadCommits::AnyPosition => {
                commit.expected = head.head;
                commit.chunk.first = head.head;
            }
            BadCommits::Repositioned => commit.chunk.first = commit.expected,
            BadCommits::LargeEntryIsLeftOut
                if matches!(commit.check(), Err(MalformedCommit::TooLarge { .. })) =>
            {
                commit.chunk.entries = vec![Entry::RunResumed { away_ms: Millis::ZERO }];
            }
            BadCommits::ConsumesNothing => commit.consumed.clear(),
            BadCommits::NothingSent => commit.outgoing.clear(),
            BadCommits::LargeIsLeftOut => {
                commit.outgoing.retain(|outgoing| inbox::check(&outgoing.message).is_ok());
            }
            BadCommits::ConsumesAll if !commit.consumed.is_empty() => {
                commit.consumed = self.keys_waiting(commit.run).await;
            }
            BadCommits::ConsumesLeniently => {
                let waiting = self.keys_waiting(commit.run).await;
                commit.consumed.sort();
                commit.consumed.dedup();
                commit.consumed.retain(|key| waiting.contains(key));
            }
            BadCommits::HeldByNobody if head.owner.is_none() && head.epoch == commit.epoch => {
                commit.epoch = self.claim_as_nobody(commit.run, commit.epoch).await;
            }
            _ => {
                if let Some(answer) = self.answer_without_committing(bad, &commit, head).await {
                    return answer;
                }
            }
        }
        let answer = self.commit_one(commit.clone()).await;
        self.after_commit(bad, commit, answer).await
    }

    async fn answer_without_committing(
        &self,
        bad: BadCommits,
        commit: &TurnCommit,
        head: Head,
    ) -> Option<Result<Committed, CommitError>> {
        let run = commit.run;
        match bad {
            BadCommits::EmptyIsFine if commit.chunk.entries.is_empty() => {
                Some(Ok(Committed { head: head.head }))
            }
            BadCommits::FifthIsLost => {
                self.memory().commits += 1;
                let lost = self.memory().commits.is_multiple_of(5);
                lost.then(|| Ok(Committed { head: end(&commit.chunk) }))
            }
            BadCommits::DeadAreShutOut => {
                let trial = self.inner.snapshot().claim(run, phantom(), ClaimMode::IfFree).await;
                trial.is_ok().then_some(Err(CommitError::Stale { run, current: head.epoch }))
            }
            BadCommits::HasToBeHeard => {
                for Outgoing { to, .. } in &commit.outgoing {
                    match self.inner.head(*to).await {
                        Ok(head) if !head.standing.is_ended() => {}
                        _ => return Some(Err(CommitError::NotFound { run: *to })),
                    }
                }
                None
            }
            _ => None,
        }
    }

    async fn after_commit(
        &self,
        bad: BadCommits,
        commit: TurnCommit,
        answer: Result<Committed, CommitError>,
    ) -> Result<Committed, CommitError> {
        let TurnCommit { run, chunk, consumed, outgoing, .. } = commit;
        match (bad, &answer) {
            (BadCommits::EndedGoesOn, Err(CommitError::Ended { .. })) => {
                return Ok(Committed { head: end(&chunk) });
            }
            (BadCommits::HeadMiscounted, Ok(committed)) => {
                return Ok(Committed { head: committed.head.next() });
            }
            (BadCommits::RefusedConsumes, Err(_)) => {
                self.memory().hidden.extend(consumed.into_iter().map(|key| (run, key)));
            }
            (BadCommits::RefusedSends, Err(_)) => {
                for Outgoing { to, message } in outgoing {
                    let _sent = self.inner.send(to, message, chunk.at).await;
                }
            }
            (BadCommits::SentTwice, Ok(_)) => {
                for Outgoing { to, message } in outgoing {
                    let key = InboxKey(format!("{} again", message.key));
                    let _sent = self.inner.send(to, Message { key, ..message }, chunk.at).await;
                }
            }
            (BadCommits::RefusedIsShown, Err(_)) => {
                self.memory().ghosts.push(TailEvent { run, chunk });
            }
            _ => {}
        }
        answer
    }

    async fn commit_one(&self, commit: TurnCommit) -> Result<Committed, CommitError> {
        self.inner.commit(vec![commit]).await.remove(0)
    }

    async fn keys_waiting(&self, run: RunId) -> Vec<InboxKey> {
        let inbox = self.inner.inbox(run, PAGE).await.expect("the run exists");
        inbox.into_iter().map(|received| received.message.key).collect()
    }

    async fn claim_as_nobody(&self, run: RunId, otherwise: Epoch) -> Epoch {
        let claim = self.inner.claim(run, phantom(), ClaimMode::IfFree).await;
        claim.map_or(otherwise, |claim| claim.epoch)
    }

    pub(super) fn without_hidden(&self, run: RunId, mut inbox: Vec<Received>) -> Vec<Received> {
        let memory = self.memory();
        inbox.retain(|received| !memory.hidden.contains(&(run, received.message.key.clone())));
        inbox
    }
}
