//! Commands that outlive whoever ordered them: the only crate that starts processes.
//!
//! ```text
//! client ── what to execute ──▶ supervisor ── lock, started.json ──▶ command and all that it starts
//!    ▲                               │  pipes, limits, stop                       │
//!    └── output-N.log, exit.json ────┘◀─── nothing is left ────────────────────┘
//! ```
//!
//! Each try of an operation has a directory. All that is known about it is in there, so that anybody can go on where
//! somebody died: [`launch`] starts a command or finds it, [`attached`] follows it, [`supervisor`] keeps it within its
//! limits while nobody else lives, and ends it so that nothing is left. Where `exit.json` is, nothing of the command is
//! alive. [`tool`] is for short programs that are over before anybody could miss them, [`interactive`] for those that belong
//! to the user at the terminal, and [`lineage`] for whoever is asked by a process of which nobody knows where it comes from.

pub mod at_work;
pub mod attached;
pub mod bounds;
pub mod case;
pub mod clock;
pub mod detached;
pub mod directory;
pub mod ending;
pub mod environment;
pub mod exit;
pub mod file_size;
pub mod frame;
mod group;
pub mod interactive;
pub mod launch;
pub mod leftovers;
pub mod lineage;
mod lock;
pub mod log_reader;
mod log_writer;
pub mod mask;
mod memory;
pub mod notice;
pub mod open_files;
pub mod outcome;
pub mod points;
mod processes;
mod recover;
pub mod secret;
pub mod shell_word;
pub mod spec;
pub mod started;
pub mod supervisor;
pub mod sweep;
pub mod token;
pub mod tool;
mod wake;
