//! The fold: which entries may follow on which, and what is said about those that may not.

mod illegal;
mod life;
mod reports;
mod table;
