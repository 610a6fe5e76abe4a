//! `cargo xtask test`: every check of the repository, with fixed seeds and small numbers.
//!
//! Quick checks come first, so that a misspelt line is reported before a long build. The lock file is law throughout: what
//! was tested is what is committed.
//!
//! All suites build the workspace without xtask in one feature set, so that each dependency is compiled once for checking
//! (clippy and rustdoc share it) and once for running (tests, doctests and the browser's server share it). xtask is apart:
//! it wants features of `proc-macro2` that would compile every procedural macro a second time.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::shell::{CommandLine, say};
use crate::suites::{self, Suite};
use crate::{jj, mcp, schemathesis, tidy, tools, ui};

/// The packages that are built and tested together.
const PACKAGES: [&str; 3] = ["--workspace", "--exclude", "xtask"];

/// This program, which is built and tested by itself.
const XTASK: [&str; 2] = ["-p", "xtask"];

/// How the test runner behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Profile {
    /// Stop at the first failed test: a person is waiting.
    Default,
    /// Run all tests whatever happens, end those that hang, and hold every suite to its budget.
    Ci,
}

impl Profile {
    /// CI services set `CI`.
    pub(crate) fn from_environment() -> Self {
        if std::env::var_os("CI").is_some() { Self::Ci } else { Self::Default }
    }
}

/// Runs all suites; fails if any of them fails, in CI also if one takes far longer than its budget.
pub(crate) fn run(profile: Profile) -> Result<()> {
    tools::require_components()?;
    let suites = [
        suite("fmt", minutes(1), vec![CommandLine::cargo(["fmt", "--check"])]),
        Suite::new("tidy", minutes(1), tidy::run),
        suite("clippy", minutes(4), vec![clippy(&PACKAGES), clippy(&XTASK)]),
        Suite::new("tools", minutes(6), install_tools),
        Suite::new("tests", minutes(16), move || run_each(&test_runners(profile))),
        Suite::new("ui", minutes(4), ui::test),
        suite("doctests", minutes(2), vec![doctests()]),
        suite("docs", minutes(2), vec![rustdoc(&PACKAGES), rustdoc(&XTASK)]),
    ];
    suites::run_all(&suites, profile == Profile::Ci)
}

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

/// A suite of command lines, all of which are run whatever becomes of the others.
fn suite(name: &'static str, budget: Duration, commands: Vec<CommandLine>) -> Suite {
    Suite::new(name, budget, move || run_each(&commands))
}

fn run_each(commands: &[CommandLine]) -> Result<()> {
    let run = |command: &CommandLine| {
        say(format!("$ {command}"));
        command.run()
    };
    commands.iter().map(run).fold(Ok(()), Result::and)
}

/// Installs what runs the tests and what they call, unless it is there: nextest, jj, a client of the Model Context Protocol, Schemathesis, direnv and a
/// browser. One that can't be installed does not stop the others.
fn install_tools() -> Result<()> {
    [
        // Without it the tests are run by cargo itself.
        tools::ensure_installed("nextest").or_else(|error| {
            say(format!("warning: {error:#}"));
            Ok(())
        }),
        jj::ensure_built().context("jj"),
        mcp::ensure_installed(),
        schemathesis::ensure_installed(),
        tools::ensure_packaged("direnv"),
        ui::ensure_browser(),
    ]
    .into_iter()
    .inspect(|installed| {
        if let Err(error) = installed {
            say(format!("{error:#}"));
        }
    })
    .fold(Ok(()), Result::and)
}

fn doctests() -> CommandLine {
    CommandLine::cargo(["test", "--doc", "--locked"]).args(PACKAGES)
}

fn clippy(packages: &[&str]) -> CommandLine {
    CommandLine::cargo(["clippy", "--all-targets", "--locked"])
        .args(packages.iter().copied())
        .args(["--", "-D", "warnings"])
}

fn rustdoc(packages: &[&str]) -> CommandLine {
    CommandLine::cargo(["doc", "--no-deps", "--locked"])
        .args(packages.iter().copied())
        .env("RUSTDOCFLAGS", "-D warnings")
}

/// nextest, or plain `cargo test` where nextest cannot be installed.
fn test_runners(profile: Profile) -> Vec<CommandLine> {
    let runner = if tools::is_installed("nextest") {
        nextest
    } else {
        say("warning: continuing with `cargo test`, because nextest could not be installed");
        cargo_test
    };
    vec![runner(profile, &PACKAGES), runner(profile, &XTASK)]
}

fn nextest(profile: Profile, packages: &[&str]) -> CommandLine {
    let command = CommandLine::cargo(["nextest", "run", "--locked"]).args(packages.iter().copied());
    match profile {
        Profile::Default => command,
        Profile::Ci => command.args(["--profile", "ci"]),
    }
}

fn cargo_test(profile: Profile, packages: &[&str]) -> CommandLine {
    // The doctests are a suite of their own.
    let command = CommandLine::cargo(["test", "--bins", "--tests", "--locked"])
        .args(packages.iter().copied());
    match profile {
        Profile::Default => command,
        Profile::Ci => command.args(["--no-fail-fast"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ci_profile_reaches_the_test_runner() {
        assert_eq!(
            nextest(Profile::Default, &XTASK).to_string(),
            "cargo nextest run --locked -p xtask"
        );
        assert_eq!(
            nextest(Profile::Ci, &PACKAGES).to_string(),
            "cargo nextest run --locked --workspace --exclude xtask --profile ci"
        );
    }

    #[test]
    fn the_fallback_also_continues_after_a_failure_in_ci() {
        assert!(cargo_test(Profile::Ci, &XTASK).to_string().ends_with("--no-fail-fast"));
    }

    #[test]
    fn a_failed_command_fails_its_suite_and_the_next_one_is_run() {
        let flag = std::env::temp_dir().join(format!("xtask-suite-{}", std::process::id()));
        let touch = CommandLine::new("touch", [flag.to_string_lossy()]);
        let failing = suite("it", minutes(1), vec![CommandLine::new("false", [""; 0]), touch]);
        assert!((failing.check)().is_err());
        std::fs::remove_file(&flag).expect("the second command was run");
    }
}
