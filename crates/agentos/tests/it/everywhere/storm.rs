//! Many processes in many worktrees, while somebody keeps looking at all of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::{DATABASE, Site, text};
use crate::support::{Process, name};

/// Set by a soak, which wants the big numbers.
const SOAK: &str = "AGENTOS_SOAK";

/// Worktrees, and processes in all.
fn numbers() -> (usize, usize) {
    if std::env::var_os(SOAK).is_some() { (10, 150) } else { (4, 12) }
}

/// Every other worktree uses the database of the main checkout.
fn worktrees(site: &Site, count: usize) -> Vec<(String, PathBuf)> {
    let made = (0..count).map(|number| {
        let name = format!("tree-{number}");
        let path = site.worktree(&name);
        if number % 2 == 1 {
            fs::create_dir_all(path.join(".agentos")).expect("a folder");
            std::os::unix::fs::symlink(site.root.join(DATABASE), path.join(DATABASE))
                .expect("a link");
        }
        (name, path)
    });
    made.collect()
}

/// Looks once: nothing fails, nothing is unreadable, no run is there twice.
fn look(site: &Site, seen: &mut BTreeMap<String, String>) {
    let listing = site.status(&site.root, &["--limit", "1000"]);
    assert_eq!(listing["unreadable"], serde_json::json!([]));
    let items = listing["items"].as_array().expect("a list");
    let mut now = BTreeMap::new();
    for run in items {
        let before = now.insert(name(run), text(&run["worktree"]).to_owned());
        assert_eq!(before, None, "a run is there twice");
    }
    for (run, worktree) in &*seen {
        assert_eq!(now.get(run), Some(worktree), "a run that was seen stays, where it is");
    }
    *seen = now;
}

#[expect(clippy::print_stdout, reason = "a soak keeps this line")]
fn summarise(text: &str) {
    println!("summary: {text}");
}

#[test]
fn every_run_of_a_storm_is_seen_once_in_its_worktree() {
    let site = Site::new();
    let (trees, count) = numbers();
    site.greet(&site.root);
    let trees = worktrees(&site, trees);
    let mut started: Vec<(usize, Process)> = Vec::new();
    for number in 0..count {
        let at = number % trees.len();
        let call = site.stand.call(&trees[at].1, &["run", "greet", "--name", "Ada", "--json"]);
        started.push((at, call.start()));
    }
    // Worktrees that come and go meanwhile, with a history of their own.
    let (mut seen, mut looks, mut gone) = (BTreeMap::new(), 0, Vec::new());
    let mut expected: BTreeMap<String, String> = BTreeMap::new();
    while let Some((at, mut process)) = started.pop() {
        while process.has_ended().is_none() {
            look(&site, &mut seen);
            looks += 1;
        }
        let run: Value = process.done().exits(0).document();
        expected.insert(name(&run), trees[at].0.clone());
        if started.len().is_multiple_of(trees.len()) {
            let passing = site.worktree(&format!("passing-{}", started.len()));
            gone.push(passing);
        }
        if let Some(passing) = gone.pop_if(|_| started.len() % 3 == 1) {
            site.stand.git(&passing, &["clean", "-fdxq"]);
            let remove = ["worktree", "remove", "--force", &*passing.to_string_lossy()];
            site.stand.git(&site.root, &remove);
        }
    }
    look(&site, &mut seen);
    seen.retain(|_, worktree| worktree != "main");
    assert_eq!(seen, expected);
    summarise(&format!(
        "{count} processes over {} worktrees, half of them linked; {} looks at all of them: every run once, in its worktree",
        trees.len(),
        looks + 1
    ));
}
