//! `cargo xtask bench script`: what a TypeScript workflow costs, beside Node where that can be compared.
//!
//! *Alone*: how long an instance takes to its first wait, how long the replay of 10,000 operations takes, and how much
//! memory an instance holds while it waits for a command. *Durable*: the processor time of a durable step, through engine
//! and store, with 128 runs at once; the same steps in Rust beside it.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]

#[path = "script/alone.rs"]
mod alone;
#[path = "script/durable.rs"]
mod durable;
#[path = "../../agentos-store/benches/store/report.rs"]
mod report;

use std::path::Path;

use report::Report;

const ROUNDS: usize = 5;

fn main() {
    let mut report = Report::default();
    for round in 0..ROUNDS {
        for (case, unit, sample) in alone::sample(round == 0) {
            report.add(case, unit, sample);
        }
        for (case, unit, sample) in durable::sample() {
            report.add(case, unit, sample);
        }
    }
    report.ratio(alone::NODE, alone::START, "cpu µs");
    report.ratio(durable::TYPESCRIPT, durable::RUST, "cpu µs");
    print!("{report}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let kept = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("script.json"), report.to_json() + "\n"));
    if let Err(error) = kept {
        println!("error: could not write to {}: {error}", folder.display());
        std::process::exit(1);
    }
}
