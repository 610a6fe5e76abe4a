//! The simulation, with fixed seeds and small numbers.

mod campaign;
mod counterexamples;
mod javascript_model;
mod sabotage;
