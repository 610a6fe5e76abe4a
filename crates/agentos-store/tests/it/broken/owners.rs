//! Owners and epochs, done wrong.

use std::time::Duration;

use agentos_core::id::{Epoch, OwnerId, RunId, Seq};
use agentos_core::standing::Standing;
use agentos_store::claim::{Claim, ClaimError, ClaimMode, ReleaseError};
use agentos_store::log::ReadError;
use agentos_store::run::Head;
use agentos_store::store::Store;

use super::Broken;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadOwners {
    /// Reading the head of an unknown run answers with that of an empty one.
    NothingIsUnknown,
    /// An owner that claims again goes on under the old epoch.
    SameEpoch,
    /// Nobody asks whether the owner lives.
    AlwaysTakesOver,
    /// The owner's life is asked for first, and the run taken then.
    AsksThenTakes,
    /// Nobody takes over, whatever was decided.
    NeverTakesOver,
    /// The dead keep what they have.
    DeadKeep,
    /// The dead may claim.
    DeadClaim,
    /// Ended runs are given away.
    EndedIsClaimed,
    /// Who claims a run finds it working.
    ClaimForgetsStanding,
    /// A release is forgotten.
    NeverReleases,
    /// A release needs an owner.
    ReleasesOnce,
    /// A release is not asked for its epoch.
    AnybodyReleases,
    /// The owner of an ended run is still named.
    EndKeepsOwner,
}

impl Broken {
    pub(super) async fn claim_badly(
        &self,
        bad: BadOwners,
        run: RunId,
        owner: OwnerId,
        mode: ClaimMode,
    ) -> Result<Claim, ClaimError> {
        let head = self.inner.head(run).await.ok();
        let held_by = head.and_then(|head| head.owner);
        match bad {
            BadOwners::SameEpoch if held_by == Some(owner) => {
                let Head { head, epoch, standing, .. } = head.expect("it has an owner");
                return Ok(Claim { epoch, head, standing });
            }
            BadOwners::AlwaysTakesOver => {
                return self.inner.claim(run, owner, ClaimMode::TakeOver).await;
            }
            BadOwners::NeverTakesOver => {
                return self.inner.claim(run, owner, ClaimMode::IfFree).await;
            }
            BadOwners::AsksThenTakes => {
                self.inner.snapshot().claim(run, owner, mode).await?;
                self.wait_in_the_gap();
                return self.inner.claim(run, owner, ClaimMode::TakeOver).await;
            }
            BadOwners::DeadKeep => {
                if let Some(by) = held_by.filter(|by| *by != owner && mode == ClaimMode::IfFree) {
                    let epoch = head.expect("it has an owner").epoch;
                    return Err(ClaimError::Owned { run, by, epoch });
                }
            }
            BadOwners::EndKeepsOwner => {
                self.memory().owners.insert(run, owner);
            }
            _ => {}
        }
        let claim = self.inner.claim(run, owner, mode).await;
        match (bad, claim) {
            (BadOwners::DeadClaim, Err(ClaimError::NotAlive { .. })) => {
                self.inner.owner_alive(owner);
                let claim = self.inner.claim(run, owner, mode).await;
                self.inner.owner_died(owner);
                claim
            }
            (BadOwners::EndedIsClaimed, Err(ClaimError::Ended { .. })) => {
                let Head { head, epoch, standing, .. } = head.expect("it has ended");
                Ok(Claim { epoch: epoch.next(), head, standing })
            }
            (BadOwners::ClaimForgetsStanding, Ok(claim)) => {
                Ok(Claim { standing: Standing::Working { wake_at: None }, ..claim })
            }
            (_, claim) => claim,
        }
    }

    /// Waits for another thread that is as far, but not for ever: there may be none. A thread that is late on a busy machine
    /// is waited for.
    pub(super) fn wait_in_the_gap(&self) {
        let others = self.memory().in_the_gap;
        self.memory().in_the_gap += 1;
        for _try in 0..100 {
            if self.memory().in_the_gap > others + 1 {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    pub(super) async fn release_badly(
        &self,
        bad: BadOwners,
        run: RunId,
        epoch: Epoch,
    ) -> Result<(), ReleaseError> {
        let head = self.inner.head(run).await.ok();
        match (bad, head) {
            (BadOwners::NeverReleases, Some(_)) => Ok(()),
            (BadOwners::ReleasesOnce, Some(Head { owner: None, epoch: current, .. })) => {
                Err(ReleaseError::Stale { run, current })
            }
            (BadOwners::AnybodyReleases, Some(Head { epoch: current, .. })) => {
                self.inner.release(run, current).await
            }
            _ => self.inner.release(run, epoch).await,
        }
    }

    pub(super) async fn head_badly(&self, bad: BadOwners, run: RunId) -> Result<Head, ReadError> {
        match (bad, self.inner.head(run).await) {
            (BadOwners::NothingIsUnknown, Err(ReadError::NotFound { .. })) => {
                let standing = Standing::Working { wake_at: None };
                Ok(Head { head: Seq(0), epoch: Epoch(0), owner: None, standing })
            }
            (BadOwners::EndKeepsOwner, Ok(head)) if head.standing.is_ended() => {
                Ok(Head { owner: self.memory().owners.get(&run).copied(), ..head })
            }
            (_, head) => head,
        }
    }
}
