//! How many commits of turns this process has put into one transaction: a durable transaction costs about the same for one
//! as for a hundred, so that is how well a busy store does.

use std::sync::atomic::{AtomicU64, Ordering};

/// The bounds that groups are counted by: so many commits at most.
pub const GROUP_BOUNDS: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// Transactions of this process that held commits, by how many.
#[derive(Debug, Default)]
pub(super) struct Groups {
    up_to: [AtomicU64; GROUP_BOUNDS.len()],
    count: AtomicU64,
    sum: AtomicU64,
}

impl Groups {
    /// One more transaction, which held so many commits. One without any is none.
    pub(super) fn add(&self, commits: u64) {
        if commits == 0 {
            return;
        }
        for (bound, count) in GROUP_BOUNDS.iter().zip(&self.up_to) {
            if commits <= *bound {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(commits, Ordering::Relaxed);
    }

    pub(super) fn figures(&self) -> GroupFigures {
        GroupFigures {
            up_to: std::array::from_fn(|at| self.up_to[at].load(Ordering::Relaxed)),
            count: self.count.load(Ordering::Relaxed),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// Transactions of this process, by how many commits of turns each held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupFigures {
    /// How many held at most as many commits as [`GROUP_BOUNDS`] says.
    pub up_to: [u64; GROUP_BOUNDS.len()],
    /// How many there were.
    pub count: u64,
    /// How many commits they held.
    pub sum: u64,
}
