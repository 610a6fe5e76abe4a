//! `db link` and `db unlink`: nothing is hidden, nothing is lost, and what can't be linked is said clearly.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use agentos_testing::repo::snapshot;

use super::{DATABASE, Pair, own_runs};
use crate::support::{name, sqlite, wait_until};

#[test]
fn a_worktree_joins_the_main_checkout_and_leaves_it_again() {
    let pair = Pair::new();
    pair.greet(&pair.main, "main");
    let told = pair.run(&pair.side, &["db", "link"]).exits(0);
    assert!(told.out.contains("uses"), "{}", told.out);
    let link = pair.side.join(DATABASE);
    assert_eq!(fs::read_link(&link).unwrap(), pair.main.join(DATABASE));
    pair.greet(&pair.side, "side");
    assert_eq!(pair.greeted(&pair.main), ["main", "side"]);
    assert_eq!(pair.greeted(&pair.side), ["main", "side"]);
    let worktrees: Vec<_> =
        own_runs(&pair.stand, &pair.side).iter().map(|run| run["worktree_id"].clone()).collect();
    assert_ne!(worktrees[0], worktrees[1], "each run says whose it is");
    assert_eq!(pair.stand.git(&pair.side, &["status", "--porcelain"]), "");
    let again = pair.run(&pair.side, &["db", "link"]).exits(0);
    assert!(again.err.is_empty(), "{again:#?}");
    // The link for people may be lost: the history is the same.
    pair.stand.git(&pair.side, &["clean", "-qfdx"]);
    assert!(link.symlink_metadata().is_err());
    assert_eq!(pair.greeted(&pair.side), ["main", "side"]);
    pair.greet(&pair.side, "later");
    assert_eq!(pair.greeted(&pair.main), ["later", "main", "side"]);
    pair.run(&pair.side, &["db", "unlink"]).exits(0);
    assert_eq!(own_runs(&pair.stand, &pair.side), Vec::<serde_json::Value>::new());
    pair.greet(&pair.side, "alone");
    assert_eq!(pair.greeted(&pair.side), ["alone"]);
    assert_eq!(pair.greeted(&pair.main), ["later", "main", "side"]);
    let nothing = pair.run(&pair.side, &["db", "unlink"]).exits(0);
    assert!(nothing.out.contains("is not linked"), "{nothing:#?}");
}

#[test]
fn a_link_that_would_hide_runs_is_refused_until_they_are_copied() {
    let pair = Pair::new();
    pair.greet(&pair.main, "main");
    let side = pair.greet(&pair.side, "side");
    let refused = pair.run(&pair.side, &["db", "link"]).exits(4);
    assert!(refused.err.contains(&name(&side)) && refused.err.contains("--merge"), "{refused:#?}");
    assert!(!pair.side.join(DATABASE).is_symlink());
    assert_eq!(
        (pair.greeted(&pair.main), pair.greeted(&pair.side)),
        (vec!["main".into()], vec!["side".into()])
    );
    let linked = pair.run(&pair.side, &["db", "link", "--merge"]).exits(0);
    assert!(linked.out.contains("1 run copied") && linked.out.contains("kept as"), "{linked:#?}");
    assert_eq!(pair.greeted(&pair.main), ["main", "side"]);
    let shown = pair.stand.show(&pair.side, side["id"].as_str().expect("an id"));
    for field in
        ["output", "worktree_id", "work_dir", "created_at", "started_at", "definition_version"]
    {
        assert_eq!(shown[field], side[field], "{field}");
    }
    let logs = pair.run(&pair.side, &["logs", &name(&side)]).exits(0);
    assert!(logs.out.contains("greeting side"), "{}", logs.out);
    // There and back: what is this checkout's own comes along, and the shared history keeps it.
    let unlinked = pair.run(&pair.side, &["db", "unlink", "--merge"]).exits(0);
    assert!(unlinked.out.contains("1 run copied"), "{unlinked:#?}");
    assert_eq!(pair.greeted(&pair.side), ["side"]);
    assert_eq!(pair.greeted(&pair.main), ["main", "side"]);
    assert!(!pair.side.join(DATABASE).is_symlink());
    // Everything that is here is there: nothing would be hidden.
    pair.run(&pair.side, &["db", "link"]).exits(0);
    assert_eq!(pair.greeted(&pair.side), ["main", "side"]);
}

#[test]
fn a_run_that_waits_goes_on_in_the_database_that_it_was_copied_to() {
    let pair = Pair::new();
    let mut process = pair.stand.call(&pair.side, &["run", "listen"]).start();
    wait_until("it waits", || {
        own_runs(&pair.stand, &pair.side).iter().any(|run| run["waiting"]["kind"] == "signal")
    });
    let busy = pair.run(&pair.side, &["db", "link", "--merge"]).exits(4);
    assert!(busy.err.contains("at work"), "{busy:#?}");
    process.send(rustix::process::Signal::INT);
    process.done().exits(130);
    pair.run(&pair.side, &["db", "link", "--merge"]).exits(0);
    pair.run(&pair.side, &["signal", "listen", "go"]).exits(0);
    pair.stand.until_status(&pair.side, "listen", "COMPLETED");
    assert_eq!(own_runs(&pair.stand, &pair.main).len(), 1);
}

#[test]
fn what_can_not_be_linked_to_is_said_clearly_and_changes_nothing() {
    let pair = Pair::new();
    let (stand, side) = (&pair.stand, &pair.side);
    pair.greet(side, "side");
    let at = |name: &str| stand.at(name).to_string_lossy().into_owned();
    fs::write(stand.at("text.db"), "not a database, however long it may be").unwrap();
    foreign(&stand.at("foreign.db"));
    symlink(stand.at("nowhere.db"), stand.at("dangling.db")).unwrap();
    symlink(stand.at("circle2.db"), stand.at("circle1.db")).unwrap();
    symlink(stand.at("circle1.db"), stand.at("circle2.db")).unwrap();
    let other = stand.repository("other");
    stand.run(&other, &["run", "greet", "--name", "other"]).exits(0);
    newer(&other.join(DATABASE), &stand.at("newer.db"));
    let before = snapshot(&stand.at(""));
    for (target, code, word) in [
        (at("missing.db"), 3, "there is no database"),
        (at("dangling.db"), 3, "does not exist"),
        (at("circle1.db"), 2, "leads back to itself"),
        (at("text.db"), 4, "not a database"),
        (at("foreign.db"), 4, "LangGraph"),
        (at("newer.db"), 4, "use the newer program"),
        (at("other"), 4, "another repository"),
        (at("side"), 2, "this checkout itself"),
    ] {
        let refused = pair.run(side, &["db", "link", &target, "--merge"]).exits(code);
        assert!(refused.err.contains(word), "{target}: {refused:#?}");
    }
    let main = pair.run(&pair.main, &["db", "link"]).exits(2);
    assert!(main.err.contains("main checkout"), "{main:#?}");
    let outside = stand.folder("outside");
    stand.run(&outside, &["db", "link"]).exits(2);
    let after = snapshot(&stand.at(""));
    let is_ours = |path: &&std::path::PathBuf| !path.to_string_lossy().contains("links.lock");
    let (before, after) =
        (before.keys().filter(is_ours).count(), after.keys().filter(is_ours).count());
    assert!(after <= before + 2, "only folders for locks may be new");
    assert_eq!(pair.greeted(side), ["side"]);
}

/// A database that LangGraph could have made.
pub(super) fn foreign(path: &Path) {
    sqlite(path, include_str!("sql/langgraph.sql"));
}

/// A copy with a schema of the future.
fn newer(from: &Path, to: &Path) {
    fs::copy(from, to).expect("a copy");
    sqlite(to, include_str!("sql/newer.sql"));
}

#[test]
fn a_workspace_joins_its_makers_history_whatever_happened_to_the_link() {
    let pair = Pair::new();
    let stand = &pair.stand;
    let made = ["workspace", "run", "ws", "--kind", "worktree", "--", "true"];
    stand.call(&pair.side, &made).without("AGENTOS_WORKSPACE_KIND").done().exits(0);
    let listed = pair.run(&pair.side, &["workspace", "list", "--json"]).exits(0).document();
    let inside = std::path::PathBuf::from(listed["items"][0]["path"].as_str().expect("a path"));
    let link = inside.join(DATABASE);
    let maker = pair.side.join(DATABASE);
    assert_eq!(fs::read_link(&link).unwrap(), maker);
    let finds = |expected: &Path| {
        for with_variable in [true, false] {
            let mut call = stand.call(&inside, &["db", "path"]);
            if with_variable {
                call = call.env("AGENT_WORKSPACE_METADATA", inside.join(".agent-workflow.json"));
            }
            let found = call.done().exits(0).out;
            assert_eq!(Path::new(found.trim_end()), expected, "{with_variable}");
        }
    };
    finds(&maker);
    fs::remove_file(&link).unwrap();
    finds(&maker);
    symlink(stand.at("nowhere.db"), &link).unwrap();
    finds(&maker);
    pair.greet(&inside, "inside");
    assert!(!stand.at("nowhere.db").exists(), "nothing is made at the end of a dangling link");
    fs::remove_file(&link).unwrap();
    symlink(&link, &link).unwrap();
    finds(&maker);
    fs::remove_file(&link).unwrap();
    fs::write(&link, "").unwrap();
    finds(&maker);
    assert_eq!(pair.greeted(&pair.side), ["inside"]);
    // Where the maker's history goes, its workspaces go along, also when its own link is lost.
    pair.run(&pair.side, &["db", "link", "--merge"]).exits(0);
    finds(&pair.main.join(DATABASE));
    stand.git(&pair.side, &["clean", "-qfdx"]);
    finds(&pair.main.join(DATABASE));
    let refused = pair.run(&inside, &["db", "unlink"]).exits(4);
    assert!(refused.err.contains("workspace ws"), "{refused:#?}");
    let known = pair.run(&pair.main, &["workspace", "list", "--json"]).exits(0).document();
    assert_eq!(known["items"][0]["id"], "ws", "{known}");
}

#[test]
fn a_history_that_is_gone_is_not_begun_anew() {
    let pair = Pair::new();
    pair.greet(&pair.main, "main");
    pair.run(&pair.side, &["db", "link"]).exits(0);
    let away = pair.stand.at("away.db");
    fs::rename(pair.main.join(DATABASE), &away).unwrap();
    let gone = pair.run(&pair.side, &["run", "greet", "--name", "side"]).exits(1);
    assert!(gone.err.contains("db unlink"), "{gone:#?}");
    let merge = pair.run(&pair.side, &["db", "unlink", "--merge"]).exits(3);
    assert!(merge.err.contains("--merge"), "{merge:#?}");
    assert!(!pair.main.join(DATABASE).exists());
    fs::rename(&away, pair.main.join(DATABASE)).unwrap();
    assert_eq!(pair.greeted(&pair.side), ["main"]);
    fs::remove_dir_all(pair.main.join(".agentos")).unwrap();
    pair.run(&pair.side, &["db", "unlink"]).exits(0);
    pair.greet(&pair.side, "side");
    assert_eq!(pair.greeted(&pair.side), ["side"]);
}

#[test]
fn a_target_on_another_file_system_is_as_good_as_any() {
    let pair = Pair::new();
    pair.greet(&pair.side, "side");
    let folder = tempfile::tempdir_in("/dev/shm").expect("a file system in memory");
    let target = folder.path().join("shared.db");
    let text = target.to_string_lossy().into_owned();
    let first = pair.stand.call(&pair.main, &["run", "greet", "--name", "main"]);
    first.env("AGENTOS_WORKFLOW_DB", &text).done().exits(0);
    pair.run(&pair.side, &["db", "link", &text, "--merge"]).exits(0);
    assert_eq!(pair.greeted(&pair.side), ["main", "side"]);
    pair.run(&pair.side, &["db", "unlink", "--merge"]).exits(0);
    assert_eq!(pair.greeted(&pair.side), ["side"]);
}
