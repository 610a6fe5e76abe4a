//! `cargo xtask coverage`: which lines the tests reach.
//!
//! A crate is covered by its own tests and by those of `agentos-testing`, whose simulations drive
//! it through whole runs. tarpaulin's ptrace engine is used because it needs nothing beyond the
//! plain toolchain; it builds into a folder of its own, so that it and everyday builds do not throw
//! away each other's work.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::shell::{self, CommandLine, say};
use crate::tools;

const TARGET: &str = "target/coverage";
const REPORT: &str = "target/coverage/tarpaulin-report.json";
/// Stepping through lines is slow; a test that takes longer than this hangs.
const TEST_TIMEOUT_SECONDS: &str = "900";

/// What to measure, and what is enough.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The package whose lines are counted
    #[arg(long, default_value = "agentos-core")]
    package: String,
    /// Fail below this percentage of lines
    #[arg(long, default_value_t = 95.0)]
    min: f64,
}

/// Measures, prints the percentages, and fails when too few lines are reached.
pub(crate) fn run(args: &Args) -> Result<()> {
    tools::ensure_installed("tarpaulin")?;
    tarpaulin(&args.package).run()?;
    let text = fs::read_to_string(shell::root().join(REPORT))
        .with_context(|| format!("could not read {REPORT}"))?;
    let report: Report =
        serde_json::from_str(&text).with_context(|| format!("{REPORT} is not what we know"))?;
    let lines = Lines::of(&report, &args.package);
    for line in table(&lines) {
        say(line);
    }
    let total = total(&lines);
    ensure!(total.coverable > 0, "no line of {} was measured; is that its name?", args.package);
    ensure!(
        total.percent() >= args.min,
        "{:.1} % of the lines are reached, {} % wanted",
        total.percent(),
        args.min
    );
    Ok(())
}

fn tarpaulin(package: &str) -> CommandLine {
    let sources = format!("crates/{package}/src/*");
    CommandLine::cargo(["tarpaulin", "--engine", "ptrace", "--locked"])
        // Both packages' tests run, and lines of the one count whoever's test reaches them.
        .args(["--package", package, "--package", "agentos-testing", "--include-files", &sources])
        .args(["--skip-clean", "--target-dir", TARGET, "--timeout", TEST_TIMEOUT_SECONDS])
        .args(["--out", "Json", "--output-dir", TARGET])
}

/// tarpaulin's report, as far as we need it.
#[derive(Deserialize)]
struct Report {
    files: Vec<ReportFile>,
}

#[derive(Deserialize)]
struct ReportFile {
    path: Vec<String>,
    covered: u64,
    coverable: u64,
}

/// Lines reached, of those that can be.
struct Lines {
    name: String,
    covered: u64,
    coverable: u64,
}

impl Lines {
    /// The files of the package that have any code, by name.
    fn of(report: &Report, package: &str) -> Vec<Self> {
        let sources = format!("/crates/{package}/src/");
        let mut lines: Vec<Self> = report
            .files
            .iter()
            .filter(|file| file.coverable > 0)
            .filter_map(|file| {
                let path = file.path.join("/");
                let (_, name) = path.split_once(&sources)?;
                Some(Self {
                    name: name.to_owned(),
                    covered: file.covered,
                    coverable: file.coverable,
                })
            })
            .collect();
        lines.sort_by(|a, b| a.name.cmp(&b.name));
        lines
    }

    fn percent(&self) -> f64 {
        self.covered as f64 * 100.0 / self.coverable as f64
    }
}

fn total(lines: &[Lines]) -> Lines {
    Lines {
        name: "total".to_owned(),
        covered: lines.iter().map(|file| file.covered).sum(),
        coverable: lines.iter().map(|file| file.coverable).sum(),
    }
}

fn table(files: &[Lines]) -> Vec<String> {
    let all = total(files);
    let rows = files.iter().chain(std::iter::once(&all));
    rows.filter(|row| row.coverable > 0)
        .map(|row| {
            format!(
                "{:>6.1} %  {:>9}  {}",
                row.percent(),
                format!("{}/{}", row.covered, row.coverable),
                row.name
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"files": [
        {"path": ["/", "crates", "agentos-core", "src", "turn", "replay.rs"], "content": "",
         "traces": [], "covered": 19, "coverable": 20},
        {"path": ["/", "crates", "agentos-core", "src", "lib.rs"], "covered": 0, "coverable": 0},
        {"path": ["/", "crates", "agentos-core", "src", "fold.rs"], "covered": 60, "coverable": 60},
        {"path": ["/", "crates", "agentos-testing", "src", "a.rs"], "covered": 1, "coverable": 9}
    ]}"#;

    #[test]
    fn only_the_lines_of_the_package_count() {
        let report: Report = serde_json::from_str(REPORT).unwrap();
        assert_eq!(
            table(&Lines::of(&report, "agentos-core")),
            [
                " 100.0 %      60/60  fold.rs",
                "  95.0 %      19/20  turn/replay.rs",
                "  98.8 %      79/80  total"
            ]
        );
    }

    #[test]
    fn a_package_that_was_not_measured_has_no_percentage() {
        let report: Report = serde_json::from_str(REPORT).unwrap();
        assert_eq!(total(&Lines::of(&report, "no-such-crate")).coverable, 0);
    }
}
