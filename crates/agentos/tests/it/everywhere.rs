//! One view over every worktree: what the command line shows of databases that know nothing of each other.

mod asking;
mod broken;
mod elsewhere;
mod screen;
mod storm;
mod watching;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Stand, name};

const DATABASE: &str = ".agentos/issue_workflow.db";

/// A repository with worktrees.
struct Site {
    stand: Stand,
    root: PathBuf,
}

impl Site {
    fn new() -> Self {
        let (stand, root) = Stand::with_repository();
        Self { stand, root }
    }

    /// A worktree beside the main checkout.
    fn worktree(&self, name: &str) -> PathBuf {
        let path = self.stand.at(name);
        self.stand.git(&self.root, &["worktree", "add", "-q", "-b", name, &path.to_string_lossy()]);
        path
    }

    /// A finished run in a folder: its document.
    fn greet(&self, folder: &Path) -> Value {
        self.stand.run(folder, &["run", "greet", "--name", "Ada", "--json"]).exits(0).document()
    }

    fn status(&self, folder: &Path, arguments: &[&str]) -> Value {
        let arguments = [&["status", "--json", "--all"], arguments].concat();
        self.stand.run(folder, &arguments).exits(0).document()
    }

    /// The short names and worktrees of what is listed.
    fn seen(&self, folder: &Path, arguments: &[&str]) -> Vec<(String, String)> {
        pairs(&self.status(folder, arguments))
    }
}

fn pairs(listing: &Value) -> Vec<(String, String)> {
    let items = listing["items"].as_array().expect("a list");
    let mut pairs: Vec<(String, String)> =
        items.iter().map(|run| (name(run), text(&run["worktree"]).to_owned())).collect();
    pairs.sort();
    pairs
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

fn sorted(mut pairs: Vec<(String, &str)>) -> Vec<(String, String)> {
    pairs.sort();
    pairs.into_iter().map(|(run, worktree)| (run, worktree.to_owned())).collect()
}

#[test]
fn every_worktree_sees_the_runs_of_all() {
    let site = Site::new();
    let (one, two) = (site.worktree("one"), site.worktree("two"));
    let (main, first, second) = (site.greet(&site.root), site.greet(&one), site.greet(&two));
    let all = sorted(vec![(name(&main), "main"), (name(&first), "one"), (name(&second), "two")]);
    for folder in [&site.root, &one, &two] {
        assert_eq!(site.seen(folder, &[]), all);
    }
    let table = site.stand.run(&one, &["status"]).exits(0);
    assert!(table.out.lines().next().is_some_and(|line| line.contains("WORKTREE")), "{table:#?}");
    // By name, by id, by path.
    let id = text(&first["worktree_id"]);
    for meant in ["one", id, &one.to_string_lossy()] {
        assert_eq!(site.seen(&site.root, &["--worktree", meant]), [(name(&first), "one".into())]);
    }
    assert_eq!(site.status(&site.root, &["--worktree", "three"])["total"], 0);
    let told = site.stand.run(&site.root, &["status", "--worktree", "three"]).exits(0);
    assert!(told.err.contains("no run is like that"), "{told:#?}");
    let items = site.status(&two, &["--worktree", "main"]);
    assert_eq!(items["items"][0]["database"], *site.root.join(DATABASE).to_string_lossy());
    assert_eq!(items["unreadable"], serde_json::json!([]));
}

#[test]
fn a_database_with_several_names_is_read_once() {
    let site = Site::new();
    let linked = site.worktree("linked");
    let run = site.greet(&site.root);
    fs::create_dir_all(linked.join(".agentos")).expect("a folder");
    std::os::unix::fs::symlink(site.root.join(DATABASE), linked.join(DATABASE)).expect("a link");
    let other = site.greet(&linked);
    let listing = site.status(&linked, &[]);
    assert_eq!(listing["total"], 2);
    assert_eq!(pairs(&listing), sorted(vec![(name(&run), "main"), (name(&other), "linked")]));
}

#[test]
fn a_workspace_joins_the_history_of_its_maker_and_is_named() {
    let site = Site::new();
    let make = site.stand.call(&site.root, &["workspace", "run", "ws1", "--", "true"]);
    make.without("AGENTOS_WORKSPACE_KIND").done().exits(0);
    let listed = site.stand.run(&site.root, &["workspace", "list", "--json"]).exits(0).document();
    let path = PathBuf::from(text(&listed["items"][0]["path"]));
    let (here, there) = (site.greet(&site.root), site.greet(&path));
    let all = sorted(vec![(name(&here), "main"), (name(&there), "ws1")]);
    for folder in [&site.root, &path] {
        let listing = site.status(folder, &[]);
        assert_eq!((&listing["total"], pairs(&listing)), (&2.into(), all.clone()));
    }
    assert_eq!(site.seen(&site.root, &["--worktree", "ws1"]), [(name(&there), "ws1".into())]);
}

#[test]
fn a_copied_run_is_shown_once_as_it_is_now() {
    let site = Site::new();
    let one = site.worktree("one");
    let run = site.greet(&site.root);
    fs::create_dir_all(one.join(".agentos")).expect("a folder");
    fs::copy(site.root.join(DATABASE), one.join(DATABASE)).expect("a copy");
    for folder in [&site.root, &one] {
        let listing = site.status(folder, &[]);
        assert_eq!((&listing["total"], pairs(&listing).len()), (&1.into(), 1), "{listing:#}");
        assert_eq!(site.stand.show(folder, &name(&run))["id"], run["id"]);
    }
}

#[test]
fn worktrees_that_are_moved_cleaned_or_removed_take_nothing_from_the_others() {
    let site = Site::new();
    let (one, two) = (site.worktree("one"), site.worktree("two"));
    let (main, first, second) = (site.greet(&site.root), site.greet(&one), site.greet(&two));
    let moved = site.stand.at("moved");
    site.stand
        .git(&site.root, &["worktree", "move", &one.to_string_lossy(), &moved.to_string_lossy()]);
    let all = vec![(name(&main), "main"), (name(&first), "moved"), (name(&second), "two")];
    assert_eq!(site.seen(&site.root, &[]), sorted(all));
    site.stand.git(&moved, &["clean", "-fdxq"]);
    let rest = vec![(name(&main), "main"), (name(&second), "two")];
    assert_eq!(site.seen(&moved, &[]), sorted(rest.clone()));
    let again = site.greet(&moved);
    assert_eq!(again["worktree_id"], first["worktree_id"], "it is who it was");
    site.stand.git(&site.root, &["worktree", "remove", "--force", &moved.to_string_lossy()]);
    assert_eq!(site.seen(&site.root, &[]), sorted(rest));
    // Removed behind git's back.
    fs::remove_dir_all(&two).expect("it is removed");
    assert_eq!(site.seen(&site.root, &[]), sorted(vec![(name(&main), "main")]));
}

#[test]
fn a_bare_layout_is_seen_from_each_of_its_worktrees() {
    let site = Site::new();
    let bare = site.stand.at("bare.git");
    let clone = ["clone", "-q", "--bare", &*site.root.to_string_lossy(), &bare.to_string_lossy()];
    site.stand.git(&site.root, &clone);
    let trees = ["left", "right"].map(|name| {
        let path = site.stand.at(name);
        let add = ["worktree", "add", "-q", "-b", name, &*path.to_string_lossy()];
        site.stand.git(&bare, &add);
        path
    });
    let (left, right) = (site.greet(&trees[0]), site.greet(&trees[1]));
    for tree in &trees {
        let all = vec![(name(&left), "left"), (name(&right), "right")];
        assert_eq!(site.seen(tree, &[]), sorted(all));
    }
}

#[test]
fn a_named_database_is_seen_alone_and_repositories_only_if_asked_for() {
    let site = Site::new();
    let other = site.stand.repository("other");
    let (here, there) = (site.greet(&site.root), site.greet(&other));
    assert_eq!(site.seen(&site.root, &[]), [(name(&here), "main".into())]);
    let both = vec![(name(&here), "repo/main"), (name(&there), "other/main")];
    assert_eq!(site.seen(&site.root, &["--all-repos"]), sorted(both));
    let only = site.status(&site.root, &["--all-repos", "--worktree", "other/main"]);
    assert_eq!(pairs(&only), [(name(&there), "other/main".into())]);
    let custom = site.stand.at("custom.db");
    let call = |arguments: &[&str]| {
        site.stand.call(&site.root, arguments).env("AGENTOS_WORKFLOW_DB", &custom).done().exits(0)
    };
    call(&["run", "greet", "--name", "Ada"]);
    assert_eq!(call(&["status", "--json"]).document()["total"], 1);
    // The registry knows it, so whoever looks at the repository sees it too.
    assert_eq!(site.status(&site.root, &[])["total"], 2);
}

#[test]
fn a_run_of_a_repository_that_is_gone_is_not_taken_for_one_of_another() {
    let site = Site::new();
    let gone = site.stand.repository("gone");
    let custom = site.stand.at("custom.db");
    let call = site.stand.call(&gone, &["run", "greet", "--json", "--name", "Ada"]);
    let there = call.env("AGENTOS_WORKFLOW_DB", &custom).done().exits(0).document();
    let here = site.greet(&site.root);
    fs::remove_dir_all(&gone).expect("it goes");
    let both = vec![(name(&here), "repo/main"), (name(&there), "gone/main")];
    assert_eq!(site.seen(&site.root, &["--all-repos"]), sorted(both));
}

#[test]
fn pages_lead_through_all_databases_and_show_every_run_once() {
    let site = Site::new();
    let folders = [site.root.clone(), site.worktree("one"), site.worktree("two")];
    for folder in folders.iter().cycle().take(7) {
        site.greet(folder);
    }
    let whole = site.status(&site.root, &[]);
    let ids = |listing: &Value| -> Vec<Value> {
        listing["items"].as_array().expect("a list").iter().map(|run| run["id"].clone()).collect()
    };
    let (mut by_page, mut by_place) = (Vec::new(), Vec::new());
    let mut place = None;
    for page in 1..=4 {
        let paged = site.status(&site.root, &["--limit", "2", "--page", &page.to_string()]);
        assert_eq!(paged["total"], 7);
        by_page.extend(ids(&paged));
        let after = place.as_ref().map_or_else(Vec::new, |place| vec!["--after", text(place)]);
        let behind = site.status(&folders[1], &[&["--limit", "2"], &*after].concat());
        by_place.extend(ids(&behind));
        place = Some(behind["next"].clone());
    }
    assert_eq!((by_page, by_place), (ids(&whole), ids(&whole)));
    assert_eq!(place, Some(Value::Null));
    assert!(ids(&site.status(&site.root, &["--limit", "2", "--page", "9"])).is_empty());
    site.stand.run(&site.root, &["status", "--after", "nowhere"]).exits(1);
    assert_eq!(site.status(&site.root, &["--since", "1h"])["total"], 7);
    assert_eq!(site.status(&site.root, &["--since", "2099-01-01"])["total"], 0);
    site.stand.run(&site.root, &["status", "--since", "soon"]).exits(2);
}

#[test]
fn the_global_database_is_seen_by_nobody_who_does_not_name_it() {
    let site = Site::new();
    let run = site.greet(&site.root);
    let global = "~/.agentos/issue_workflow.db";
    let call = |arguments: &[&str]| {
        let call = site.stand.call(&site.root, arguments).env("AGENTOS_WORKFLOW_DB", global);
        call.without("AGENTOS_WORKSPACE_KIND").done().exits(0).document()
    };
    let other = call(&["run", "greet", "--json", "--name", "Ada"]);
    let worktrees = site.stand.git(&site.root, &["worktree", "list", "--porcelain"]);
    assert!(worktrees.matches("worktree ").count() > 1, "its workspace is there: {worktrees}");
    assert_eq!(site.seen(&site.root, &[]), [(name(&run), "main".into())]);
    site.stand.run(&site.root, &["show", &name(&other)]).exits(3);
    assert_eq!(call(&["status", "--json", "--all"])["items"][0]["run_id"], name(&other).as_str());
}
