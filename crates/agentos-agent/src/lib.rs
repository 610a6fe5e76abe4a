//! Coding agents: what to start for a request, and what their event streams say.
//!
//! ```text
//! Request ──▶ Agent::command ──▶ Command            (arguments out; the engine starts the process)
//! line of output ──▶ Translator::feed ──▶ events     (events in; pure, one line at a time)
//! exit ──▶ Translator::finish ──▶ Verdict            (success only if the stream *and* the exit status say so)
//! ```
//!
//! Nothing in here starts a process, waits, or reads a clock; only the built-in agent ([`scripted`]), which is a program of
//! its own, touches files. Whatever an agent writes is taken with care: lines of any length, garbage, events that nobody
//! has heard of. A stream that was cut off is never a success.

mod account;
pub mod agent;
mod answer;
pub mod bounds;
mod classify;
mod claude;
mod codex;
pub mod configured;
pub mod event;
mod gemini;
mod json;
pub mod lines;
mod mcp;
mod own;
pub mod permission;
pub mod price;
pub mod roster;
pub mod scripted;
pub mod session;
mod text;
pub mod transcript;
pub mod usage;
pub mod verdict;
