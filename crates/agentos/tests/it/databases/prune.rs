//! `db prune`: nothing goes unless somebody says so, and only what is over.

use std::fs;

use super::{DATABASE, Pair, own_runs};
use crate::support::{Stand, name, wait_until};

fn greet(stand: &Stand, root: &std::path::Path, whom: &str) -> serde_json::Value {
    stand.run(root, &["run", "greet", "--json", "--name", whom]).exits(0).document()
}

#[test]
fn everything_is_kept_for_ever_unless_somebody_says_otherwise() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["db", "prune"]).exits(0);
    greet(&stand, &root, "Ada");
    let told = stand.run(&root, &["db", "prune"]).exits(0);
    assert!(told.out.contains("for ever"), "{told:#?}");
    assert_eq!(own_runs(&stand, &root).len(), 1);
    stand.run(&root, &["db", "prune", "--older-than", "soon"]).exits(2);
    stand.run(&root, &["db", "prune", "--status", "running"]).exits(2);
}

#[test]
fn old_runs_go_with_their_files_and_the_newest_stay() {
    let (stand, root) = Stand::with_repository();
    let runs: Vec<_> = ["one", "two", "three"].map(|whom| greet(&stand, &root, whom)).to_vec();
    let executions = root.join(".agent/workflows/executions");
    let folder = |run: &serde_json::Value| executions.join(run["id"].as_str().expect("an id"));
    let fresh = stand.run(&root, &["db", "prune", "--older-than", "1d"]).exits(0);
    assert!(fresh.out.contains("0 runs gone"), "{fresh:#?}");
    let trial = stand.run(&root, &["db", "prune", "--keep", "1", "--dry-run"]).exits(0);
    assert!(trial.out.contains("2 runs would go"), "{trial:#?}");
    assert_eq!(own_runs(&stand, &root).len(), 3);
    let chain = format!("refs/agentos/runs/{}", runs[0]["id"].as_str().expect("an id"));
    stand.git(&root, &["update-ref", &chain, "HEAD"]);
    let done = stand.run(&root, &["db", "prune", "--keep", "1"]).exits(0);
    assert_eq!(stand.git(&root, &["for-each-ref", "refs/agentos"]), "");
    assert!(done.out.contains("2 runs gone"), "{done:#?}");
    assert_eq!(own_runs(&stand, &root).iter().map(name).collect::<Vec<_>>(), [name(&runs[2])]);
    assert!(!folder(&runs[0]).exists() && !folder(&runs[1]).exists() && folder(&runs[2]).is_dir());
    stand.run(&root, &["db", "check"]).exits(0);
    greet(&stand, &root, "four");
    let failed = stand.run(&root, &["db", "prune", "--keep", "0", "--status", "failed"]).exits(0);
    assert!(failed.out.contains("0 runs gone"), "{failed:#?}");
    let all =
        stand.run(&root, &["db", "prune", "--older-than", "0m", "--json"]).exits(0).document();
    assert_eq!(all["removed"].as_array().map(Vec::len), Some(2), "{all}");
    assert!(all["freed"].as_u64() > Some(0) && all["reclaimed"] == true, "{all}");
}

#[test]
fn the_files_of_a_run_that_another_database_has_go_with_the_last_of_them() {
    let pair = Pair::new();
    pair.greet(&pair.main, "main");
    pair.run(&pair.side, &["db", "link"]).exits(0);
    let run = pair.greet(&pair.side, "side");
    pair.run(&pair.side, &["db", "unlink", "--merge"]).exits(0);
    let id = run["id"].as_str().expect("an id");
    let folder = pair.side.join(".agent/workflows/executions").join(id);
    let chain = format!("refs/agentos/runs/{id}");
    pair.stand.git(&pair.main, &["update-ref", &chain, "HEAD"]);
    let told = pair.run(&pair.main, &["db", "prune", "--older-than", "0m"]).exits(0);
    assert!(told.out.contains("another database has it too"), "{told:#?}");
    assert_eq!(own_runs(&pair.stand, &pair.main).len(), 0);
    assert!(pair.stand.git(&pair.main, &["for-each-ref", "refs/agentos"]).contains(id));
    let aside = folder.with_file_name(format!(".pruned-{id}"));
    fs::rename(&folder, &aside).unwrap();
    // Whoever knows the place and not the run leaves the files to those who know it.
    let path = pair.side.join(DATABASE);
    let away = pair.stand.at("away.db");
    let other = pair.stand.call(&pair.side, &["run", "greet", "--name", "other"]);
    other.env("AGENTOS_WORKFLOW_DB", away.to_str().expect("a path")).done().exits(0);
    let check = pair.stand.call(&pair.side, &["db", "check", "--fix"]);
    check.env("AGENTOS_WORKFLOW_DB", away.to_str().expect("a path")).done();
    assert!(path.is_file() && folder.is_dir() && !aside.exists(), "it was put back");
    let logs = pair.run(&pair.side, &["logs", &name(&run)]).exits(0);
    assert!(logs.out.contains("greeting side"), "{logs:#?}");
    pair.run(&pair.side, &["db", "check"]).exits(0);
    fs::remove_file(&away).unwrap();
    pair.run(&pair.side, &["db", "prune", "--older-than", "0m"]).exits(0);
    assert!(!folder.exists());
    assert_eq!(pair.stand.git(&pair.main, &["for-each-ref", "refs/agentos"]), "");
}

#[test]
fn the_configuration_says_how_long_each_kind_is_kept() {
    let (stand, root) = Stand::with_repository();
    fs::create_dir_all(root.join(".agent")).unwrap();
    fs::write(root.join(".agent/config.toml"), "[retention]\ncompleted = \"90d\"\nlogs = \"0m\"\n")
        .unwrap();
    let run = greet(&stand, &root, "Ada");
    let told = stand.run(&root, &["db", "prune"]).exits(0);
    assert!(told.out.contains("removed the logs of"), "{told:#?}");
    assert_eq!(own_runs(&stand, &root).len(), 1);
    let again = stand.run(&root, &["db", "prune"]).exits(0);
    assert!(!again.out.contains("the logs of"), "{again:#?}");
    stand.run(&root, &["show", &name(&run)]).exits(0);
    stand.run(&root, &["db", "check"]).exits(0);
    fs::write(root.join(".agent/config.toml"), "[retention]\ncompleted = \"soon\"\n").unwrap();
    stand.run(&root, &["db", "prune"]).exits(2);
}

#[test]
fn what_has_not_ended_stays_whatever_is_said() {
    let (stand, root) = Stand::with_repository();
    let mut process = stand.call(&root, &["run", "listen"]).start();
    wait_until("it waits", || {
        stand.runs(&root).iter().any(|run| run["waiting"]["kind"] == "signal")
    });
    greet(&stand, &root, "Ada");
    let told = stand.run(&root, &["db", "prune", "--older-than", "0m"]).exits(0);
    assert!(told.out.contains("1 run gone") && told.out.contains("another time"), "{told:#?}");
    assert_eq!(own_runs(&stand, &root).len(), 1);
    stand.run(&root, &["signal", "listen", "go"]).exits(0);
    process.child().wait().expect("it ends");
    stand.until_status(&root, "listen", "COMPLETED");
}

#[test]
fn whoever_is_killed_while_pruning_leaves_nothing_that_can_not_be_mended() {
    let (stand, root) = Stand::with_repository();
    let mut hits = 0;
    for round in 0..4 {
        for whom in ["one", "two", "three"] {
            greet(&stand, &root, whom);
        }
        let process = stand.call(&root, &["db", "prune", "--older-than", "0m"]).start();
        hits += usize::from(process.kill_after_changes(&root, 1 + round * 3));
        stand.run(&root, &["db", "check", "--fix"]).exits(0);
        stand.run(&root, &["db", "check"]).exits(0);
        for run in own_runs(&stand, &root) {
            let logs = stand.run(&root, &["logs", &name(&run)]).exits(0);
            assert!(logs.out.contains("greeting"), "what is there is whole: {logs:#?}");
        }
    }
    assert!(hits > 0, "it was never killed at work");
    assert!(root.join(DATABASE).is_file());
}

#[test]
fn what_a_run_has_started_can_not_change_databases() {
    let (stand, root) = Stand::with_repository();
    for verb in ["link", "unlink", "prune", "check"] {
        let call = stand.call(&root, &["db", verb]).env("AGENTOS_OPERATION", "0123");
        call.done().exits(4);
    }
    assert!(!root.join(".agentos").exists());
}
