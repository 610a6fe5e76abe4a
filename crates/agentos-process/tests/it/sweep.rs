//! Directories that nobody needs any more.

use std::fs::{self, File};

use agentos_process::sweep::remove;

use crate::part::launcher;
use crate::support::{Scene, eventually, is_alive, kill};

#[test]
fn the_directory_of_a_command_that_is_over_is_removed() {
    let scene = Scene::new();
    scene.execute("a", &scene.line("echo a"));
    assert!(remove(&scene.operation("a")).expect("it can be removed"));
    assert!(!scene.operation("a").exists());
    assert!(remove(&scene.operation("a")).expect("once more is harmless"));
}

#[test]
fn a_supervisor_that_is_about_to_leave_is_waited_for() {
    let scene = Scene::new();
    scene.execute("a", &scene.line("echo a"));
    let started = scene.operation("a").join("started.json");
    let lock = File::open(&started).expect("a file");
    lock.lock().expect("the supervisor leaves");
    let path = scene.operation("a");
    let remover = std::thread::spawn(move || remove(&path).expect("it can be removed"));
    let opened = || {
        let files = fs::read_dir("/proc/self/fd").expect("Linux").flatten();
        files.filter(|file| fs::read_link(file.path()).is_ok_and(|path| path == started)).count()
    };
    eventually("it waits for the lock", || opened() > 1 || remover.is_finished());
    drop(lock);
    assert!(remover.join().expect("it does not panic"));
}

#[test]
fn the_directory_of_a_command_that_runs_is_left_alone() {
    let scene = Scene::new();
    let spec = scene.line("echo $$ >> pids; until [ -e go ]; do sleep 0.01; done");
    let attached = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it starts");
    eventually("the command runs", || scene.pids("pids").len() == 1);
    assert!(!remove(&scene.operation("a")).expect("it can be looked at"));
    assert!(is_alive(scene.pids("pids")[0]));
    fs::write(scene.path().join("go"), "").expect("a file");
    let outcome = attached.outcome(1_000).expect("it ends").expect("it began");
    assert_eq!(outcome.exit.exit_code, Some(0));
}

#[test]
fn what_a_dead_supervisor_left_is_ended_before_the_directory_is_removed() {
    let scene = Scene::new();
    let spec = scene.line("echo $$ >> pids; sleep 600");
    let attached = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it starts");
    eventually("the command runs", || scene.pids("pids").len() == 1);
    let supervisor = scene.supervisor("a");
    kill(supervisor);
    drop(attached);
    eventually("the supervisor is dead", || !is_alive(supervisor));
    // Whoever looks whether somebody is at work there is at work there for a moment.
    eventually("it is removed", || remove(&scene.operation("a")).expect("it can be removed"));
    assert!(!is_alive(scene.pids("pids")[0]));
    assert!(!scene.operation("a").exists());
}
