//! Rust workflows, executed by the core: what they do, and that a crash anywhere changes nothing.

mod cancelled;
mod combine;
mod effects;
mod failures;
mod foreign;
mod operations;
mod registry;
mod state;
mod steps;
mod support;
