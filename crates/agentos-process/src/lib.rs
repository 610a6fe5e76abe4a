//! The one door to other programs.
//!
//! Nothing else in the product starts a process: one that nobody looks after is lost in a crash. [`tool`] runs a short
//! program to its end and gives back what it said.

pub mod detached;
pub mod tool;
