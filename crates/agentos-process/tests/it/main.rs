//! Commands, supervisors, those who wait for them, and short tools, from outside: real processes, real deaths.

mod crowd;
mod ending;
mod limits;
mod output;
mod part;
mod protocol;
mod recovery;
mod room;
mod storm;
mod support;
mod sweep;
mod tool;
