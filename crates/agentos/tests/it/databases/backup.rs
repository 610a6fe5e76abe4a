//! `db backup`, and a database file that is copied by hand.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::DATABASE;
use crate::support::{Stand, wait_until};

fn until_it_asks(stand: &Stand, root: &Path) {
    wait_until("it asks", || {
        stand.runs(root).iter().any(|run| run["waiting"]["kind"] == "approval")
    });
}

#[test]
fn a_database_that_no_process_uses_can_be_copied_as_one_file() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    let copy = stand.at("copy.db");
    fs::copy(root.join(DATABASE), &copy).expect("it is copied");
    let listed = stand.call(&root, &["status", "--json"]).env("AGENTOS_WORKFLOW_DB", &copy);
    let listed = listed.done().exits(0).document();
    assert_eq!(listed["items"][0]["status"], "COMPLETED", "{listed:#}");
}

#[test]
fn what_a_killed_process_has_left_in_the_log_is_in_the_file_when_the_next_one_has_left() {
    let (stand, root) = Stand::with_repository();
    let killed = stand.call(&root, &["run", "ask", "--json"]).start();
    until_it_asks(&stand, &root);
    killed.kill();
    stand.run(&root, &["cancel", "ask"]).exits(0);
    let copy = stand.at("copy.db");
    fs::copy(root.join(DATABASE), &copy).expect("it is copied");
    let listed = stand.call(&root, &["status", "--json"]).env("AGENTOS_WORKFLOW_DB", &copy);
    let listed = listed.done().exits(0).document();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{listed:#}");
}

#[test]
fn a_backup_is_whole_while_runs_are_at_work_and_replaces_nothing() {
    let (stand, root) = Stand::with_repository();
    let none = stand.run(&root, &["db", "backup", "early.db"]).exits(3);
    assert!(none.err.contains("there is no database at"), "{none:#?}");
    stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    let working = stand.call(&root, &["run", "ask", "--json"]).start();
    until_it_asks(&stand, &root);
    let file = stand.at("backup.db");
    let name = file.to_string_lossy().into_owned();
    let report = stand.run(&root, &["db", "backup", "--json", &name]).exits(0).document();
    assert_eq!(report["runs"], 2, "{report:#}");
    let found = fs::metadata(&file).expect("the backup");
    assert_eq!(report["bytes"], found.len());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    let beside = fs::read_dir(stand.at("")).expect("a folder").flatten();
    let beside = beside.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let beside: Vec<String> = beside.filter(|name| name.starts_with("backup.db")).collect();
    assert_eq!(beside, ["backup.db"], "one file, and nothing beside it");
    let listed = stand.call(&root, &["status", "--json"]).env("AGENTOS_WORKFLOW_DB", &file);
    let listed = listed.done().exits(0).document();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2), "{listed:#}");
    let before = fs::read(&file).expect("the backup");
    let refused = stand.run(&root, &["db", "backup", &name]).exits(4);
    assert!(refused.err.contains("exists already"), "{refused:#?}");
    assert!(fs::read(&file).expect("the backup") == before, "it is as it was");
    for (wrong, why) in [
        ("no/such/folder.db", "no/such does not exist"),
        ("backup.db/file", "backup.db is no folder"),
        ("/", "exists already"),
    ] {
        let wrong = stand.at(wrong).to_string_lossy().into_owned();
        let refused = stand.run(&root, &["db", "backup", &wrong]);
        let refused = refused.exits(if why == "exists already" { 4 } else { 2 });
        assert!(refused.err.contains(why) && !refused.err.contains(".partial"), "{refused:#?}");
    }
    stand.run(&root, &["approve", "ask"]).exits(0);
    working.done().exits(0);
}
