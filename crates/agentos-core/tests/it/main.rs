//! The core, from outside: its log, its encoding, and the seam to programs.

mod codec;
mod door;
mod fixtures;
mod hostile;
mod journal;
mod support;
