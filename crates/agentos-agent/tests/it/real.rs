//! The real agents, started as we start them and understood as we understand them, against a model server on loopback.

mod judged;
mod stand;
mod troubles;
