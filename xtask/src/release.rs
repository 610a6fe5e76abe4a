//! Command lines of the long-running binaries: built with optimisation, found in `agentos-testing` and, where they speak
//! SQL, among the benches of `agentos-store`.

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

/// `cargo bench` for one of the benches of `agentos-store`, which runs with `args`.
pub(crate) fn store_bench(name: &str, args: &[&str]) -> CommandLine {
    CommandLine::cargo(["bench", "--locked", "-p", "agentos-store", "--bench", name, "--"])
        .args(args.iter().copied())
}
