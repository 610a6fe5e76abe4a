//! Rust workflows, executed by the core: what they do, and that a crash anywhere changes nothing.

mod cancelled;
mod combine;
mod effects;
mod failures;
mod foreign;
mod input;
mod moves;
mod operations;
mod random;
mod registry;
mod stage;
mod state;
mod steps;
mod support;
mod world;
