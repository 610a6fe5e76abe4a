//! Many commands of many processes in one repository, and all of the processes are killed.

use std::fs;

use serde_json::json;

use super::site::Site;
use crate::support::wait_until;

#[test]
fn commands_of_several_killed_processes_each_run_once_and_all_are_gone_on_with() {
    const PROCESSES: usize = 4;
    const COMMANDS: usize = 6;
    let site = Site::new();
    let command = "echo $AGENT_WORKSPACE_ID-% >> began; while [ ! -e go ]; do sleep 0.05; done; \
                   echo $AGENT_WORKSPACE_ID-% >> ended; echo number %";
    let input = json!({ "command": command, "size": COMMANDS });
    let processes: Vec<_> = (0..PROCESSES).map(|_| site.begin("crowd", &input)).collect();
    let lines = |name: &str| -> Vec<String> {
        let text = fs::read_to_string(site.repo.join(name)).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    wait_until("all have begun", || lines("began").len() == PROCESSES * COMMANDS);
    processes.into_iter().for_each(super::site::Process::kill);
    site.go();
    site.call(&["resume", "--due"]).exits(0);
    let began = lines("began");
    let mut once = began.clone();
    once.dedup();
    assert_eq!(once, began, "each began once");
    assert_eq!(lines("ended"), began, "each came to its end");
    let listing = site.call(&["status", "--json"]).exits(0).document();
    for run in listing["items"].as_array().expect("a list") {
        assert_eq!(run["status"], "COMPLETED");
        let output = site.show(run["run_id"].as_str().expect("a name"))["output"].clone();
        let expected: Vec<String> =
            (1..=COMMANDS).map(|number| format!("number {number}\n")).collect();
        assert_eq!(output, json!(expected));
    }
}
