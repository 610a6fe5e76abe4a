//! `cargo xtask test`: every check of the repository, with fixed seeds and small numbers.
//!
//! Quick checks come first, so that a misspelt line is told before a long build. The lock file is
//! law throughout: what was tested is what is committed.

use anyhow::Result;

use crate::shell::{CommandLine, say};
use crate::suites::{self, Minutes, Suite};
use crate::{jj, mcp, schemathesis, tidy, tools, ui};

/// How the test runner behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Profile {
    /// Stop at the first failed test: somebody is waiting.
    Default,
    /// Run all tests whatever happens, and end those that hang.
    Ci,
}

impl Profile {
    /// CI services set `CI`; everybody else sits at a terminal.
    pub(crate) fn from_environment() -> Self {
        if std::env::var_os("CI").is_some() { Self::Ci } else { Self::Default }
    }
}

/// Runs all suites; fails if any of them fails.
pub(crate) fn run(profile: Profile) -> Result<()> {
    tools::require_components()?;
    let runner = test_runner(profile);
    suites::run_all(&[
        suite("fmt", Minutes(1), CommandLine::cargo(["fmt", "--check"])),
        Suite { name: "tidy", budget: Minutes(1), check: Box::new(tidy::run) },
        suite("clippy", Minutes(8), clippy()),
        Suite { name: "jj", budget: Minutes(10), check: Box::new(jj::ensure_built) },
        Suite { name: "mcp", budget: Minutes(2), check: Box::new(mcp::ensure_installed) },
        Suite {
            name: "schema",
            budget: Minutes(2),
            check: Box::new(schemathesis::ensure_installed),
        },
        Suite {
            name: "direnv",
            budget: Minutes(2),
            check: Box::new(|| tools::ensure_packaged("direnv")),
        },
        suite("tests", Minutes(15), runner),
        Suite { name: "ui", budget: Minutes(6), check: Box::new(ui::test) },
        suite("doctests", Minutes(5), doctests()),
        suite("docs", Minutes(5), rustdoc()),
    ])
}

fn suite(name: &'static str, budget: Minutes, command: CommandLine) -> Suite {
    let check = move || {
        say(format!("$ {command}"));
        command.run()
    };
    Suite { name, budget, check: Box::new(check) }
}

fn doctests() -> CommandLine {
    CommandLine::cargo(["test", "--doc", "--workspace", "--locked"])
}

fn clippy() -> CommandLine {
    CommandLine::cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "-D",
        "warnings",
    ])
}

fn rustdoc() -> CommandLine {
    CommandLine::cargo(["doc", "--no-deps", "--workspace", "--locked"])
        .env("RUSTDOCFLAGS", "-D warnings")
}

/// nextest, or plain `cargo test` where nextest cannot be installed.
fn test_runner(profile: Profile) -> CommandLine {
    match tools::ensure_installed("nextest") {
        Ok(()) => nextest(profile),
        Err(error) => {
            say(format!("warning: going on with `cargo test`: {error:#}"));
            cargo_test(profile)
        }
    }
}

fn nextest(profile: Profile) -> CommandLine {
    let command = CommandLine::cargo(["nextest", "run", "--workspace", "--locked"]);
    match profile {
        Profile::Default => command,
        Profile::Ci => command.args(["--profile", "ci"]),
    }
}

fn cargo_test(profile: Profile) -> CommandLine {
    // The doctests are a suite of their own.
    let command =
        CommandLine::cargo(["test", "--workspace", "--lib", "--bins", "--tests", "--locked"]);
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
        assert_eq!(nextest(Profile::Default).to_string(), "cargo nextest run --workspace --locked");
        assert_eq!(
            nextest(Profile::Ci).to_string(),
            "cargo nextest run --workspace --locked --profile ci"
        );
    }

    #[test]
    fn the_fallback_also_goes_on_after_a_failure_in_ci() {
        assert!(cargo_test(Profile::Ci).to_string().ends_with("--no-fail-fast"));
    }
}
