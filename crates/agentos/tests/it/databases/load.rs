//! Linking and unlinking while runs are started all the time: none is lost.

use std::collections::BTreeSet;
use std::path::Path;

use super::{DATABASE, Pair, numbers, own_runs};

/// Starts runs one after the other, and answers with the ids of those that were created.
fn start_runs(pair: &Pair, folder: &Path, number: usize) -> Vec<String> {
    let mut made = Vec::new();
    for at in 0..number {
        let name = format!("{at}");
        let done = pair.run(folder, &["run", "greet", "--json", "--name", &name]);
        if done.code == Some(0) {
            made.push(done.document()["id"].as_str().expect("an id").to_owned());
        } else {
            assert!(done.err.contains("was linked"), "{done:#?}");
        }
    }
    made
}

#[test]
fn links_come_and_go_while_runs_are_started_and_none_is_lost() {
    let pair = Pair::new();
    pair.greet(&pair.main, "first");
    let (rounds, runs) = (numbers(4, 60), numbers(4, 60));
    let made: BTreeSet<String> = std::thread::scope(|scope| {
        let starters: Vec<_> = [&pair.side, &pair.side, &pair.main]
            .into_iter()
            .map(|folder| scope.spawn(|| start_runs(&pair, folder, runs)))
            .collect();
        let mut is_linked = false;
        let mut changes = 0;
        while changes < rounds {
            let verb = if is_linked { "unlink" } else { "link" };
            let done = pair.run(&pair.side, &["db", verb, "--merge"]);
            match done.code {
                Some(0) => (is_linked, changes) = (!is_linked, changes + 1),
                // Somebody is at work in what would be hidden.
                Some(4) => assert!(done.err.contains("at work"), "{done:#?}"),
                _ => panic!("{done:#?}"),
            }
        }
        starters.into_iter().flat_map(|starter| starter.join().expect("it starts")).collect()
    });
    assert!(!made.is_empty());
    let mut there = BTreeSet::new();
    for folder in [&pair.side, &pair.main] {
        for run in own_runs(&pair.stand, folder) {
            assert_eq!(run["status"], "COMPLETED");
            there.insert(run["id"].as_str().expect("an id").to_owned());
        }
    }
    assert!(there.is_superset(&made), "{} of {}", there.len(), made.len());
}

#[test]
fn whoever_is_killed_while_linking_leaves_it_linked_or_not_and_every_run_there() {
    let pair = Pair::new();
    pair.greet(&pair.main, "first");
    for number in 0..3 {
        pair.greet(&pair.side, &number.to_string());
    }
    let mut made: BTreeSet<String> = ids(&pair);
    let mut hits = 0;
    for round in 0..numbers(8, 200) {
        let verb = if pair.side.join(DATABASE).is_symlink() { "unlink" } else { "link" };
        let process = pair.stand.call(&pair.side, &["db", verb, "--merge"]).start();
        // What is linked changes in the main worktree, too, which the other one is beside.
        hits += usize::from(process.kill_after_changes(&pair.side, 1 + round * 5 % 12));
        assert!(ids(&pair).is_superset(&made), "round {round}");
        let name = format!("after {round}");
        let run = pair.greet(&pair.side, &name);
        made.insert(run["id"].as_str().expect("an id").to_owned());
    }
    assert!(hits > 0, "it was never killed at work");
    pair.run(&pair.side, &["db", "unlink", "--merge"]).exits(0);
    pair.run(&pair.side, &["db", "link", "--merge"]).exits(0);
    let there: BTreeSet<String> = own_runs(&pair.stand, &pair.main).iter().map(id).collect();
    assert_eq!(there, made, "in the end all of them are in one");
    pair.run(&pair.main, &["db", "check"]).exits(0);
}

fn id(run: &serde_json::Value) -> String {
    run["id"].as_str().expect("an id").to_owned()
}

fn ids(pair: &Pair) -> BTreeSet<String> {
    let both = [&pair.side, &pair.main].map(|folder| own_runs(&pair.stand, folder));
    both.iter().flatten().map(id).collect()
}
