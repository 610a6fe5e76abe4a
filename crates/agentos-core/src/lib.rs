//! The durable core of AgentOS: the run log, its fold, and the turn.
//!
//! **The log is the run.** A run is an append-only list of [`entry::Entry`]s. Workflow code is executed again from the
//! top whenever it is needed; what it asks of the world is answered from the log where the log has the answer, and
//! ordered from the world where it has not.
//!
//! This crate is pure and synchronous: no I/O, no clock, no threads. Whoever drives it brings time and the world,
//! and performs what it returns, after having committed it.

pub mod bounds;
pub mod codec;
pub mod concurrency;
pub mod effect;
pub mod entry;
pub mod execution;
pub mod failure;
pub mod id;
pub mod inbox;
pub mod invocation;
pub mod journal;
pub mod name;
pub mod operation;
pub mod path;
pub mod program;
mod random;
pub mod rebase;
pub mod retry;
pub mod short_name;
pub mod source;
pub mod standing;
pub mod time;
pub mod turn;
pub mod value;
