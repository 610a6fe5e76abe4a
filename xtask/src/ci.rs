//! `cargo xtask ci`: what CI sees, at a developer's desk.
//!
//! The same suites as `test`, with the test runner's CI profile: no retries, no stopping at the
//! first failure, and a test that hangs is ended.

use anyhow::Result;

use crate::test::{self, Profile};

/// Runs all suites as CI does.
pub(crate) fn run() -> Result<()> {
    test::run(Profile::Ci)
}
