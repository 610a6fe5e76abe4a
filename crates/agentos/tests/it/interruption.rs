//! Signals, and what is left of a run when its process is gone.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Gated, Process, Stand, Tally, kill, lines, name, wait_until};
use crate::travel::site::Site;

/// How long the engine waits for what it stops.
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// A run in a step that never ends by itself.
fn endless(stand: &Stand, root: &Path) -> (Process, String) {
    let file = stand.at("began");
    let given = format!("file={}", file.display());
    let process = stand.call(root, &["run", "endless", "--input", &given]).start();
    wait_until("it has begun", || !lines(&file).is_empty());
    (process, name(&stand.only(root, "endless")))
}

/// What was finished before the interruption is there once; what was interrupted may be there twice.
fn counted_well(counted: &[String], finished: u64) {
    for number in 1..=4 {
        let times = counted.iter().filter(|line| **line == number.to_string()).count();
        let most = if number <= finished { 1 } else { 2 };
        assert!((1..=most).contains(&times), "{number} was counted {times} times: {counted:?}");
    }
    assert!(counted.len() <= 5, "only what was interrupted is repeated: {counted:?}");
}

fn finished_steps(run: &Value) -> u64 {
    let steps = run["steps"].as_array().expect("a run has steps");
    steps.iter().filter(|step| step["status"] == "COMPLETED").count() as u64
}

fn goes_on_after(signal: Signal, code: Option<i32>) {
    let (stand, root) = Stand::with_repository();
    let (mut process, tally) = Tally::start(&stand, &root);
    process.send(signal);
    let done = process.done();
    assert_eq!(done.code, code, "{done:#?}");
    let mut run = Value::Null;
    // What a killed process was about to start has its locks until that begins.
    wait_until("the run is interrupted", || {
        run = stand.show(&root, "tally");
        run["interrupted"] == true
    });
    assert_eq!(run["status"], "RUNNING", "{run}");
    let listed = stand.run(&root, &["status"]).exits(0).out;
    assert!(listed.contains("INTERRUPTED"), "{listed}");
    if code.is_some() {
        let hint = format!("`agentos resume {}`", name(&run));
        assert!(done.err.contains(&hint), "it says how to go on: {done:#?}");
    }
    tally.go();
    let resumed = stand.run(&root, &["resume", "tally"]).exits(0).out;
    assert!(resumed.contains("  resumed\n"), "{resumed}");
    assert!(!resumed.contains("count 1: started"), "what is old is not told as new: {resumed}");
    let after = stand.show(&root, "tally");
    assert_eq!(after["status"], "COMPLETED");
    counted_well(&tally.counted(), finished_steps(&run));
}

#[test]
fn ctrl_c_stops_the_run_which_can_be_resumed() {
    goes_on_after(Signal::INT, Some(130));
}

#[test]
fn a_lost_terminal_leaves_the_run_which_can_be_resumed() {
    goes_on_after(Signal::HUP, Some(130));
}

#[test]
fn a_polite_end_leaves_the_run_which_can_be_resumed() {
    goes_on_after(Signal::TERM, Some(130));
}

#[test]
fn a_killed_process_leaves_the_run_which_goes_on_without_repeating_finished_work() {
    goes_on_after(Signal::KILL, None);
}

#[test]
fn whoever_presses_ctrl_c_twice_does_not_wait() {
    let (stand, root) = Stand::with_repository();
    let (mut process, run) = endless(&stand, &root);
    // Two that come at once are one to the kernel, so whoever does not wait presses until it ends.
    wait_until("it ends", || {
        process.send(Signal::INT);
        process.has_ended().is_some()
    });
    assert_eq!(process.done().code, Some(130));
    assert_eq!(stand.show(&root, &run)["interrupted"], true);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "how long it takes is what tells the second Ctrl-C from the first"
)]
fn ctrl_c_pressed_twice_ends_a_process_that_can_not_stop_its_run() {
    let site = Site::new(r#"await ctx.shell("echo + > began; exec sleep 1000");"#);
    let mut process = site.begin(&["run", "work", "--workspace", "none"]);
    wait_until("its command is at work", || site.root.join("began").exists());
    let run = site.only();
    let own = process.pid();
    let others: Vec<i32> = site.stand.processes().into_iter().filter(|pid| *pid != own).collect();
    assert!(!others.is_empty(), "the command and what supervises it");
    // Neither answers any more: to stop the run takes as long as the engine waits at most.
    others.iter().for_each(|pid| kill(*pid, Signal::STOP));
    let begun = Instant::now();
    wait_until("it ends", || {
        process.send(Signal::INT);
        process.has_ended().is_some()
    });
    assert_eq!(process.done().code, Some(130));
    assert!(begun.elapsed() < STOP_WITHIN, "it did not wait");
    others.iter().for_each(|pid| kill(*pid, Signal::CONT));
    assert_eq!(site.show(&run)["interrupted"], true);
    site.run(&["cancel", &run]).exits(0);
    wait_until("no process is at work", || site.stand.processes().is_empty());
}

#[test]
fn a_run_that_was_killed_over_and_over_completes() {
    let (stand, root) = Stand::with_repository();
    let gated = Gated::new(&stand, &root, "counted");
    let mut process = stand.call(&root, &["run", "gated", "--input", &gated.input()]).start();
    for number in 1..=4 {
        gated.wait_until_counted(number);
        process.kill();
        gated.go_on_from(number);
        process = stand.call(&root, &["resume", "gated"]).start();
    }
    process.done().exits(0);
    assert_eq!(gated.counted(), ["1", "2", "3", "4"], "nothing is repeated");
    assert_eq!(stand.show(&root, "gated")["status"], "COMPLETED");
}

#[test]
fn what_is_being_run_is_not_resumed_and_it_says_who_runs_it() {
    let (stand, root) = Stand::with_repository();
    let (mut process, run) = endless(&stand, &root);
    let who = format!("process {}", process.pid());
    for arguments in [&["resume", &run][..], &["resume", "--detach", &run]] {
        let refused = stand.run(&root, arguments).exits(4);
        assert!(refused.err.contains(&who), "{refused:#?}");
    }
    assert!(process.has_ended().is_none(), "whoever has it is not disturbed");
}

#[test]
fn of_two_who_resume_at_once_one_wins_and_the_other_says_who() {
    let (stand, root) = Stand::with_repository();
    let (process, run) = endless(&stand, &root);
    process.kill();
    // The run never ends by itself, so the winner still has it when the other process looks.
    let resume = || stand.call(&root, &["resume", &run]).start();
    let (mut one, mut other) = (resume(), resume());
    wait_until("one of them has ended", || {
        one.has_ended().is_some() || other.has_ended().is_some()
    });
    let (mut winner, loser) = if one.has_ended().is_some() { (other, one) } else { (one, other) };
    let loser = loser.done().exits(4);
    let who = format!("is being run by process {}", winner.pid());
    assert!(loser.err.contains(&who), "{loser:#?}");
    wait_until("the other one goes on with it", || lines(&stand.at("began")).len() == 2);
    assert!(winner.has_ended().is_none(), "the winner is not disturbed");
}

#[test]
fn a_stopped_process_is_taken_over_from_by_name() {
    let (stand, root) = Stand::with_repository();
    let (mut process, tally) = Tally::start(&stand, &root);
    process.stand_still(&root.join(".agentos/issue_workflow.db"));
    stand.run(&root, &["resume", "tally"]).exits(4);
    tally.go();
    let taken = stand.run(&root, &["resume", "--take-over", "tally"]).exits(0);
    assert!(taken.err.contains("was ended"), "{taken:#?}");
    assert_eq!(process.done().code, None, "it was killed");
    assert_eq!(stand.show(&root, "tally")["status"], "COMPLETED");
    counted_well(&tally.counted(), 1);
}

#[test]
fn a_run_whose_process_lives_is_cancelled_by_it() {
    let (stand, root) = Stand::with_repository();
    let (process, run) = endless(&stand, &root);
    let cancelled = stand.run(&root, &["cancel", &run, "--reason", "enough"]).exits(0);
    assert_eq!(cancelled.out, format!("{run}  CANCELLED\n"));
    let done = process.done().exits(1);
    assert!(done.out.contains("cancelled after"), "{done:#?}");
}

#[test]
fn a_run_whose_process_is_dead_is_cancelled_all_the_same() {
    let (stand, root) = Stand::with_repository();
    let (process, run) = endless(&stand, &root);
    process.kill();
    let cancelled = stand.run(&root, &["cancel", &run, "--json"]).exits(0).document();
    assert_eq!(cancelled["status"], "CANCELLED");
}
