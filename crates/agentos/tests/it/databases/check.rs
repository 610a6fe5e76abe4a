//! `db check`: what is wrong is found, what can be mended is, and looking changes nothing.

use std::fs;

use agentos_testing::repo::snapshot;

use super::DATABASE;
use crate::support::{Stand, sqlite, wait_until};

#[test]
fn a_sound_database_is_fine_and_stays_as_it_is() {
    let (stand, root) = Stand::with_repository();
    let nothing = stand.run(&root, &["db", "check"]).exits(0);
    assert!(nothing.out.contains("no database"), "{nothing:#?}");
    for workflow in ["greet", "parent", "tree"] {
        stand.run(&root, &["run", workflow, "--input", "name=Ada"]);
    }
    let before = snapshot(&root);
    let told = stand.run(&root, &["db", "check"]).exits(0);
    assert!(told.out.contains("everything is fine"), "{told:#?}");
    let report = stand.run(&root, &["db", "check", "--json"]).exits(0).document();
    assert_eq!(report["problems"], serde_json::json!([]));
    assert!(report["sizes"]["log"].as_u64() > Some(0), "{report}");
    assert!(before == snapshot(&root), "looking changes nothing");
}

#[test]
fn rows_that_are_not_what_the_log_says_are_made_again() {
    let (stand, root) = Stand::with_repository();
    let run = stand.run(&root, &["run", "greet", "--json", "--name", "Ada"]).exits(0).document();
    let id = run["id"].as_str().expect("an id").to_owned();
    let before = stand.show(&root, &id);
    sqlite(&root.join(DATABASE), include_str!("sql/wrong_rows.sql"));
    let found = stand.run(&root, &["db", "check"]).exits(1);
    for word in ["workflow_steps", "messages wait", "referred to by nothing", "3 problems"] {
        assert!(found.out.contains(word), "{word}: {found:#?}");
    }
    let mended = stand.run(&root, &["db", "check", "--fix"]).exits(0);
    assert!(mended.out.contains("mended"), "{mended:#?}");
    stand.run(&root, &["db", "check"]).exits(0);
    let after = stand.show(&root, &id);
    assert_eq!((&before["steps"], &before["output"]), (&after["steps"], &after["output"]));
}

#[test]
fn what_can_not_be_mended_is_told() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    sqlite(&root.join(DATABASE), include_str!("sql/damaged_log.sql"));
    let told = stand.run(&root, &["db", "check", "--fix"]).exits(1);
    assert!(told.out.contains("is damaged") && told.out.contains("left"), "{told:#?}");
    let bytes = fs::read(root.join(DATABASE)).unwrap();
    fs::write(root.join(DATABASE), &bytes[..bytes.len() / 2]).unwrap();
    stand.run(&root, &["db", "check"]).exits(4);
}

#[test]
fn folders_that_nobody_knows_and_runs_without_theirs_are_found() {
    let (stand, root) = Stand::with_repository();
    let run = stand.run(&root, &["run", "greet", "--json", "--name", "Ada"]).exits(0).document();
    let id = run["id"].as_str().expect("an id");
    let executions = root.join(".agent/workflows/executions");
    let stranger = executions.join("0192d4e0-0000-7000-8000-000000000002");
    let left = executions.join(".pruned-0192d4e0-0000-7000-8000-000000000003");
    for folder in [&stranger, &left] {
        fs::create_dir(folder).unwrap();
    }
    // Somebody was killed after the folder was put aside, and before the rows went.
    fs::rename(executions.join(id), executions.join(format!(".pruned-{id}"))).unwrap();
    let found = stand.run(&root, &["db", "check"]).exits(1);
    assert!(found.out.contains("no database knows"), "{found:#?}");
    let fixed = stand.run(&root, &["db", "check", "--fix"]).exits(1);
    assert!(fixed.out.contains("1 problem left"), "{fixed:#?}");
    assert!(stranger.is_dir() && !left.exists(), "only what is surely ours goes");
    let logs = stand.run(&root, &["logs", id]).exits(0);
    assert!(logs.out.contains("greeting Ada"), "{logs:#?}");
    fs::remove_dir(&stranger).unwrap();
    fs::remove_dir_all(executions.join(id)).unwrap();
    stand.run(&root, &["db", "check"]).exits(1);
    stand.run(&root, &["db", "check", "--fix"]).exits(0);
    stand.run(&root, &["db", "check"]).exits(0);
}

#[test]
fn a_database_whose_user_was_killed_is_looked_at_without_touching_it() {
    let (stand, root) = Stand::with_repository();
    let process = stand.call(&root, &["run", "listen"]).start();
    wait_until("it waits", || {
        stand.runs(&root).iter().any(|run| run["waiting"]["kind"] == "signal")
    });
    stand.run(&root, &["db", "check"]).exits(0);
    process.kill();
    let files = || {
        ["", "-wal", "-shm"].map(|suffix| fs::read(root.join(format!("{DATABASE}{suffix}"))).ok())
    };
    let before = files();
    let told = stand.run(&root, &["db", "check"]).exits(0);
    assert!(told.out.contains("everything is fine"), "{told:#?}");
    assert!(before == files(), "looking changes nothing");
}
