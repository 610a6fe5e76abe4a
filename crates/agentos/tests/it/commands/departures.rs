//! AgentOS is asked to go, or nobody lives who could be asked: what becomes of commands.

use rustix::process::Signal;
use serde_json::json;

use super::site::{PATIENT, Process, Site, is_alive, until, whole};

#[test]
fn ctrl_c_ends_the_command_and_the_run_can_be_resumed() {
    let site = Site::new();
    let (process, run) = site.begin_patient();
    let [first] = site.ran()[..] else { panic!("it ran once") };
    process.send(Signal::INT);
    let done = process.done().exits(130);
    assert!(!is_alive(first), "nothing of it is left when AgentOS is gone");
    assert!(done.err.contains(&format!("agentos resume {run}")), "{done:#?}");
    site.go();
    let resumed = site.call(&["resume", "--json", &run]).exits(0).document();
    assert_eq!(resumed["output"], whole());
    assert_eq!(site.ran().len(), 2, "what was ended is executed again");
}

#[test]
fn a_command_goes_on_when_agentos_is_told_to_leave() {
    for signal in [Signal::HUP, Signal::TERM] {
        let site = Site::new();
        let (process, run) = site.begin_patient();
        let [command] = site.ran()[..] else { panic!("it ran once") };
        process.send(signal);
        process.done().exits(130);
        assert!(is_alive(command), "{signal:?} leaves it running");
        let resumed = Process::start(site.command(&["resume", "--json", &run]));
        until("somebody has the run", || site.show(&run)["interrupted"] == false);
        site.go();
        assert_eq!(resumed.done().exits(0).document()["output"], whole());
        assert_eq!(site.ran(), [command], "it ran exactly once");
    }
}

#[test]
fn cancel_ends_a_command_while_no_agentos_lives() {
    let site = Site::new();
    let (process, run) = site.begin_patient();
    let [command] = site.ran()[..] else { panic!("it ran once") };
    process.kill();
    let cancelled = site.call(&["cancel", "--json", &run]).exits(0).document();
    assert_eq!(cancelled["status"], "CANCELLED");
    assert!(!is_alive(command), "nothing of it is left when cancel says so");
    assert_eq!(site.ran().len(), 1);
}

#[test]
fn cancel_ends_a_command_that_somebody_else_drives() {
    let site = Site::new();
    let (process, run) = site.begin_patient();
    let [command] = site.ran()[..] else { panic!("it ran once") };
    let cancelled = site.call(&["cancel", "--json", &run]).exits(0).document();
    assert_eq!(cancelled["status"], "CANCELLED");
    assert!(!is_alive(command), "nothing of it is left when cancel says so");
    assert_eq!(process.done().exits(1).document()["status"], "CANCELLED");
}

#[test]
fn a_command_is_held_to_its_time_while_no_agentos_lives() {
    for limit in ["timeout_ms", "idle_timeout_ms"] {
        let site = Site::new();
        let process = site.begin("forge", &json!({ "command": PATIENT, limit: 1_500 }));
        site.until_spoken("one", 1);
        process.kill();
        let [command] = site.ran()[..] else { panic!("it ran once") };
        until("the supervisor ends it", || !is_alive(command));
        let run = site.only_run();
        let resumed = site.call(&["resume", "--json", &run]).exits(1).document();
        assert_eq!(resumed["status"], "FAILED");
        assert_eq!(resumed["steps"][0]["error"]["kind"], "timeout", "{limit}: {resumed:#}");
        assert_eq!(site.ran(), [command], "{limit}: it ran exactly once");
    }
}
