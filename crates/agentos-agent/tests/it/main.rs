//! The agents through their public door: recorded streams, streams gone wrong, command lines, scenarios, real agents.

mod broken;
mod commands;
mod part;
mod real;
mod scenarios;
mod streams;
