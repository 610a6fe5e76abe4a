//! Workflows in TypeScript, executed by the core with a world around them.

mod dates;
mod errors;
mod lints;
mod moves;
mod npm;
mod operations;
mod order;
mod random;
mod sandbox;
mod steps;
mod support;
mod templates;
mod types;
mod world;
