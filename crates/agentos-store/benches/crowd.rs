//! The crowd with the full number: 150 processes on one file, some of them killed at any moment.
//!
//! `cargo xtask soak` runs this and keeps the line that begins with `summary:`.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]

#[path = "../tests/it/sqlite/crowd.rs"]
mod crowd;

use crowd::Crowd;

const PROCESSES: usize = 150;
const COMMITS: usize = 200;

#[expect(clippy::disallowed_methods, reason = "it watches its own processes")]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let Some(("part", rest)) = words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        crowd::take_part(&rest);
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("issue_workflow.db");
    let own = std::env::current_exe().expect("a program knows its file");
    let crowd = Crowd { processes: PROCESSES, commits: COMMITS, seed: 11 };
    let outcome = crowd.gather(&path, &|part| {
        let mut command = std::process::Command::new(&own);
        command.arg("part").args(part);
        command
    });
    println!(
        "summary: {PROCESSES} processes on one file, {} killed, {} commits and {} messages in {:.1} s, none lost or \
         doubled, worst wait {:.2} s, integrity ok",
        outcome.killed,
        outcome.commits,
        outcome.messages,
        outcome.took.as_secs_f64(),
        outcome.worst_wait.as_secs_f64(),
    );
}
