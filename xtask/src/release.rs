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
    let cargo = ["bench", "--locked", "-p", "agentos-store"];
    CommandLine::cargo(cargo).args(["--bench", name, "--"]).args(args.iter().copied())
}

/// `cargo bench` for one of the benches of `agentos-engine`.
pub(crate) fn engine_bench(name: &str) -> CommandLine {
    CommandLine::cargo(["bench", "--locked", "-p", "agentos-engine", "--bench", name])
}

/// The test of `agentos-engine` in which processes are killed, with the big numbers.
pub(crate) fn engine_kills() -> CommandLine {
    let name = "kills::wherever_a_process_is_killed_the_run_comes_to_the_same_end";
    CommandLine::cargo(["test", "--release", "--locked", "-p", "agentos-engine", "--test", "it"])
        .args(["--", "--exact", name, "--nocapture"])
        .env("AGENTOS_SOAK", "1")
}

/// `cargo bench` for one of the benches of the binary.
pub(crate) fn cli_bench(name: &str) -> CommandLine {
    CommandLine::cargo(["bench", "--locked", "-p", "agentos", "--bench", name])
}

/// A measurement of workspaces alone.
pub(crate) fn workspace_bench(name: &str) -> CommandLine {
    CommandLine::cargo(["bench", "--locked", "-p", "agentos-workspace", "--bench", name])
}

/// The test of the command line in which many runs go on at once, with the big numbers. What counts is how many processes
/// there are, so it is built as tests are.
pub(crate) fn crowd_of_runs() -> CommandLine {
    let name = "crowd::runs_at_once_all_complete_and_none_is_disturbed";
    CommandLine::cargo(["test", "--locked", "-p", "agentos", "--examples", "--test", "it"])
        .args(["--", "--exact", name, "--nocapture"])
        .env("AGENTOS_SOAK", "1")
}

/// The test in which many features become pull requests at once, with the big numbers.
pub(crate) fn crowd_of_pull_requests() -> CommandLine {
    let name = "sdlc::crowd::many_runs_over_several_repositories_end_with_a_pull_request_each_and_leave_nothing_behind";
    CommandLine::cargo(["test", "--locked", "-p", "agentos", "--examples", "--test", "it"])
        .args(["--", "--exact", name, "--nocapture"])
        .env("AGENTOS_SOAK", "1")
}

/// The test in which many processes work in many worktrees while somebody looks at all of them, with the big numbers.
pub(crate) fn storm_over_worktrees() -> CommandLine {
    let name = "everywhere::storm::every_run_of_a_storm_is_seen_once_in_its_worktree";
    CommandLine::cargo(["test", "--locked", "-p", "agentos", "--examples", "--test", "it"])
        .args(["--", "--exact", name, "--nocapture"])
        .env("AGENTOS_SOAK", "1")
}

/// The tests of databases that are linked and copied from while others work and are killed, with the big numbers.
pub(crate) fn databases() -> CommandLine {
    CommandLine::cargo(["test", "--locked", "-p", "agentos", "--examples", "--test", "it"])
        .args(["--", "databases::"])
        .env("AGENTOS_SOAK", "1")
}

/// The tests with real agents, all of them: Gemini is slow, so that some of its cases are left out otherwise.
pub(crate) fn real_agents() -> CommandLine {
    let packages = ["-p", "agentos", "-p", "agentos-agent", "-p", "agentos-testing"];
    CommandLine::cargo(["test", "--locked"])
        .args(packages)
        .args(["--test", "it", "--", "real_agents::", "real::", "agents::"])
        .env("AGENTOS_SOAK", "1")
}

/// `cargo build --release` for the program that users have.
pub(crate) fn real_program() -> CommandLine {
    CommandLine::cargo(["build", "--release", "--locked", "-p", "agentos", "--bin", "agentos"])
}

/// `cargo bench` for one of the benches of `agentos-process`.
pub(crate) fn process_bench(name: &str) -> CommandLine {
    CommandLine::cargo(["bench", "--locked", "-p", "agentos-process", "--bench", name])
}

/// `cargo bench` for one of the benches of `agentos-server`.
pub(crate) fn server_bench(name: &str) -> CommandLine {
    CommandLine::cargo(["bench", "--locked", "-p", "agentos-server", "--bench", name])
}

/// The tests of the server in which many clients come and go, with the big numbers.
pub(crate) fn crowd_of_clients() -> CommandLine {
    CommandLine::cargo(["test", "--release", "--locked", "-p", "agentos-server", "--test", "it"])
        .args(["--", "live::storm::", "--nocapture"])
        .env("AGENTOS_SOAK", "1")
}

/// The tests of workspaces in which many are made at once, with the big numbers.
pub(crate) fn crowd_of_workspaces() -> CommandLine {
    CommandLine::cargo(["test", "--locked", "-p", "agentos-workspace", "--test", "it"])
        .args(["--", "crowd::", "--nocapture"])
        .env("AGENTOS_SOAK", "1")
}

/// The hunt for lost work, with the big numbers.
pub(crate) fn hunt_for_lost_work() -> CommandLine {
    CommandLine::cargo(["test", "--locked", "-p", "agentos-workspace", "--test", "it"])
        .args(["keep::hunt::nothing_is_lost_in_many", "--", "--exact", "--nocapture"])
        .env("AGENTOS_SOAK", "1")
}
