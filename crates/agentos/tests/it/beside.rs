//! What a person does in the foreground while the background executor lives in the same database.

use std::fs;

use rustix::process::Signal;

use crate::support::{Stand, Tally, name, wait_until};

/// A stand whose executor has something to wait for.
fn with_an_executor() -> (Stand, std::path::PathBuf) {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "nap", "--input", "ms=600000", "--detach"]).exits(0);
    let sleeps = || stand.runs(&root).iter().any(|run| run["waiting"]["kind"] == "timer");
    wait_until("the executor waits for a time", || sleeps() && stand.executors().len() == 1);
    (stand, root)
}

fn end(stand: &Stand, root: &std::path::Path) {
    stand.run(root, &["cancel", "nap"]).exits(0);
    wait_until("the executor has left", || stand.executors().is_empty());
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
    let (mut process, tally) = Tally::start(&stand, &root);
    process.send(Signal::INT);
    process.done().exits(130);
    tally.go();
    let counted = tally.counted();
    // Whatever the executor sees now, it has seen the run that was stopped as well.
    stand.run(&root, &["run", "greet", "--name", "Ada", "--detach"]).exits(0);
    let greeted = name(&stand.only(&root, "greet"));
    stand.until_status(&root, &greeted, "COMPLETED");
    assert_eq!(tally.counted(), counted, "the executor leaves it alone");
    assert_eq!(stand.only(&root, "tally")["interrupted"], true);
    stand.run(&root, &["resume", "tally"]).exits(0);
    end(&stand, &root);
}

#[test]
fn what_a_run_has_started_does_not_answer_its_questions() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "ask", "--detach"]).exits(0);
    wait_until("it asks", || {
        stand.runs(&root).iter().any(|run| run["waiting"]["kind"] == "approval")
    });
    for arguments in [&["approve", "ask"][..], &["db", "path"]] {
        let refused = stand.call(&root, arguments).env("AGENTOS_OPERATION", "0123").done().exits(4);
        assert!(refused.err.contains("a process that a run has started"), "{refused:#?}");
    }
    stand.run(&root, &["approve", "ask"]).exits(0);
    stand.until_status(&root, "ask", "COMPLETED");
}
