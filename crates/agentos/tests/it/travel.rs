//! Runs that go back, are forked, mended and compared, with their files: by the real binary.

mod chance;
mod differences;
mod forks;
mod refusals;
mod retries;
mod rollbacks;
pub(crate) mod site;
mod vanished;
