//! Locks: of others, and those that a killed git leaves.

use std::fs;

use agentos_process::tool::Tool;
use agentos_testing::wait::{TIMEOUT, wait_until};
use agentos_workspace::version_control::git::GitRepository;
use agentos_workspace::version_control::{
    Committed, Halt, Mark, NewBranch, VersionControl as _, VersionControlError,
};

use super::{Ground, everything};
use crate::fixture::standing_in;

#[test]
fn a_lock_that_a_killed_git_left_is_removed_by_whoever_clears_up() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    fs::write(ground.root.join(".git/index.lock"), "").unwrap();
    ground.repository().clear_up(None).unwrap();
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
        .only_environment(surroundings.environment)
        .timeout(TIMEOUT);
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| other.run().unwrap().is_success());
        wait_until("their hook has begun", || ground.root.join("begun").exists());
        assert!(ground.root.join(".git/index.lock").exists());
        ground.repository().clear_up(None).unwrap();
        assert!(ground.root.join(".git/index.lock").exists(), "somebody is at work");
        let ours = scope.spawn(|| {
            let repository = ground.repository();
            // Their hook notices it a moment later; until then the lock is waited for.
            fs::write(ground.root.join("go"), "").unwrap();
            repository.stage_all().map(|staged| staged.staged)
        });
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
    assert!(lock.path.ends_with(".git/index.lock"), "{error}");
    assert!(error.to_string().contains(&*lock.path.to_string_lossy()), "{error}");
}

#[test]
fn whoever_is_told_to_stop_starts_nothing_more() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    let halt = Halt::default();
    let surroundings = standing_in(&ground.playground, &ground.root);
    let repository =
        GitRepository::open(&ground.root, ground.scratch(), surroundings, halt.clone()).unwrap();
    halt.now();
    let error = repository.stage_all().unwrap_err();
    assert!(matches!(error, VersionControlError::Halted), "{error}");
    assert_eq!(ground.status().staged, 0);
}

#[test]
fn a_lock_of_the_branch_that_was_worked_on_or_wanted_is_removed_and_no_other() {
    let ground = Ground::new();
    for name in ["main", "wanted", "other"] {
        fs::write(ground.root.join(format!(".git/refs/heads/{name}.lock")), "").unwrap();
    }
    let repository = ground.repository();
    repository.clear_up(Some("wanted")).unwrap();
    repository.clear_up(Some("../../description")).unwrap();
    let left = |name: &str| ground.root.join(format!(".git/refs/heads/{name}.lock")).exists();
    assert_eq!((left("main"), left("wanted"), left("other")), (false, false, true));
    let wanted = NewBranch { branch: "wanted".into(), ..NewBranch::default() };
    assert!(repository.ensure_branch(&wanted).unwrap().created);
    ground.write("a", "1\n");
    assert!(ground.commit(everything("a")).unwrap().created);
}

#[test]
fn many_who_commit_everything_at_once_make_one_history_and_know_where_it_ends() {
    let ground = Ground::new();
    let answers: Vec<Committed> = std::thread::scope(|scope| {
        let committing = |index: usize| {
            let ground = &ground;
            scope.spawn(move || {
                ground.write(format!("file-{index}"), "1\n");
                let scratch = ground.playground.at(format!("scratch/{index}"));
                let surroundings = standing_in(&ground.playground, &ground.root);
                let repository =
                    GitRepository::open(&ground.root, scratch, surroundings, Halt::default());
                let mark = Mark::of("0190", &format!("save{index}"));
                repository.unwrap().commit(&everything("all of it"), &mark).unwrap()
            })
        };
        let threads: Vec<_> = (0..6).map(committing).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(ground.status().clean);
    let made = answers.iter().filter(|answer| answer.created).count();
    assert_eq!(ground.count(), 1 + made, "each commit has one who made it");
    for answer in answers.iter().filter(|answer| !answer.created) {
        let of_ours =
            answers.iter().any(|other| other.created && other.commit_sha == answer.commit_sha);
        assert!(of_ours, "{} was not the latest", answer.commit_sha);
    }
}
