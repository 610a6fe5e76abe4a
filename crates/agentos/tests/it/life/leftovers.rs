//! What is left in the repository and beside the database: by runs, which leave it sound, and by processes that were killed.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;

use super::site::Site;

#[test]
fn the_repository_is_sound_after_a_first_run() {
    let site = Site::new();
    site.run(&["run", "work"]).exits(0);
    assert!(site.git(&["for-each-ref", "refs/agentos/runs"]).lines().count() > 0);
    let told = site.git(&["fsck", "--strict", "--no-dangling"]);
    assert!(!told.contains("missing") && !told.contains("broken"), "{told}");
}

/// The names in the folder of executions.
fn executions(site: &Site) -> Vec<String> {
    let folder = site.root.join(".agent/workflows/executions");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Kills a process between making the folder of a run and creating the run; the folder.
fn killed_while_creating(site: &Site) -> PathBuf {
    for _ in 0..50 {
        let before = executions(site);
        let mut process = site.call(&["run", "work", "--detach"]).start();
        let is_new = |name: &String| !name.starts_with('.') && !before.contains(name);
        let mut found = None;
        while found.is_none() && process.has_ended().is_none() {
            found = executions(site).into_iter().find(is_new);
        }
        process.send(Signal::KILL);
        drop(process.done());
        let Some(id) = found else { continue };
        if site.run(&["show", &id]).code != Some(0) {
            return site.root.join(".agent/workflows/executions").join(id);
        }
    }
    panic!("it was never killed in time");
}

#[test]
fn the_folder_of_a_run_that_was_never_created_is_removed_by_the_next_run() {
    let site = Site::new();
    site.run(&["run", "work"]).exits(0);
    let left = killed_while_creating(&site);
    let checked = site.run(&["db", "check", "--json"]).exits(0).document();
    assert_eq!(checked["problems"].as_array().map(Vec::len), Some(0), "{checked:#}");
    assert_eq!(checked["leftovers"][0]["kind"], "never_created", "{checked:#}");
    assert!(left.is_dir(), "looking changes nothing");
    site.run(&["run", "work"]).exits(0);
    assert!(!left.exists());
    let names = executions(&site);
    assert!(names.iter().all(|name| !name.starts_with(".creating-")), "{names:?}");
    let again = killed_while_creating(&site);
    site.run(&["db", "check", "--fix"]).exits(0);
    assert!(!again.exists());
    let told = site.run(&["db", "check"]).exits(0).out;
    assert!(!told.contains("left behind"), "{told}");
}

#[test]
fn files_of_commands_whose_run_has_ended_are_no_problem_and_go_with_the_next_run() {
    let site = Site::new();
    let run = site.run(&["run", "work", "--json"]).exits(0).document();
    let id = run["id"].as_str().expect("an id");
    let left = site.root.join(".agentos/issue_workflow.db.commands").join(id);
    fs::create_dir_all(left.join("shell-pwd-1")).expect("a folder");
    fs::create_dir_all(left.join("git-1.killed")).expect("a folder");
    let told = site.run(&["db", "check"]).exits(0).out;
    assert!(told.contains("left behind: ") && told.contains("everything is fine"), "{told}");
    assert!(left.exists(), "looking changes nothing");
    site.run(&["run", "work"]).exits(0);
    assert!(!left.exists());
    assert!(!site.run(&["db", "check"]).exits(0).out.contains("left behind"));
}
