//! Limits hold, whoever is alive.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use agentos_process::exit::Reason;
use agentos_process::launch::stop;
use agentos_process::spec::Limits;

use crate::output::followed;
use crate::part::{client, launcher};
use crate::support::{Scene, eventually, is_alive, time_of_day_ms};

/// Lets a client order it and be killed while it runs, waits for the end that its supervisor makes, and returns why. On a
/// machine that is too slow for the shortest limit the command is ordered again with a longer one.
fn ends_alone(line: &str, limit: impl Fn(&mut Limits, Duration)) -> Reason {
    for ms in [500, 5_000, 50_000] {
        let scene = Scene::new();
        let mut spec = scene.line(line);
        limit(&mut spec.limits, Duration::from_millis(ms));
        scene.describe("a", &spec);
        let mut client = client(scene.path(), None);
        let has_begun = || !scene.pids("pids").is_empty() || scene.exit("a").is_some();
        eventually("the command runs", has_begun);
        client.kill().expect("it can be killed");
        let is_killed = client.wait().expect("it ends").signal() == Some(9);
        let is_in_time = is_killed && scene.exit("a").is_none();
        let exit = scene.awaited_exit("a");
        for pid in scene.pids("pids") {
            assert!(!is_alive(pid), "{pid} is left");
        }
        if is_in_time {
            return exit.reason;
        }
    }
    panic!("the command was over before its client was killed");
}

#[test]
fn a_command_that_takes_too_long_is_ended_though_nobody_lives() {
    let line = "echo $$ > pids; while :; do echo busy; sleep 0.01; done";
    assert_eq!(ends_alone(line, |limits, ms| limits.wall = Some(ms)), Reason::Timeout);
}

#[test]
fn a_command_that_says_nothing_for_too_long_is_ended_though_nobody_lives() {
    let line = "echo $$ > pids; sleep 1000";
    assert_eq!(ends_alone(line, |limits, ms| limits.idle = Some(ms)), Reason::Idle);
}

#[test]
fn a_command_that_talks_is_not_idle() {
    let scene = Scene::new();
    // It talks for longer than it may be silent.
    let mut spec = scene.line("for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.2; done");
    let longest_silence = Duration::from_millis(1_500);
    spec.limits.idle = Some(longest_silence);
    let attached = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it starts");
    let (frames, _, exit) = followed(attached);
    let is_through = exit.reason == Reason::Exited && exit.exit_code == Some(0);
    // On a busy machine it may indeed have been silent for too long.
    let last_word = frames.last().map_or(0, |frame| frame.at_ms);
    let silence = Duration::from_millis(time_of_day_ms().saturating_sub(last_word));
    let was_silent = exit.reason == Reason::Idle && silence >= longest_silence;
    assert!(is_through || was_silent, "silent for {silence:?}: {exit:?}");
}

#[test]
fn a_command_that_nobody_waits_for_is_ended() {
    let line = "echo $$ > pids; sleep 1000";
    assert_eq!(ends_alone(line, |limits, ms| limits.orphan = Some(ms)), Reason::Orphaned);
}

#[test]
fn a_command_that_somebody_waits_for_is_not_alone() {
    let scene = Scene::new();
    let mut spec = scene.line("sleep 1.2; echo done");
    spec.limits.orphan = Some(Duration::from_millis(200));
    let outcome = scene.execute("a", &spec);
    assert_eq!((outcome.exit.reason, outcome.stdout.as_str()), (Reason::Exited, "done\n"));
}

#[test]
fn a_stop_ends_a_command_though_its_client_is_dead() {
    let scene = Scene::new();
    scene.describe("a", &scene.line("echo $$ > pids; sleep 1000"));
    let mut client = client(scene.path(), None);
    eventually("the command runs", || !scene.pids("pids").is_empty());
    client.kill().expect("it can be killed");
    client.wait().expect("it ends");
    stop(&scene.operation("a")).expect("it is stopped");
    assert_eq!(scene.exit("a").expect("it has ended").reason, Reason::Stopped);
    assert!(!is_alive(scene.pids("pids")[0]));
}

#[test]
fn a_stop_file_made_by_hand_is_noticed() {
    let scene = Scene::new();
    let spec = scene.line("sleep 1000");
    let attached = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it starts");
    scene.supervisor("a");
    fs::write(scene.operation("a").join("stop"), "").expect("a file");
    let outcome = attached.outcome(100).expect("it ends").expect("it began");
    assert_eq!((outcome.exit.reason, outcome.exit.signal), (Reason::Stopped, Some(15)));
}
