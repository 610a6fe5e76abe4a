//! The engine: the proven core with a real clock, real effects and real crashes.
//!
//! ```text
//! scheduler ── claims what is due ──▶ worker threads ── one drive per run ──▶ store
//!     ▲                                    │  turn, commit, then effects         │
//!     └── kicked: a slot is free, a run was created, a message was sent ◀────────┘
//! ```
//!
//! A run that is driven has a place in the memory of one process; a run that only waits has none: it is given back, and
//! woken by its timer or by a message. Whoever dies leaves its runs to others: a dead owner is one whose lock can be
//! taken. Nothing is done in the world before the entry that orders it is committed.

pub mod agent;
pub mod artifact;
pub mod background;
mod backoff;
pub mod clock;
mod drive;
pub mod engine;
pub mod events;
pub mod family;
pub mod files;
pub mod fork;
pub mod git;
pub mod held;
pub mod homes;
pub mod library;
pub mod lines;
mod notices;
mod panics;
pub mod performer;
pub mod points;
mod progress;
mod remark;
mod reservation;
mod room;
mod run_clock;
mod scheduler;
mod shared;
pub mod shell;
pub mod slots;
pub mod switch;
pub mod takeover;
pub mod tool_hold;
pub mod travel;
mod trouble;
mod worker;
pub mod workspaces;
