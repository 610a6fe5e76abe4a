//! Rows for people, kept up to date with the log in the same transaction.

use std::collections::BTreeMap;

use agentos_core::codec::Chunk;
use agentos_core::id::RunId;
use agentos_core::standing::Standing;

use super::error::Done;
use super::transaction::Tx;

/// What is known of the runs that this process drives.
#[derive(Default)]
pub(super) struct Folds(BTreeMap<i64, ()>);

impl Folds {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn forget(&mut self, key: i64) {
        self.0.remove(&key);
    }
}

pub(super) fn created(
    _tx: &Tx<'_>,
    _key: i64,
    _run: RunId,
    _first: &Chunk,
    _rest: &[Chunk],
    _standing: Standing,
) -> Done<()> {
    Ok(())
}

pub(super) fn commit(
    _tx: &Tx<'_>,
    _key: i64,
    _run: RunId,
    _chunk: &Chunk,
    _standing: Standing,
) -> Done<()> {
    Ok(())
}
