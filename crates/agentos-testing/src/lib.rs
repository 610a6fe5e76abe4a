//! The simulation: programs, worlds and faults, all from a seed.
//!
//! A run is executed once without any fault. Then it is executed again and again, crashed at every labelled point, with
//! lost answers, full disks and owners that wake up late, and each time it must end exactly as the first one did: the
//! same trace, the same log, the same times, every effect performed once.
//!
//! For tests of what is outside: [`repo`] makes real git repositories, [`jj`] real ones of jj, [`model`] is a model for
//! agents to talk to, [`agents`] are the real agents that do, [`mcp`] is a real client of the Model Context Protocol,
//! [`forge`] is where pull requests are opened. [`wait`] waits for what others make true.

pub mod agents;
pub mod bench;
pub mod chance;
pub mod forge;
pub mod jj;
mod loopback;
pub mod mcp;
pub mod model;
pub mod promise;
pub mod repo;
pub mod schemathesis;
pub mod script;
pub mod simulation;
pub mod wait;
