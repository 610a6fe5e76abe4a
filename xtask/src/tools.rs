//! The cargo sub-commands that the verbs need, and how to get them.
//!
//! Only crates.io is asked, with the lock file the authors published. What belongs to the toolchain
//! is never installed behind the user's back: the error says what to type.

use anyhow::{Result, ensure};

use crate::shell::{CommandLine, say};

/// Fails, with the command to type, unless the toolchain brings `cargo fmt` and `cargo clippy`.
pub(crate) fn require_components() -> Result<()> {
    for (verb, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        ensure!(
            CommandLine::cargo([verb, "--version"]).succeeds(),
            "`cargo {verb}` is missing: install it with `rustup component add {component}`"
        );
    }
    Ok(())
}

/// Makes sure that `cargo <verb>` exists, installing the package `cargo-<verb>` when it does not.
pub(crate) fn ensure_installed(verb: &str) -> Result<()> {
    if CommandLine::cargo([verb, "--version"]).succeeds() {
        return Ok(());
    }
    say(format!("`cargo {verb}` is missing; installing it once"));
    CommandLine::cargo(["install", &format!("cargo-{verb}"), "--locked"]).run()
}
