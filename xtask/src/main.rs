//! The repository's own commands, run as `cargo xtask <verb>`.
//!
//! Everything a contributor or CI needs is a verb here and nowhere else: no shell scripts with
//! logic, no step that only the CI configuration knows. A verb does its own set-up, so that a fresh
//! clone needs nothing but Rust.
//!
//! One file per verb. What they share: [`shell`] starts programs and prints, [`tools`] installs
//! cargo's sub-commands, [`suites`] runs a list of checks to the end and sums them up.

mod bench;
mod ci;
mod coverage;
mod demo;
mod dist;
mod jj;
mod mcp;
mod openapi;
mod progress;
mod python;
mod release;
mod schemathesis;
mod shell;
mod soak;
mod stopwatch;
mod suites;
mod test;
mod tidy;
mod tools;
mod ui;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The repository's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run every check with fixed seeds and small numbers; what CI runs
    Test,
    /// Run the long suites with the full numbers and keep their summaries in docs/soak.md
    Soak(soak::Args),
    /// Like `test`, with the test runner's CI profile
    Ci,
    /// Check the rules of the source tree that the compiler does not know
    Tidy,
    /// Measure, and write the results to bench/results
    Bench(bench::Args),
    /// Measure line coverage and fail below a threshold
    Coverage(coverage::Args),
    /// Build AgentOS and run a workflow: from a specification to a pull request, with a kill on the way
    Demo(demo::Args),
    /// Build the binary for users in target/dist: optimised and stripped, its symbols beside it
    Dist,
    /// Build the jj that the tests need, unless that was done before
    Jj,
    /// Install the MCP client that the tests need, unless that was done before
    Mcp,
    /// Install the maker of requests that the tests need, unless that was done before
    Schemathesis,
    /// Write the description of the server's API to ui/openapi.json
    Openapi,
    /// Build the dashboard that the server carries
    Ui,
}

fn main() -> ExitCode {
    match run(Cli::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            shell::complain(format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(verb: Verb) -> anyhow::Result<()> {
    match verb {
        Verb::Test => test::run(test::Profile::from_environment()),
        Verb::Soak(args) => soak::run(&args),
        Verb::Ci => ci::run(),
        Verb::Tidy => tidy::run(),
        Verb::Bench(args) => bench::run(&args),
        Verb::Coverage(args) => coverage::run(&args),
        Verb::Demo(args) => demo::run(&args),
        Verb::Dist => dist::run(),
        Verb::Jj => jj::ensure_built(),
        Verb::Mcp => mcp::ensure_installed(),
        Verb::Schemathesis => schemathesis::ensure_installed(),
        Verb::Openapi => openapi::run(),
        Verb::Ui => ui::build(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
