//! `cargo xtask demo`: build everything, then show it at work.

use anyhow::Result;

use crate::release::testing_binary;
use crate::shell::CommandLine;

/// Builds the workspace and plays the demonstration.
pub(crate) fn run() -> Result<()> {
    CommandLine::cargo(["build", "--release", "--workspace", "--locked"]).run()?;
    testing_binary("simulate", &["demo"]).run()
}
