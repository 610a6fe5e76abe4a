//! The simulation, with fixed seeds and small numbers.

mod campaign;
