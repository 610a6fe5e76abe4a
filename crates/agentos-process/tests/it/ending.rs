//! Ending a command ends everything that it has started, whatever that does against it.

use agentos_process::exit::Reason;
use agentos_process::launch::stop;

use crate::part::launcher;
use crate::support::{Scene, eventually, is_alive, kill};

/// Executes a line until `processes` of it have written down who they are, stops it, and sees that none is left.
fn leaves_nothing(line: &str, processes: usize) {
    let scene = Scene::new();
    let attached =
        launcher().start_or_attach(&scene.operation("a"), &scene.line(line)).expect("it starts");
    eventually("all of it runs", || scene.pids("pids").len() >= processes);
    stop(&scene.operation("a")).expect("it is stopped");
    assert_eq!(scene.exit("a").expect("it has ended").reason, Reason::Stopped);
    let left: Vec<i32> = scene.pids("pids").into_iter().filter(|pid| is_alive(*pid)).collect();
    assert!(left.is_empty(), "{left:?}");
    drop(attached);
}

/// The same, but its supervisor is killed, and whoever asks for it next clears up.
fn leaves_nothing_without_its_supervisor(line: &str, processes: usize) {
    let scene = Scene::new();
    let spec = scene.line(line);
    let attached = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it starts");
    eventually("all of it runs", || scene.pids("pids").len() >= processes);
    kill(scene.supervisor("a"));
    let outcome = attached.outcome(100).expect("it ends").expect("it had begun");
    assert_eq!(outcome.exit.reason, Reason::Lost);
    let left: Vec<i32> = scene.pids("pids").into_iter().filter(|pid| is_alive(*pid)).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Ends before its child does.
const DAEMON: &str = "(setsid sh -c 'echo $$ >> pids; exec sleep 1000' >/dev/null 2>&1 &) & echo $$ >> pids; sleep 1000";

const IGNORES_TERM: &str = "trap '' TERM; echo $$ >> pids; while :; do sleep 1; done";

#[test]
fn what_ignores_the_request_is_killed() {
    leaves_nothing(IGNORES_TERM, 1);
}

#[test]
fn what_has_stopped_itself_is_ended() {
    leaves_nothing("echo $$ >> pids; kill -STOP $$", 1);
}

#[test]
fn what_makes_a_session_of_its_own_is_ended() {
    leaves_nothing("setsid sh -c 'echo $$ >> pids; sleep 1000' & echo $$ >> pids; wait", 2);
}

#[test]
fn a_daemon_is_ended() {
    leaves_nothing(DAEMON, 2);
}

#[test]
fn a_daemon_that_hides_its_origin_is_ended() {
    let line = "(setsid env -i /bin/sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do /bin/sleep 1; done' &) & \
                echo $$ >> pids; sleep 1000";
    leaves_nothing(line, 2);
}

#[test]
fn two_hundred_children_are_ended() {
    let line = "i=0; while [ $i -lt 200 ]; do sh -c 'echo $$ >> pids; exec sleep 1000' & i=$((i+1)); done; wait";
    leaves_nothing(line, 200);
}

#[test]
fn a_daemon_is_ended_after_its_supervisor_was_killed() {
    leaves_nothing_without_its_supervisor(DAEMON, 2);
}

/// Clears its environment, makes a session of its own, and loses its parents.
const HIDDEN: &str = "(setsid env -i /bin/sh -c 'echo $$ >> pids; while :; do /bin/sleep 1; done' &) & \
                      until [ -s pids ]; do sleep 0.01; done; echo $$ >> pids; sleep 1000";

#[test]
fn what_hides_from_everything_is_found_by_its_group_after_its_supervisor_was_killed() {
    let scene = Scene::new();
    let mut spec = scene.line(HIDDEN);
    spec.grouped = true;
    let attached = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it starts");
    eventually("all of it runs", || scene.pids("pids").len() == 2);
    let started = scene.directory("a").load_started().expect("it can be read").expect("it began");
    kill(started.supervisor);
    let outcome = attached.outcome(100).expect("it ends").expect("it had begun");
    assert_eq!(outcome.exit.reason, Reason::Lost);
    let [hidden, shell] = scene.pids("pids")[..] else { panic!("two processes") };
    assert!(!is_alive(shell));
    match started.group {
        Some(group) => assert!(!is_alive(hidden) && !group.exists()),
        // There is no group to be had here, so this is what can't be found.
        None => kill(hidden),
    }
}

#[test]
fn a_group_goes_with_its_command() {
    let scene = Scene::new();
    let mut spec = scene.line("echo said");
    spec.grouped = true;
    assert_eq!(scene.execute("a", &spec).stdout, "said\n");
    let started = scene.directory("a").load_started().expect("it can be read").expect("it began");
    assert!(started.group.is_none_or(|group| !group.exists()));
}

#[test]
fn what_is_left_of_the_session_is_ended_after_its_supervisor_was_killed() {
    let line = "env -i /bin/sh -c 'echo $$ >> pids; while :; do /bin/sleep 1; done' & echo $$ >> pids; wait";
    leaves_nothing_without_its_supervisor(line, 2);
}

#[test]
fn what_a_command_leaves_running_is_ended_with_it() {
    let scene = Scene::new();
    let line = "setsid sh -c 'echo $$ >> pids; exec sleep 1000' >/dev/null 2>&1 & until [ -s pids ]; do sleep 0.01; done";
    let outcome = scene.execute("a", &scene.line(line));
    assert_eq!((outcome.exit.reason, outcome.exit.exit_code), (Reason::Exited, Some(0)));
    assert_eq!(outcome.exit.leftovers, 1);
    assert!(!is_alive(scene.pids("pids")[0]));
}
