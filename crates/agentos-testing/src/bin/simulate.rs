//! Runs the simulation from the command line: long campaigns, or one seed.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]

use std::process::ExitCode;
use std::thread;

use agentos_testing::simulation::{Campaign, Finding, Scenario, Tally, check};
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Simulates runs under faults.")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Executes many schedules, on all cores.
    Soak {
        /// How many schedules at least.
        #[arg(long, default_value_t = 100_000)]
        schedules: u64,
        /// The first seed.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Looks at the scenario of one seed.
    Seed {
        /// The seed.
        seed: u64,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().verb {
        Verb::Soak { schedules, seed } => soak(schedules, seed),
        Verb::Seed { seed } => one(seed),
    }
}

fn soak(schedules: u64, seed: u64) -> ExitCode {
    let workers = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let share = |worker| Campaign {
        seed: seed + worker,
        stride: workers,
        schedules: schedules.div_ceil(workers),
    };
    let results: Vec<Result<Tally, String>> = thread::scope(|scope| {
        let handles: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    share(worker).run().map_err(|finding: Box<Finding>| finding.to_string())
                })
            })
            .collect();
        let joined = handles.into_iter().map(|handle| handle.join());
        joined.map(|result| result.unwrap_or_else(|_| Err("a worker panicked".into()))).collect()
    });
    let mut tally = Tally::default();
    for result in results {
        match result {
            Ok(share) => tally = tally.plus(share),
            Err(finding) => {
                println!("{finding}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "summary: {} programs, {} schedules, {} entries, no difference to the uninterrupted runs; {} switches to \
         changed sources, {} bodies played",
        tally.programs, tally.schedules, tally.entries, tally.switches, tally.played
    );
    ExitCode::SUCCESS
}

fn one(seed: u64) -> ExitCode {
    let scenario = Scenario::generate(seed);
    println!("{}", scenario.program);
    match check(&scenario) {
        Ok(check) => {
            println!("{} schedules, {} entries: fine", check.schedules, check.entries);
            ExitCode::SUCCESS
        }
        Err(mismatch) => {
            println!("{mismatch}");
            ExitCode::FAILURE
        }
    }
}
