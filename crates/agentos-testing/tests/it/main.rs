//! The simulation, with fixed seeds and small numbers; the model server, and real agents that talk to it.

mod agents;
mod bodies;
mod campaign;
mod children;
mod counterexamples;
mod javascript_model;
mod model;
mod moves;
mod rebase;
mod sabotage;
mod support;
mod time;
