//! What a person does in the foreground while the background executor lives in the same database.

use std::fs;

use rustix::process::Signal;

use crate::support::{Stand, lines, name, until};

/// A stand whose executor has something to wait for.
fn with_an_executor() -> (Stand, std::path::PathBuf) {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "nap", "--input", "ms=600000", "--detach"]).exits(0);
    let sleeps = || stand.runs(&root).iter().any(|run| run["waiting"]["kind"] == "timer");
    until("the executor waits for a time", || sleeps() && stand.executors().len() == 1);
    (stand, root)
}

fn end(stand: &Stand, root: &std::path::Path) {
    stand.run(root, &["cancel", "nap"]).exits(0);
    until("the executor has left", || stand.executors().is_empty());
}

#[test]
fn a_run_in_the_foreground_is_driven_there_with_its_children_and_so_is_a_retry() {
    let (stand, root) = with_an_executor();
    for _ in 0..5 {
        stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
        stand.run(&root, &["run", "parent"]).exits(0);
    }
    let failing = ["run", "mend", "--input", "file=there", "--input", "counted=counted"];
    stand.run(&root, &failing).exits(1);
    fs::write(root.join("there"), "").expect("a file");
    let failed = name(&stand.only(&root, "mend"));
    stand.run(&root, &["retry", &failed]).exits(0);
    end(&stand, &root);
}

#[test]
fn a_run_that_somebody_has_stopped_rests_until_it_is_resumed() {
    let (stand, root) = with_an_executor();
    let file = stand.at("counted");
    let given = format!("file={}", file.display());
    let arguments =
        ["run", "count", "--input", &given, "--input", "steps=4", "--input", "pause=150"];
    let mut process = stand.call(&root, &arguments).start();
    until("two are counted", || lines(&file).len() >= 2);
    process.send(Signal::INT);
    process.done().exits(130);
    let counted = lines(&file).len();
    // Whatever the executor sees now, it has seen the run that was stopped as well.
    stand.run(&root, &["run", "greet", "--name", "Ada", "--detach"]).exits(0);
    let greeted = name(&stand.only(&root, "greet"));
    stand.until_status(&root, &greeted, "COMPLETED");
    assert_eq!(lines(&file).len(), counted, "nobody goes on with it");
    assert_eq!(stand.only(&root, "count")["interrupted"], true);
    stand.run(&root, &["resume", "count"]).exits(0);
    end(&stand, &root);
}

#[test]
fn what_a_run_has_started_does_not_answer_its_questions() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "ask", "--detach"]).exits(0);
    until("it asks", || stand.runs(&root).iter().any(|run| run["waiting"]["kind"] == "approval"));
    for arguments in [&["approve", "ask"][..], &["db", "path"]] {
        let refused = stand.call(&root, arguments).env("AGENTOS_OPERATION", "0123").done().exits(4);
        assert!(refused.err.contains("a process that a run has started"), "{refused:#?}");
    }
    stand.run(&root, &["approve", "ask"]).exits(0);
    stand.until_status(&root, "ask", "COMPLETED");
}
