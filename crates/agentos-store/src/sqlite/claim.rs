//! Who holds a run: claims and releases, in SQL.

use agentos_core::id::{Epoch, OwnerId, RunId};

use super::error::Done;
use super::row::{RunRow, to_i64};
use super::transaction::Tx;
use crate::claim::{Claim, ClaimError, ClaimMode, ReleaseError};
use crate::run::Head;

pub(super) fn claim(
    tx: &Tx<'_>,
    run: RunId,
    owner: OwnerId,
    mode: ClaimMode,
) -> Done<Result<Claim, ClaimError>> {
    if !tx.owners.is_alive(owner)? {
        return Ok(Err(ClaimError::NotAlive { owner }));
    }
    let Some(found) = tx.run(run)? else {
        return Ok(Err(ClaimError::NotFound { run }));
    };
    let head = found.head;
    if head.standing.is_ended() {
        return Ok(Err(ClaimError::Ended { run }));
    }
    if let Some(by) = head.owner
        && by != owner
        && mode == ClaimMode::IfFree
        && tx.owners.is_alive(by)?
    {
        return Ok(Err(ClaimError::Owned { run, by, epoch: head.epoch }));
    }
    let epoch = head.epoch.next();
    tx.statement("UPDATE workflow_runs SET owner = ?2, epoch = ?3 WHERE key = ?1")?.execute((
        found.key,
        owner.to_string(),
        to_i64(epoch.0),
    ))?;
    let claimed = Head { owner: Some(owner), epoch, ..head };
    tx.remember(run, RunRow { head: claimed, ..found });
    Ok(Ok(Claim { epoch, head: head.head, standing: head.standing }))
}

pub(super) fn release(tx: &Tx<'_>, run: RunId, epoch: Epoch) -> Done<Result<(), ReleaseError>> {
    let Some(found) = tx.run(run)? else {
        return Ok(Err(ReleaseError::NotFound { run }));
    };
    if found.head.epoch != epoch {
        return Ok(Err(ReleaseError::Stale { run, current: found.head.epoch }));
    }
    if found.head.owner.is_some() {
        tx.statement("UPDATE workflow_runs SET owner = NULL WHERE key = ?1")?
            .execute([found.key])?;
        tx.forget(run);
        tx.memory.borrow_mut().forget_rows(found.key);
    }
    Ok(Ok(()))
}
