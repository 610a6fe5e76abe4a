//! The background executor: one for a database, there on demand, gone when idle.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use crate::support::{Stand, Tally, kill, name, wait_until};

fn detached(stand: &Stand, root: &Path, arguments: &[&str]) -> String {
    let words: Vec<&str> = ["run", "--detach"].iter().chain(arguments).copied().collect();
    stand.run(root, &words).exits(0).out.trim_end().to_owned()
}

fn until_idle(stand: &Stand) {
    wait_until("the executor is gone", || stand.executors().is_empty());
}

#[test]
fn what_is_detached_is_done_by_one_executor_which_leaves_when_idle() {
    let (stand, root) = Stand::with_repository();
    let listening = detached(&stand, &root, &["listen"]);
    // An executor stays while there is a time to wait for.
    let napping = detached(&stand, &root, &["nap", "--input", "ms=600000"]);
    let others: Vec<String> =
        (0..3).map(|_| detached(&stand, &root, &["greet", "--name", "Ada"])).collect();
    for other in &others {
        stand.until_status(&root, other, "COMPLETED");
    }
    wait_until("one executor is there, and the superfluous ones have ended", || {
        stand.executors().len() == 1
    });
    stand.run(&root, &["cancel", &napping]).exits(0);
    stand.run(&root, &["signal", &listening, "go", r#"{"to": "sea"}"#]).exits(0);
    let run = stand.until_status(&root, &listening, "COMPLETED");
    assert_eq!(run["output"]["to"], "sea");
    until_idle(&stand);
    let folder = root.join(".agent/workflows/executions").join(run["id"].as_str().unwrap());
    let kept = fs::read_to_string(folder.join("metadata.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["status"], "COMPLETED", "the document in the folder is of the end");
}

#[test]
fn an_answer_starts_an_executor_if_there_is_none() {
    let (stand, root) = Stand::with_repository();
    let run = detached(&stand, &root, &["ask"]);
    wait_until("it asks", || stand.show(&root, &run)["waiting"]["kind"] == "approval");
    stand.kill_executors();
    let nobody = stand.run(&root, &["approve", &run, "--question", "Why?"]).exits(3);
    assert!(nobody.err.contains("Shall we?"), "{nobody:#?}");
    let told = stand.run(&root, &["approve", &run, "--deny", "--comment", "not today"]).exits(0);
    assert_eq!(told.out, "denied: Shall we?\n");
    let run = stand.until_status(&root, &run, "COMPLETED");
    assert_eq!(run["output"]["approved"], false);
    assert_eq!(run["output"]["comment"], "not today");
    until_idle(&stand);
}

#[test]
fn a_signal_under_one_key_counts_once() {
    let (stand, root) = Stand::with_repository();
    let run = detached(&stand, &root, &["listen"]);
    let send = || stand.run(&root, &["signal", &run, "later", "--key", "k"]).exits(0).err;
    let (first, second) = (send(), send());
    assert_eq!((first.as_str(), second.contains("already")), ("", true), "{second}");
    stand.run(&root, &["signal", &run, "go", "once"]).exits(0);
    assert_eq!(stand.until_status(&root, &run, "COMPLETED")["output"], "once");
}

/// A run that was killed after it had counted to two, and can go on now.
fn killed(stand: &Stand, root: &Path) -> (String, Tally) {
    let (process, tally) = Tally::start(stand, root);
    process.kill();
    tally.go();
    (name(&stand.only(root, "tally")), tally)
}

/// A run that was killed while it slept. On a machine that is too slow for a short nap another one takes a longer one.
fn killed_in_its_sleep(stand: &Stand, root: &Path) -> String {
    let naps = || stand.runs(root).into_iter().find(|run| run["status"] == "RUNNING");
    for ms in ["ms=300", "ms=3000", "ms=30000"] {
        let mut process = stand.call(root, &["run", "nap", "--input", ms]).start();
        wait_until("it sleeps, or has slept", || {
            naps().is_some_and(|run| run["waiting"]["kind"] == "timer")
                || process.has_ended().is_some()
        });
        process.kill();
        if let Some(run) = naps() {
            return name(&run);
        }
    }
    panic!("every nap was over before it could be interrupted");
}

#[test]
fn a_run_is_resumed_in_the_background() {
    let (stand, root) = Stand::with_repository();
    let (run, tally) = killed(&stand, &root);
    let told = stand.run(&root, &["resume", "--detach", &run]).exits(0);
    assert_eq!(told.out.trim_end(), run);
    stand.until_status(&root, &run, "COMPLETED");
    assert!(tally.counted().len() <= 5, "{:?}", tally.counted());
    until_idle(&stand);
}

#[test]
fn what_is_due_is_gone_on_with_here_or_in_the_background() {
    let (stand, root) = Stand::with_repository();
    let (run, _) = killed(&stand, &root);
    let due = stand.run(&root, &["resume", "--due"]).exits(0);
    assert_eq!(due.out, format!("{run}  COMPLETED\n"));
    assert!(due.err.contains("going on with 1 run"), "{due:#?}");
    let nap = killed_in_its_sleep(&stand, &root);
    wait_until("it is due", || {
        let told = stand.run(&root, &["resume", "--due", "--detach"]).exits(0);
        told.err.contains("1 run left to the background")
    });
    stand.until_status(&root, &nap, "COMPLETED");
    until_idle(&stand);
}

#[test]
fn an_executor_that_is_told_to_go_leaves_runs_to_the_next() {
    let (stand, root) = Stand::with_repository();
    let run = detached(&stand, &root, &["listen"]);
    wait_until("it waits", || stand.show(&root, &run)["waiting"]["kind"] == "signal");
    for pid in stand.executors() {
        kill(pid, Signal::TERM);
    }
    until_idle(&stand);
    assert_eq!(stand.show(&root, &run)["status"], "RUNNING");
    stand.run(&root, &["signal", &run, "go"]).exits(0);
    stand.until_status(&root, &run, "COMPLETED");
}

#[test]
fn a_detached_run_can_be_cancelled() {
    let (stand, root) = Stand::with_repository();
    let file = format!("file={}", stand.at("began").display());
    let run = detached(&stand, &root, &["endless", "--input", &file]);
    wait_until("it has begun", || stand.at("began").exists());
    let cancelled = stand.run(&root, &["cancel", &run]).exits(0);
    assert_eq!(cancelled.out, format!("{run}  CANCELLED\n"));
    until_idle(&stand);
}

#[test]
fn a_detached_run_prints_its_document_as_it_stands() {
    let (stand, root) = Stand::with_repository();
    let run = stand.run(&root, &["run", "listen", "--detach", "--json"]).exits(0).document();
    assert!(matches!(run["status"].as_str(), Some("PENDING" | "RUNNING")), "{run}");
    stand.run(&root, &["cancel", &name(&run)]).exits(0);
}
