//! Commands that workflows order, through the real program: who is killed when, and who sees what.

mod crowd;
mod departures;
mod files;
mod kills;
mod looks;
mod secrets;
pub(crate) mod site;
mod terminal;
