//! The full-screen view: every run of every worktree, live.
//!
//! [`board`] is what is known and what the person is at; keys change it and become wishes. [`draw`] makes a picture of it.
//! Both know neither terminal nor store. [`screen`] has the terminal, [`follow`] keeps the board right, and [`deeds`] does
//! what is wished for.

mod board;
mod deeds;
mod draw;
mod follow;
mod screen;
mod style;
#[cfg(test)]
mod tests;

pub(crate) use follow::run;
