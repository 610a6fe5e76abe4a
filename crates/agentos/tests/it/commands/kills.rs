//! Somebody is killed while a command runs. Whoever goes on finds it, or ends what is left and executes it again.

use rustix::process::Signal;
use serde_json::json;

use super::site::{PATIENT, Site, is_alive, kill, sorted, whole};
use crate::support::wait_until;

const ONCE: [&str; 3] = ["stderr: two", "stdout: one", "stdout: three"];

#[test]
fn a_command_outlives_a_killed_agentos_and_is_attached_to_again() {
    let site = Site::new();
    let (process, run) = site.begin_patient();
    process.kill();
    let [command] = site.ran()[..] else { panic!("it ran once") };
    assert!(is_alive(command), "the command goes on");
    site.go();
    wait_until("the command ends while no AgentOS lives", || !is_alive(command));
    let resumed = site.call(&["resume", "--json", &run]).exits(0).document();
    assert_eq!(resumed["output"], whole());
    assert_eq!(sorted(site.spoken()), ONCE);
    assert_eq!(site.ran(), [command], "it ran exactly once");
}

#[test]
fn agentos_can_be_killed_again_and_again() {
    let site = Site::new();
    let (process, run) = site.begin_patient();
    process.kill();
    for _ in 0..3 {
        let resumed = super::site::Process::start(site.command(&["resume", &run]));
        wait_until("it has the run", || site.show(&run)["interrupted"] == false);
        resumed.kill();
    }
    site.go();
    let resumed = site.call(&["resume", "--json", &run]).exits(0).document();
    assert_eq!(resumed["output"], whole());
    assert_eq!(sorted(site.spoken()), ONCE);
    assert_eq!(site.ran().len(), 1);
}

#[test]
fn what_a_killed_supervisor_leaves_is_ended_before_the_command_is_executed_again() {
    let site = Site::new();
    let (process, _) = site.begin_patient();
    let [first] = site.ran()[..] else { panic!("it ran once") };
    kill(site.supervisor(), Signal::KILL);
    wait_until("it runs again", || site.ran().len() == 2);
    assert!(!is_alive(first), "two never run at once");
    site.until_spoken("one", 2);
    site.go();
    let done = process.done().exits(0).document();
    assert_eq!(done["output"], whole(), "only the try that came to its end counts");
    let both = ["stderr: two", "stderr: two", "stdout: one", "stdout: one", "stdout: three"];
    assert_eq!(sorted(site.spoken()), both);
    assert_eq!(site.ran().len(), 2);
}

#[test]
fn agentos_and_supervisor_are_killed_and_resume_executes_the_command_again() {
    let site = Site::new();
    let (process, run) = site.begin_patient();
    let [first] = site.ran()[..] else { panic!("it ran once") };
    let supervisor = site.supervisor();
    process.kill();
    kill(supervisor, Signal::KILL);
    wait_until("the supervisor is dead", || !is_alive(supervisor));
    assert!(is_alive(first), "nobody has ended it yet");
    let resumed = super::site::Process::start(site.command(&["resume", "--json", &run]));
    wait_until("it runs again", || site.ran().len() == 2);
    assert!(!is_alive(first), "two never run at once");
    site.go();
    assert_eq!(resumed.done().exits(0).document()["output"], whole());
}

#[test]
fn a_command_outside_of_steps_is_found_again_too() {
    let site = Site::new();
    let process = site.begin("loose", &json!({ "command": PATIENT }));
    site.until_spoken("one", 1);
    process.kill();
    site.go();
    let resumed = site.call(&["resume", "--json", &site.only_run()]).exits(0).document();
    assert_eq!(resumed["output"], whole());
    assert_eq!(sorted(site.spoken()), ONCE);
    assert_eq!(site.ran().len(), 1);
}
