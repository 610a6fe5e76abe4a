//! Where runs work: workspaces as the store keeps them, the look at one before anything is done in it, and the look
//! afterwards.

mod ground;
mod ledger;
mod set_up;
mod watched;

pub use ground::{CheckedWorkspaces, Keeper};
pub use ledger::{StoreLedger, workspace_of};
pub use set_up::{Approval, SetUp};
pub use watched::Watched;
