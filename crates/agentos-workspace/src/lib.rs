//! Checkouts: where a command stands, where its state lives, and where runs work.
//!
//! [`state::StateLocation`] decides which database a command uses, and can tell why. It stands on a
//! [`checkout::Checkout`], which is what git ([`git`]) or jj ([`jj`]) call the root of the current worktree. Deciding
//! creates nothing; [`prepare`](state::StateLocation::prepare) makes what a command that writes needs.
//!
//! [`workspace`] makes checkouts of their own for runs, and finds them again.
//!
//! [`contained::Contained`] holds the files of a run, and lets no path out of them.
//!
//! Everything that is looked at comes in as [`surroundings::Surroundings`]: nothing here reads the process's own
//! environment behind the caller's back.

pub mod checkout;
pub mod contained;
mod delete;
pub mod files;
pub mod git;
pub mod identity;
pub mod jj;
pub mod link;
pub mod metadata;
mod mounts;
pub mod named;
mod refs;
pub mod siblings;
pub mod stale_lock;
pub mod state;
pub mod surroundings;
pub mod version_control;
pub mod workspace;
