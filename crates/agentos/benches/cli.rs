//! `cargo xtask bench cli`: how long the binary takes to be there, beside git in the same rounds.
//!
//! Whoever types `agentos status` waits for all of it: the program is loaded, the repository is found (which asks git
//! itself), the configuration and the database are read. So the time of the whole process is what counts.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]

#[path = "../../agentos-store/benches/store/report.rs"]
mod report;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use agentos_testing::repo::Playground;
use report::Report;

const ROUNDS: usize = 200;
const AGENTOS: &str = env!("CARGO_BIN_EXE_agentos");

struct Case {
    title: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
}

const CASES: [Case; 4] = [
    Case { title: "agentos --version", program: AGENTOS, arguments: &["--version"] },
    Case { title: "git --version", program: "git", arguments: &["--version"] },
    Case { title: "agentos status, empty repository", program: AGENTOS, arguments: &["status"] },
    Case { title: "git status, empty repository", program: "git", arguments: &["status"] },
];

fn milliseconds(case: &Case, playground: &Playground, folder: &Path) -> f64 {
    let mut command = Command::new(case.program);
    command.args(case.arguments).current_dir(folder).env_clear().envs(playground.environment());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status().expect("the program is there");
    let took = begun.elapsed().as_secs_f64() * 1e3;
    assert!(status.success(), "{}: {status}", case.title);
    took
}

fn main() -> ExitCode {
    let playground = Playground::new();
    let folder = playground.empty_repository("empty");
    let mut report = Report::default();
    for round in 0..ROUNDS {
        // Each case follows on each other one as often.
        for at in 0..CASES.len() {
            let case = &CASES[(round + at) % CASES.len()];
            report.add(case.title, "ms", milliseconds(case, &playground, &folder));
        }
    }
    for pair in CASES.chunks(2) {
        report.ratio(pair[0].title, pair[1].title, "ms");
    }
    print!("{report}");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let kept = std::fs::create_dir_all(&results)
        .and_then(|()| std::fs::write(results.join("cli.json"), report.to_json() + "\n"));
    if let Err(error) = kept {
        println!("error: could not write to {}: {error}", results.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
