//! What can be seen of a command while it runs, and what was left behind.

use std::io::{BufRead as _, BufReader};

use rustix::process::Signal;
use serde_json::json;

use super::site::{PATIENT, Process, Site, is_alive, kill};
use crate::support::wait_until;

#[test]
fn logs_follow_shows_output_as_it_comes() {
    let site = Site::new();
    let (process, run) = site.begin_patient();
    let mut follow = Process::start(site.command(&["logs", "-f", &run]));
    let mut lines = BufReader::new(follow.stdout()).lines().map(|line| line.expect("text"));
    let before: Vec<String> = lines.by_ref().take(2).collect();
    assert!(before.iter().any(|line| line.ends_with("| one")), "{before:?}");
    assert!(before.iter().any(|line| line.ends_with("! two")), "{before:?}");
    site.go();
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line.ends_with("| three")), "{rest:?}");
    assert!(!rest.iter().any(|line| line.ends_with("| one")), "nothing comes twice: {rest:?}");
    follow.done().exits(0);
    process.done().exits(0);
}

#[test]
fn show_tells_what_is_under_way() {
    let site = Site::new();
    let (process, run) = site.begin_patient();
    let shown = site.show(&run);
    let [operation] = &shown["operations"].as_array().expect("a list")[..] else {
        panic!("not one operation: {shown:#}")
    };
    let [command] = site.ran()[..] else { panic!("it ran once") };
    let directory = site.directories().pop().expect("a directory");
    for (field, value) in [
        ("kind", json!("shell")),
        ("name", json!("it")),
        ("step_number", json!(1)),
        ("try", json!(1)),
        ("command", json!(PATIENT)),
        ("pid", json!(command)),
        ("supervisor", json!(site.supervisor())),
        ("directory", json!(directory)),
    ] {
        assert_eq!(operation[field], value, "{field} of {operation:#}");
    }
    assert!(operation["since"].as_str().is_some_and(|since| since.ends_with('Z')), "{operation:#}");
    let text = site.call(&["show", &run]).exits(0).out;
    assert!(text.contains("under way") && text.contains(&format!("process {command}")), "{text}");
    site.go();
    process.done().exits(0);
    assert_eq!(site.show(&run)["operations"], json!([]));
}

#[test]
fn doctor_tells_who_runs_and_what_was_left_behind() {
    let site = Site::new();
    let (process, run) = site.begin_patient();
    let supervisor = site.supervisor();
    let report = site.call(&["doctor", "--json"]).exits(0).document();
    assert_eq!(report["database"]["commands_running"], 1);
    process.kill();
    kill(supervisor, Signal::KILL);
    wait_until("the supervisor is dead", || !is_alive(supervisor));
    let report = site.call(&["doctor", "--json"]).exits(1).document();
    assert_eq!(report["database"]["commands_running"], 0);
    assert_eq!(report["database"]["commands_left_behind"], json!(site.directories()));
    assert_eq!(report["database"]["interrupted"], 1);
    site.go();
    site.call(&["resume", &run]).exits(0);
    let report = site.call(&["doctor", "--json"]).exits(0).document();
    assert_eq!(report["problems"], json!([]));
}
