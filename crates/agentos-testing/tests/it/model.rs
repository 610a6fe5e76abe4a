//! The model server, asked by hand over real connections.

mod answers;
mod client;
mod faults;
mod scenarios;
