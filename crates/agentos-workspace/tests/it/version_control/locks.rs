//! Locks: of others, and those that a killed git leaves.

use std::fs;

use agentos_process::tool::Tool;
use agentos_workspace::version_control::{Halt, VersionControl as _, VersionControlError};

use super::{Ground, everything};
use crate::fixture::standing_in;

#[test]
fn a_lock_that_a_killed_git_left_is_removed_by_whoever_clears_up() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    fs::write(ground.root.join(".git/index.lock"), "").unwrap();
    ground.repository().clear_up().unwrap();
    assert!(ground.commit(everything("a")).unwrap().created);
}

#[test]
fn a_lock_of_somebody_at_work_is_waited_for_and_not_removed() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    ground.git(&["add", "a"]);
    // The hook of another git makes it hold the lock until this test lets it go on.
    ground.hook("pre-commit", "touch begun; while [ ! -e go ]; do sleep 0.05; done");
    let surroundings = standing_in(&ground.playground, &ground.root);
    let other = Tool::new("git")
        .args(["commit", "--quiet", "--all", "--message=theirs"])
        .in_folder(&ground.root)
        .only_environment(surroundings.environment);
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| other.run().unwrap().is_success());
        let wait = |name: &str| while !ground.root.join(name).exists() {};
        wait("begun");
        assert!(ground.root.join(".git/index.lock").exists());
        ground.repository().clear_up().unwrap();
        assert!(ground.root.join(".git/index.lock").exists(), "somebody is at work");
        let ours = scope.spawn(|| {
            let repository = ground.repository();
            repository.stage_all().map(|staged| staged.staged)
        });
        fs::write(ground.root.join("go"), "").unwrap();
        assert!(theirs.join().unwrap());
        assert!(ours.join().unwrap().is_ok());
    });
    assert_eq!(ground.count(), 2);
}

#[test]
fn a_lock_that_stays_is_named() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    fs::write(ground.root.join(".git/index.lock"), "").unwrap();
    let error = ground.repository().stage_all().unwrap_err();
    let VersionControlError::Locked { lock } = &error else { panic!("{error}") };
    assert!(lock.ends_with(".git/index.lock"), "{error}");
}

#[test]
fn whoever_is_told_to_stop_starts_nothing_more() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    let halt = Halt::default();
    let surroundings = standing_in(&ground.playground, &ground.root);
    let repository = agentos_workspace::version_control::git::GitRepository::open(
        &ground.root,
        surroundings,
        halt.clone(),
    )
    .unwrap();
    halt.now();
    let error = repository.stage_all().unwrap_err();
    assert!(matches!(error, VersionControlError::Halted), "{error}");
    assert_eq!(ground.status().staged, 0);
}
