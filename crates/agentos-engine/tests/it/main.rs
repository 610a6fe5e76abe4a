//! The engine, from outside: real files, real threads, real deaths.

mod background;
mod commands;
mod crashes;
mod driving;
mod events;
mod kills;
mod part;
mod simulated;
mod support;
mod unreliable;
mod workflows;
