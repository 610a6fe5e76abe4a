//! Commands, supervisors, those who wait for them, and short tools, from outside: real processes, real deaths.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps fails with the right line, also in what it is made of"
)]

mod crowd;
mod ending;
mod limits;
mod output;
mod part;
mod protocol;
mod recovery;
mod storm;
mod support;
mod tool;
