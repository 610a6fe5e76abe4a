//! Many commands at once.

use crate::part::client;
use crate::support::Scene;

#[test]
fn a_hundred_commands_of_several_processes_run_at_once() {
    let scenes: Vec<Scene> = (0..5).map(|_| Scene::new()).collect();
    for scene in &scenes {
        for number in 0..20 {
            let line = format!("echo x >> count-{number}; echo said {number}");
            scene.describe(&format!("c{number}"), &scene.line(&line));
        }
    }
    // Each command is wanted by three processes, which go through them in the same order.
    let clients: Vec<_> =
        scenes.iter().flat_map(|scene| (0..3).map(|_| client(scene.path(), None))).collect();
    for mut client in clients {
        assert!(client.wait().expect("it ends").success());
    }
    for scene in &scenes {
        for number in 0..20 {
            assert_eq!(scene.count(&format!("count-{number}")), 1, "{number}");
            assert_eq!(scene.heard(&format!("c{number}")), vec![format!("said {number}\n"); 3]);
        }
    }
}

#[test]
fn a_hundred_commands_wait_side_by_side() {
    use crate::part::launcher;
    let scene = Scene::new();
    let spec = scene.line("echo $$ >> pids; until [ -e go ]; do sleep 0.1; done; echo done");
    let launcher = launcher();
    let waiting: Vec<_> = (0..100)
        .map(|number| {
            launcher
                .start_or_attach(&scene.operation(&format!("c{number}")), &spec)
                .expect("it starts")
        })
        .collect();
    crate::support::eventually("all of them run", || scene.pids("pids").len() == 100);
    std::fs::write(scene.path().join("go"), "").expect("a file");
    for attached in waiting {
        let outcome = attached.outcome(100).expect("it ends").expect("it began");
        assert_eq!(outcome.stdout, "done\n");
    }
}
