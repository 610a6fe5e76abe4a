//! The built-in workflows, played by the scripted agent in the sample project: what they make, what they refuse, and what a
//! kill at any step leaves.

mod consolidate;
mod crowd;
mod feature;
mod forks;
mod found;
mod full;
mod issue;
mod kills;
mod leftovers;
mod names;
mod roles;
mod simple;
pub(crate) mod site;
mod target;
