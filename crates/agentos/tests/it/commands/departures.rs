//! AgentOS is asked to go, or nobody lives who could be asked: what becomes of commands.

use rustix::process::Signal;
use serde_json::json;

use super::site::{PATIENT, Process, Site, is_alive, whole};
use crate::support::wait_until;

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
        wait_until("somebody has the run", || site.show(&run)["interrupted"] == false);
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

/// A command that is held to a limit, and whose AgentOS was killed before its time was over. On a machine that is too slow
/// for the shortest time another one is begun with a longer one.
fn orphan_with(limit: &str) -> Site {
    for ms in [1_500, 15_000, 60_000] {
        let site = Site::new();
        let mut process = site.begin("forge", &json!({ "command": PATIENT, limit: ms }));
        let has_spoken = || site.spoken().iter().any(|(_, said)| said == "one");
        wait_until("it speaks, or its time is over", || has_spoken() || process.has_ended());
        process.send(Signal::KILL);
        process.done();
        if site.show(&site.only_run())["status"] == "RUNNING" {
            return site;
        }
    }
    panic!("the run was over before AgentOS was killed");
}

#[test]
fn a_command_is_held_to_its_time_while_no_agentos_lives() {
    for limit in ["timeout_ms", "idle_timeout_ms"] {
        let site = orphan_with(limit);
        let [command] = site.ran()[..] else { panic!("it ran once") };
        wait_until("the supervisor ends it", || !is_alive(command));
        let run = site.only_run();
        let resumed = site.call(&["resume", "--json", &run]).exits(1).document();
        assert_eq!(resumed["status"], "FAILED");
        assert_eq!(resumed["steps"][0]["error"]["kind"], "timeout", "{limit}: {resumed:#}");
        assert_eq!(site.ran(), [command], "{limit}: it ran exactly once");
    }
}
