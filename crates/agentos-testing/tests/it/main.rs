//! The simulation, with fixed seeds and small numbers.

mod bodies;
mod campaign;
mod children;
mod counterexamples;
mod javascript_model;
mod moves;
mod rebase;
mod sabotage;
mod support;
mod time;
