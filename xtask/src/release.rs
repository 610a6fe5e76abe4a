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
    let cargo = ["bench", "--locked", "-p", "agentos-store", "--features", "ceiling"];
    CommandLine::cargo(cargo).args(["--bench", name, "--"]).args(args.iter().copied())
}

/// `cargo bench` for one of the benches of `agentos-engine`.
pub(crate) fn engine_bench(name: &str) -> CommandLine {
    CommandLine::cargo(["bench", "--locked", "-p", "agentos-engine", "--bench", name])
}

/// `cargo bench` for one of the benches of `agentos-process`.
pub(crate) fn process_bench(name: &str) -> CommandLine {
    CommandLine::cargo(["bench", "--locked", "-p", "agentos-process", "--bench", name])
}
