//! Kills at any moment, not only at the points that have names.

use std::os::unix::process::ExitStatusExt as _;

use agentos_process::exit::Reason;

use crate::part::client;
use crate::support::{Scene, eventually, is_alive};

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Says much, counts itself, and leaves a child behind.
const LINE: &str = "echo $$ >> pids; echo x >> count; sleep 1000 & echo $! >> pids; \
                    i=0; while [ $i -lt 40 ]; do head -c 20000 /dev/zero | tr '\\0' a; sleep 0.002; i=$((i+1)); done; echo";

/// How long somebody lives, told by how much has happened and not by a clock.
fn live_for(dice: &mut Dice, scene: &Scene) {
    let moments = dice.below(60);
    let mut passed = 0;
    eventually("a life has passed", || {
        passed += 1;
        passed > moments || scene.exit("a").is_some()
    });
}

/// Returns how many clients were killed at work.
fn storm(seed: u64) -> usize {
    let mut dice = Dice(seed);
    let scene = Scene::new();
    scene.describe("a", &scene.line(LINE));
    let (mut lives, mut hits) = (0, 0);
    while scene.exit("a").is_none() && lives < 4 {
        lives += 1;
        let mut clients = [client(scene.path(), None), client(scene.path(), None)];
        live_for(&mut dice, &scene);
        if dice.below(2) == 0
            && let Ok(Some(started)) = scene.directory("a").load_started()
            && scene.exit("a").is_none()
        {
            // It may be gone by now.
            let supervisor = rustix::process::Pid::from_raw(started.supervisor).expect("a pid");
            let _gone = rustix::process::kill_process(supervisor, rustix::process::Signal::KILL);
        }
        for client in &mut clients {
            let _gone = client.kill();
            hits += usize::from(client.wait().expect("it ends").signal() == Some(9));
        }
    }
    let before = scene.heard("a").len();
    for mut client in [client(scene.path(), None), client(scene.path(), None)] {
        assert!(client.wait().expect("it ends").success(), "seed {seed}");
    }
    let heard = scene.heard("a");
    assert_eq!(heard.len(), before + 2, "seed {seed}");
    let lengths: Vec<usize> = heard.iter().map(String::len).collect();
    assert!(heard.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {lengths:?}");
    let left: Vec<i32> = scene.pids("pids").into_iter().filter(|pid| is_alive(*pid)).collect();
    assert!(left.is_empty(), "seed {seed}: {left:?}");
    match scene.exit("a").expect("it has ended").reason {
        Reason::Exited => {
            assert_eq!(scene.count("count"), 1, "seed {seed}");
            assert_eq!(heard[0], format!("{}\n", "a".repeat(800_000)), "seed {seed}");
        }
        Reason::Lost => assert!(scene.count("count") <= 1, "seed {seed}"),
        other => panic!("seed {seed}: {other:?}"),
    }
    hits
}

#[test]
fn whoever_is_killed_whenever_the_command_runs_at_most_once_and_nothing_is_left() {
    let rounds = std::env::var("AGENTOS_TEST_STORMS").ok().and_then(|rounds| rounds.parse().ok());
    let hits: usize = (1..=rounds.unwrap_or(10)).map(|seed| storm(seed * 7_919)).sum();
    assert!(hits > 0, "no client was killed at work");
}
