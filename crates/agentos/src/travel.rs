//! Runs with their files: who keeps these while a run goes on, and where they are found again.

pub(crate) mod album;
pub(crate) mod changed;
pub(crate) mod fresh;
pub(crate) mod input_files;
pub(crate) mod keeper;
pub(crate) mod latest;
pub(crate) mod past;
pub(crate) mod range;
pub(crate) mod sequel;
