//! Measurements: what the core costs, against a reference of the same run.
//!
//! Machines are shared and noisy, so a number by itself says little. Every case is measured many times, all cases take
//! turns, and what is compared is compared within one round. Nobody asserts a time: people read the table, and the JSON
//! keeps every sample.

mod case;
mod drive;
mod durable_core;
mod lean;
mod report;
mod stopwatch;
mod summary;

pub use case::Effort;
pub use durable_core::{Sizes, durable_core};
pub use report::Report;
