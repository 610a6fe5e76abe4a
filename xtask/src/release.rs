//! Command lines of the long-running binaries: built with optimisation, found in `agentos-testing`.

use crate::shell::CommandLine;

/// `cargo run --release` for a binary of `agentos-testing`, which runs with `args`.
pub(crate) fn testing_binary(name: &str, args: &[&str]) -> CommandLine {
    CommandLine::cargo([
        "run",
        "--release",
        "--locked",
        "-p",
        "agentos-testing",
        "--bin",
        name,
        "--",
    ])
    .args(args.iter().copied())
}
