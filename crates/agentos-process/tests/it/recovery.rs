//! Whoever is killed, wherever: the command is found again, or is known to be lost with nothing left of it.

use std::fs;

use agentos_process::exit::Reason;
use agentos_process::points::Point;
use agentos_process::spec::CommandSpec;

use crate::part::client;
use crate::support::{Scene, eventually, is_alive, kill};

/// Counts itself, says something, waits until it may go on, says more, and counts again.
const SLOW: &str = "echo $$ >> pids; echo x >> begun; echo first; \
                    until [ -e go ]; do sleep 0.01; done; echo second; echo x >> finished";

fn slow(scene: &Scene) -> CommandSpec {
    let spec = scene.line(SLOW);
    scene.describe("a", &spec);
    spec
}

fn let_go(scene: &Scene) {
    fs::write(scene.path().join("go"), "").expect("a file");
}

#[test]
fn a_command_goes_on_when_its_client_is_killed_and_is_found_again() {
    let scene = Scene::new();
    slow(&scene);
    let mut killed = client(scene.path(), None);
    eventually("the command runs", || scene.count("begun") == 1);
    killed.kill().expect("it can be killed");
    killed.wait().expect("it ends");
    let mut second = client(scene.path(), None);
    let_go(&scene);
    assert!(second.wait().expect("it ends").success());
    assert_eq!(scene.heard("a"), ["first\nsecond\n"]);
    assert_eq!((scene.count("begun"), scene.count("finished")), (1, 1));
}

#[test]
fn a_command_that_ended_while_nobody_lived_is_collected() {
    let scene = Scene::new();
    slow(&scene);
    let mut killed = client(scene.path(), None);
    eventually("the command runs", || scene.count("begun") == 1);
    killed.kill().expect("it can be killed");
    killed.wait().expect("it ends");
    let_go(&scene);
    assert_eq!(scene.awaited_exit("a").reason, Reason::Exited);
    assert!(client(scene.path(), None).wait().expect("it ends").success());
    assert_eq!(scene.heard("a"), ["first\nsecond\n"]);
    assert_eq!((scene.count("begun"), scene.count("finished")), (1, 1));
}

#[test]
fn a_command_is_lost_with_its_supervisor_and_nothing_is_left_of_it() {
    let scene = Scene::new();
    let spec = slow(&scene);
    let mut waiting = client(scene.path(), None);
    eventually("the command runs", || scene.count("begun") == 1);
    kill(scene.supervisor("a"));
    assert!(waiting.wait().expect("it ends").success());
    assert_eq!(scene.exit("a").expect("it has ended").reason, Reason::Lost);
    assert!(!is_alive(scene.pids("pids")[0]));
    // Another try has a directory of its own.
    let_go(&scene);
    assert_eq!(scene.execute("a-2", &spec).stdout, "first\nsecond\n");
    assert_eq!((scene.count("begun"), scene.count("finished")), (2, 1));
}

#[test]
fn a_command_is_lost_when_both_are_killed_and_is_cleared_up_after() {
    let scene = Scene::new();
    let spec = slow(&scene);
    let mut killed = client(scene.path(), None);
    eventually("the command runs", || scene.count("begun") == 1);
    // The client first: it would clear up after its supervisor.
    killed.kill().expect("it can be killed");
    killed.wait().expect("it ends");
    kill(scene.supervisor("a"));
    assert_eq!(scene.execute("a", &spec).exit.reason, Reason::Lost);
    assert!(!is_alive(scene.pids("pids")[0]));
}

/// One life in which somebody dies at this point, then two at once who recover.
fn dies_at(point: Point) {
    let scene = Scene::new();
    let spec = scene.line("echo $$ >> pids; echo x >> count; echo said");
    scene.describe("a", &spec);
    // A client lives on when its supervisor dies, and clears up itself.
    client(scene.path(), Some(point)).wait().expect("it ends");
    let racing = [client(scene.path(), None), client(scene.path(), None)];
    for mut client in racing {
        assert!(client.wait().expect("it ends").success(), "at {point:?}");
    }
    let exit = scene.exit("a").expect("it has ended");
    let heard = scene.heard("a");
    assert!(
        heard.len() >= 2 && heard.windows(2).all(|pair| pair[0] == pair[1]),
        "at {point:?}: {heard:?}"
    );
    for pid in scene.pids("pids") {
        assert!(!is_alive(pid), "at {point:?}: {pid} is left");
    }
    match exit.reason {
        Reason::Exited => {
            assert_eq!(scene.count("count"), 1, "at {point:?}");
            assert_eq!(heard[0], "said\n", "at {point:?}");
        }
        Reason::Lost => {
            assert!(scene.count("count") <= 1, "at {point:?}");
            // It had begun, so it is another try's turn.
            let begun = [Point::Recorded, Point::Spawned, Point::Exited, Point::Ended];
            assert!(begun.contains(&point), "at {point:?}");
        }
        other => panic!("at {point:?}: {other:?}"),
    }
}

#[test]
fn wherever_somebody_dies_the_command_begins_at_most_once_and_its_end_is_known() {
    for point in Point::ALL {
        dies_at(point);
    }
}

#[test]
fn whoever_dies_while_clearing_up_is_cleared_up_after() {
    let scene = Scene::new();
    scene.describe("a", &scene.line(SLOW));
    let mut killed = client(scene.path(), None);
    eventually("the command runs", || scene.count("begun") == 1);
    // The client first: it would clear up after its supervisor.
    killed.kill().expect("it can be killed");
    killed.wait().expect("it ends");
    kill(scene.supervisor("a"));
    client(scene.path(), Some(Point::Cleared)).wait().expect("it ends");
    assert_eq!(scene.exit("a"), None);
    let racing = [client(scene.path(), None), client(scene.path(), None)];
    for mut client in racing {
        assert!(client.wait().expect("it ends").success());
    }
    assert_eq!(scene.exit("a").expect("it has ended").reason, Reason::Lost);
    assert_eq!((scene.count("begun"), is_alive(scene.pids("pids")[0])), (1, false));
}

#[test]
fn many_who_want_the_same_command_at_once_get_one() {
    let scene = Scene::new();
    scene.describe("a", &scene.line("echo x >> count; sleep 0.1; echo said"));
    let crowd: Vec<_> = (0..12).map(|_| client(scene.path(), None)).collect();
    for mut client in crowd {
        assert!(client.wait().expect("it ends").success());
    }
    assert_eq!(scene.count("count"), 1);
    assert_eq!(scene.heard("a"), vec!["said\n"; 12]);
}
