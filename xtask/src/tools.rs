//! The programs that the verbs need, and how to get them.
//!
//! Sub-commands of cargo come from crates.io, with the lock file the authors published; what a system has comes from its
//! own packages. What belongs to the toolchain is never installed behind the user's back: the error says what to type.

use anyhow::{Context, Result, ensure};

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

/// Whether `cargo <verb>` exists.
pub(crate) fn is_installed(verb: &str) -> bool {
    CommandLine::cargo([verb, "--version"]).succeeds()
}

/// Makes sure that `cargo <verb>` exists, installing the package `cargo-<verb>` when it does not.
pub(crate) fn ensure_installed(verb: &str) -> Result<()> {
    if is_installed(verb) {
        return Ok(());
    }
    say(format!("`cargo {verb}` is missing; installing it once"));
    CommandLine::cargo(["install", &format!("cargo-{verb}"), "--locked"]).run()
}

/// Makes sure that a program is there which the tests call by its name, from the system's package of that name.
pub(crate) fn ensure_packaged(program: &str) -> Result<()> {
    ensure_answering(program, "version")
}

/// Makes sure that a browser is there, from the system's package of that name.
pub(crate) fn ensure_browser(program: &str) -> Result<()> {
    ensure_answering(program, "--version")
}

fn ensure_answering(program: &str, question: &str) -> Result<()> {
    if CommandLine::new(program, [question]).succeeds() {
        return Ok(());
    }
    let missing = format!("the tests need `{program}`: install it with your system's packages");
    ensure!(CommandLine::new("apt-get", ["--version"]).succeeds(), "{missing}");
    say(format!("`{program}` is missing; installing it once"));
    let install = || CommandLine::new("apt-get", ["install", "--yes", "--quiet", program]).run();
    // A list that is too old, or none, is the usual reason for the first to fail.
    let installed = install().or_else(|_| {
        CommandLine::new("apt-get", ["update", "--quiet"]).run().and_then(|()| install())
    });
    installed.context(missing)
}
