//! `cargo xtask bench store`: what the SQLite store costs, against what SQLite itself can do on the same disk.
//!
//! Everything is measured in rounds: one sample of each case, then the next round, beginning with another case. What is
//! compared is compared within a round. Prints a table and writes `bench/results/store.json`.
//!
//! With the word `indexes` it measures those alone. With the word `profile` it commits steps for 128 waiters and nothing else, to be looked at with a profiler.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]

#[expect(dead_code, reason = "the bench of the engine also writes the rows of a step")]
mod bare_sqlite;
mod commits;
mod cpu;
mod crowd;
mod indexes;
mod queries;
mod report;
mod steps;

use std::path::Path;

use report::Report;

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let rounds = words.first().and_then(|word| word.parse().ok()).unwrap_or(5);
    if words.first().is_some_and(|word| word == "profile") {
        commits::repeat_one_case();
        return;
    }
    let mut report = Report::default();
    if words.first().is_some_and(|word| word == "indexes") {
        indexes::measure(9, &mut report);
        print!("{report}");
        return;
    }
    commits::measure(rounds, &mut report);
    queries::measure(rounds.max(5) * 4, &mut report);
    indexes::measure(rounds.min(3), &mut report);
    print!("{report}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let kept = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("store.json"), report.to_json() + "\n"));
    if let Err(error) = kept {
        println!("error: could not write to {}: {error}", folder.display());
        std::process::exit(1);
    }
}
