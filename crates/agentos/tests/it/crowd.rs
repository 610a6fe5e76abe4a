//! Many at once: runs in separate processes, across repositories and in one.

use std::path::{Path, PathBuf};

use crate::support::{Stand, lines};

/// Set by a soak, which wants the big numbers.
const SOAK: &str = "AGENTOS_SOAK";

const STEPS: usize = 3;

fn crowd() -> usize {
    if std::env::var_os(SOAK).is_some() { 150 } else { 8 }
}

/// Starts one process for each folder, all at once, and sees that each has done its own work once.
fn all_complete(stand: &Stand, folders: &[PathBuf], title: &str) {
    let file = |number: usize| stand.at(&format!("{title}-counted-{number}"));
    let mut processes = Vec::new();
    for (number, folder) in folders.iter().enumerate() {
        let (file, steps) = (format!("file={}", file(number).display()), format!("steps={STEPS}"));
        let arguments =
            ["run", "count", "--json", "--input", &file, "--input", &steps, "--input", "pause=5"];
        processes.push(stand.call(folder, &arguments).start());
    }
    for (number, process) in processes.into_iter().enumerate() {
        let run = process.done().exits(0).document();
        assert_eq!((&run["status"], &run["output"]), (&"COMPLETED".into(), &STEPS.into()));
        assert_eq!(lines(&file(number)), ["1", "2", "3"], "run {number}");
    }
}

fn check_database(folder: &Path, stand: &Stand, runs: usize) {
    let found = stand.runs(folder);
    assert_eq!(found.len(), runs);
    assert!(found.iter().all(|run| run["status"] == "COMPLETED"), "{found:#?}");
}

#[expect(clippy::print_stdout, reason = "a soak keeps this line")]
fn summarise(text: &str) {
    println!("summary: {text}");
}

#[test]
fn runs_at_once_all_complete_and_none_is_disturbed() {
    let stand = Stand::new();
    let count = crowd();
    let apart: Vec<PathBuf> =
        (0..count).map(|number| stand.empty_repository(&format!("apart-{number}"))).collect();
    all_complete(&stand, &apart, "apart");
    for folder in &apart {
        check_database(folder, &stand, 1);
    }
    let together = stand.empty_repository("together");
    all_complete(&stand, &vec![together.clone(); count], "together");
    check_database(&together, &stand, count);
    summarise(&format!(
        "{count} processes in as many repositories and {count} in one, each run of {STEPS} steps: all completed, none \
         disturbed"
    ));
}
