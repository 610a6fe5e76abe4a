//! `cargo xtask bench [NAME]`: measures, prints a table and writes `bench/results/NAME.json`.
//!
//! Numbers are read by people and compared within one run; no test asserts them, and git does not keep them.
//! docs/benchmarks.md begins with the bars and the figures of the last time.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::release::{
    cli_bench, engine_bench, process_bench, real_program, server_bench, store_bench,
    testing_binary, workspace_bench,
};
use crate::shell::{self, CommandLine, headline, say};
use crate::stopwatch::{self, Stopwatch};

const RESULTS: &str = "bench/results";

/// Stands for all of them.
const ALL: &str = "all";

/// One measurement, and what it is measured beside.
struct Bench {
    name: &'static str,
    /// Run in this order. The last one writes the result.
    commands: Vec<CommandLine>,
}

/// Every measurement.
fn benches() -> Vec<Bench> {
    let bench = |name, commands| Bench { name, commands };
    let with_program = |command| vec![real_program(), command];
    vec![
        // By itself.
        bench("core", vec![testing_binary("bench", &["core"])]),
        // Beside plain SQL.
        bench("store", vec![store_bench("store", &[])]),
        bench("steps", vec![engine_bench("steps")]),
        bench("parked", vec![engine_bench("parked")]),
        bench("script", vec![engine_bench("script")]),
        bench("server", with_program(store_bench("server", &[]))),
        // Beside plain calls of `sqlite3`.
        bench("view", with_program(store_bench("view", &[]))),
        // With a thousand clients.
        bench("live", vec![server_bench("live")]),
        // Beside a plain spawn.
        bench("process", with_program(process_bench("process"))),
        // Beside git.
        bench("cli", vec![cli_bench("cli")]),
        bench("workspace", vec![cli_bench("workspace")]),
        bench("snapshot", vec![workspace_bench("snapshot")]),
    ]
}

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The measurement to run, or `all`
    #[arg(default_value = ALL)]
    name: String,
}

/// Runs the measurement, or all of them: one that fails does not stop the others.
pub(crate) fn run(args: &Args) -> Result<()> {
    let wanted: Vec<Bench> =
        benches().into_iter().filter(|bench| args.name == ALL || args.name == bench.name).collect();
    let known: Vec<&str> = benches().iter().map(|bench| bench.name).collect();
    ensure!(
        !wanted.is_empty(),
        "there is no measurement `{}`; there are {ALL}, {}",
        args.name,
        known.join(", ")
    );
    let count = wanted.len();
    let mut lines = Vec::new();
    let mut failed = 0;
    for bench in wanted {
        headline(bench.name);
        let clock = Stopwatch::start();
        let result = bench.run();
        let elapsed = stopwatch::shown(clock.elapsed());
        let end = match &result {
            Ok(()) => format!("{}", result_path(bench.name).display()),
            Err(error) => format!("FAILED: {error:#}"),
        };
        failed += usize::from(result.is_err());
        lines.push(format!("{:<10} {elapsed:>8}  {end}", bench.name));
    }
    say("");
    lines.iter().for_each(say);
    ensure!(failed == 0, "{failed} of {count} measurements failed");
    Ok(())
}

impl Bench {
    fn run(&self) -> Result<()> {
        let result = shell::root().join(result_path(self.name));
        // A result of another time would pass for this one's.
        match std::fs::remove_file(&result) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", result.display()));
            }
            _ => {}
        }
        self.commands.iter().try_for_each(CommandLine::run)?;
        ensure!(result.exists(), "it left no {}", result.display());
        Ok(())
    }
}

fn result_path(name: &str) -> PathBuf {
    Path::new(RESULTS).join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_named_after_its_measurement() {
        assert_eq!(result_path("replay"), Path::new("bench/results/replay.json"));
    }

    #[test]
    fn every_measurement_has_a_name_of_its_own() {
        let mut names: Vec<&str> = benches().iter().map(|bench| bench.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert!(!names.contains(&ALL));
    }
}
