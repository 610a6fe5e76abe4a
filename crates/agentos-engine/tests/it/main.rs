//! The engine, from outside: real files, real threads, real deaths.

mod artifacts;
mod audit;
mod background;
mod batches;
mod commands;
mod crashes;
mod driving;
mod events;
mod family;
mod files;
mod git;
mod kills;
mod part;
mod room;
mod scripted;
mod simulated;
mod slots;
mod support;
mod time;
mod typescript;
mod unreliable;
mod workflows;
