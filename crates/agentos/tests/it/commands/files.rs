//! Directories of commands: there while they are the only proof of what has begun, gone when their run has ended.

use std::fs;

use serde_json::json;

use super::site::{Process, Site, is_alive, whole};
use crate::support::wait_until;

#[test]
fn directories_go_away_with_the_end_of_their_run() {
    let site = Site::new();
    for (command, code) in [("echo well", 0), ("echo badly; exit 1", 1)] {
        site.begin("forge", &json!({ "command": command })).done().exits(code);
        assert!(site.command_folders().is_empty(), "{:?}", site.command_folders());
    }
    let said: Vec<String> = site.spoken().into_iter().map(|(_, line)| line).collect();
    assert_eq!(said, ["well", "badly"], "what they wrote is in the steps' logs");
}

#[test]
fn the_background_executor_removes_directories_too() {
    let site = Site::new();
    let input = site.repo.join("input.json");
    fs::write(&input, json!({ "command": "echo away" }).to_string()).expect("a file");
    let input = input.to_str().expect("text");
    site.call(&["run", "--detach", "forge", "--input-file", input]).exits(0);
    let run = site.only_run();
    wait_until("it has ended", || site.show(&run)["status"] == "COMPLETED");
    wait_until("its directory is gone", || site.command_folders().is_empty());
}

#[test]
fn what_a_killed_process_did_not_remove_is_removed_by_the_next() {
    let site = Site::new();
    let done = site.begin("forge", &json!({ "command": "true" })).done().exits(0).document();
    let commands = site.repo.join(".agentos/issue_workflow.db.commands");
    let ended = commands.join(done["id"].as_str().expect("an id"));
    let unknown = commands.join("01a1e02f-d8cc-7139-bfe8-d7bd81c6c3e2");
    for folder in [&ended, &unknown] {
        fs::create_dir_all(folder.join("shell-it-1-0-1")).expect("a folder");
        fs::write(folder.join("shell-it-1-0-1/output-0.log"), "").expect("a file");
    }
    site.begin("forge", &json!({ "command": "true" })).done().exits(0);
    assert_eq!(site.command_folders(), [unknown], "what is no run of this database is left alone");
}

#[test]
fn two_databases_in_one_folder_leave_each_other_s_commands_alone() {
    let site = Site::new();
    let (process, run) = site.begin_patient();
    let [command] = site.ran()[..] else { panic!("it ran once") };
    process.kill();
    site.go();
    wait_until("the command ends while no AgentOS lives", || !is_alive(command));
    let mut other = site.run_command("forge", &json!({ "command": "true" }));
    other.env("AGENTOS_WORKFLOW_DB", site.repo.join(".agentos/other.db"));
    Process::start(other).done().exits(0);
    let resumed = site.call(&["resume", "--json", &run]).exits(0).document();
    assert_eq!(resumed["output"], whole());
    assert_eq!(site.ran(), [command], "it ran exactly once");
}

#[test]
fn the_directory_of_a_run_that_has_not_ended_stays_whoever_else_comes_and_goes() {
    let site = Site::new();
    let (process, run) = site.begin_patient();
    let [command] = site.ran()[..] else { panic!("it ran once") };
    process.kill();
    site.begin("loose", &json!({ "command": "true" })).done().exits(0);
    assert!(is_alive(command), "nobody has touched it");
    assert_eq!(site.directories().len(), 1);
    site.go();
    let resumed = site.call(&["resume", "--json", &run]).exits(0).document();
    assert_eq!(resumed["output"], whole());
    assert_eq!(site.ran(), [command], "it ran exactly once");
    assert!(site.command_folders().is_empty());
}
