//! Where runs work: workspaces as the store keeps them, and the look at one before anything is done in it.

mod ground;
mod ledger;

pub use ground::{CheckedWorkspaces, SetUp};
pub use ledger::{StoreLedger, workspace_of};
