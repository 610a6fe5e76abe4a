//! The agents through their public door: recorded streams, streams gone wrong, command lines, scenarios.

mod broken;
mod commands;
mod part;
mod scenarios;
mod streams;
