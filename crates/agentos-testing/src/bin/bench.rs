//! Runs a measurement, prints it as a table and keeps it as JSON.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use agentos_testing::bench::{Effort, Report, Sizes, durable_core};
use clap::{Parser, ValueEnum};

/// Where results are kept, from the root of the repository.
const RESULTS: &str = "bench/results";

#[derive(Parser)]
#[command(about = "Measures the core.")]
struct Arguments {
    /// What to measure; everything if left out
    name: Option<Bench>,
    /// How many samples each case gets
    #[arg(long, default_value_t = Effort::default().rounds)]
    rounds: u32,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Bench {
    /// Turns, folds and replays without a store
    Core,
}

impl Bench {
    const fn file(self) -> &'static str {
        match self {
            Self::Core => "core.json",
        }
    }

    fn run(self, effort: Effort) -> Report {
        match self {
            Self::Core => durable_core(Sizes::default(), effort),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let effort = Effort { rounds: arguments.rounds, ..Effort::default() };
    let wanted = arguments.name.map_or_else(|| Bench::value_variants().to_vec(), |name| vec![name]);
    for bench in wanted {
        let report = bench.run(effort);
        print!("{report}");
        if let Err(error) = keep(&report, bench.file()) {
            println!("error: could not write to {RESULTS}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn keep(report: &Report, file: &str) -> io::Result<()> {
    fs::create_dir_all(RESULTS)?;
    fs::write(Path::new(RESULTS).join(file), report.to_json() + "\n")
}
