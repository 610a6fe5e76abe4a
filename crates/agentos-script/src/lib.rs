//! Workflows written in TypeScript, run by the binary itself.
//!
//! ```text
//! files ──▶ graph ──▶ compile (oxc) ──▶ JavaScript ──▶ engine (QuickJS) ──▶ bytecode     once for each definition
//!
//! delivery ──▶ ScriptProgram ──▶ one promise settled, queue drained ──▶ door             once for each turn
//! ```
//!
//! A workflow has no power of its own: no clock, no chance, no files, no network, no `eval`. What it wants from the world
//! it asks `ctx` for. So it can be executed again from the top at any time, and stands where it stood. This crate only
//! computes: it has no database, waits for nothing, and reads no file but templates.

pub mod assets;
pub mod built_in;
mod compile;
pub mod config;
pub mod definition;
mod desk;
pub mod diagnostic;
mod doors;
mod engine;
mod failure;
pub mod files;
mod graph;
pub mod limits;
mod operations;
pub mod order;
pub mod position;
pub mod program;
pub mod run;
pub mod sources;
mod stage;
pub mod templates;
mod unawaited;

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
