//! How the files stand.

use agentos_workspace::version_control::answer::ChangeKind;
use agentos_workspace::version_control::{StatusRequest, VersionControl as _};

use super::Ground;

#[test]
fn every_kind_of_change_is_told_by_its_name() {
    let ground = Ground::new();
    let old = "line\n".repeat(20);
    for name in ["gone", "moved", "typed", "same"] {
        ground.write(name, &format!("{name}\n{old}"));
    }
    ground.git(&["add", "."]);
    ground.git(&["commit", "--quiet", "--message=files"]);
    ground.write("staged", "1\n");
    ground.git(&["add", "staged"]);
    ground.git(&["mv", "moved", "to here"]);
    std::fs::remove_file(ground.root.join("gone")).unwrap();
    std::fs::remove_file(ground.root.join("typed")).unwrap();
    std::os::unix::fs::symlink("same", ground.root.join("typed")).unwrap();
    ground.write("README.md", "changed\n");
    ground.write("new/\"odd\"\nü ", "1\n");
    let status = ground.status();
    let entry = |path: &str| status.entries.iter().find(|entry| entry.path == path).unwrap();
    let kinds = [
        ("staged", "A ", ChangeKind::Added),
        ("to here", "R ", ChangeKind::Renamed),
        ("gone", " D", ChangeKind::Deleted),
        ("typed", " T", ChangeKind::Retyped),
        ("README.md", " M", ChangeKind::Modified),
        ("new/\"odd\"\nü ", "??", ChangeKind::Untracked),
    ];
    for (path, code, kind) in kinds {
        assert_eq!((entry(path).code.as_str(), entry(path).kind), (code, kind), "{path}");
    }
    assert_eq!(entry("to here").from.as_deref(), Some("moved"));
    assert_eq!((status.total, status.staged, status.unstaged, status.untracked), (6, 2, 3, 1));
    assert!(!status.clean && !status.truncated);
    assert_eq!((status.branch.as_deref(), status.head), (Some("main"), Some(ground.head())));
}

#[test]
fn names_are_themselves_whatever_git_is_configured_to_make_of_them() {
    for quote in ["true", "false"] {
        let ground = Ground::new();
        ground.git(&["config", "core.quotePath", quote]);
        ground.git(&["config", "status.relativePaths", "true"]);
        ground.git(&["config", "status.showUntrackedFiles", "no"]);
        ground.git(&["config", "color.ui", "always"]);
        let odd = ["ä\u{1F600}", "tab\there", "two\nlines", "'\"\\", " leading", "-option", "*"];
        odd.iter().for_each(|name| ground.write(name, "1\n"));
        let mut found: Vec<String> =
            ground.status().entries.into_iter().map(|entry| entry.path).collect();
        found.sort();
        let mut expected = odd.map(str::to_owned);
        expected.sort();
        assert_eq!(found, expected);
        assert_eq!(ground.repository().stage_all().unwrap().staged, odd.len());
    }
}

#[test]
fn how_far_a_branch_is_from_what_it_follows_is_told() {
    let ground = Ground::new();
    ground.git(&["branch", "followed"]);
    ground.git(&["switch", "--quiet", "--create", "topic"]);
    ground.git(&["branch", "--quiet", "--set-upstream-to=followed"]);
    ground.git(&["commit", "--quiet", "--allow-empty", "--message=a"]);
    ground.git(&["commit", "--quiet", "--allow-empty", "--message=b"]);
    ground.git(&["switch", "--quiet", "followed"]);
    ground.git(&["commit", "--quiet", "--allow-empty", "--message=c"]);
    ground.git(&["switch", "--quiet", "topic"]);
    let status = ground.status();
    assert_eq!((status.upstream.as_deref(), status.ahead, status.behind), (Some("followed"), 2, 1));
}

#[test]
fn a_repository_without_a_commit_and_one_without_a_branch_have_a_status() {
    let ground = Ground::unborn();
    let status = ground.status();
    assert_eq!((status.branch.as_deref(), status.head, status.clean), (Some("main"), None, true));
    let ground = Ground::new();
    ground.git(&["switch", "--quiet", "--detach"]);
    let status = ground.status();
    assert_eq!((status.branch, status.head), (None, Some(ground.head())));
}

#[test]
fn a_question_takes_no_lock_and_changes_nothing() {
    let ground = Ground::new();
    std::fs::write(ground.root.join(".git/index.lock"), "").unwrap();
    let before = agentos_testing::repo::snapshot(&ground.root);
    let repository = ground.repository();
    repository.status(&StatusRequest::default()).unwrap();
    repository.diff(&agentos_workspace::version_control::DiffRequest::default()).unwrap();
    repository.log(&agentos_workspace::version_control::LogRequest::default()).unwrap();
    repository.current_branch().unwrap();
    let after = agentos_testing::repo::snapshot(&ground.root);
    let differ =
        after.keys().chain(before.keys()).filter(|path| after.get(*path) != before.get(*path));
    // The content of an empty file is kept by whoever makes a new file known, for an index that nobody else sees.
    let is_empty_file = |path: &std::path::PathBuf| path.to_string_lossy().contains("/objects/e6");
    let differ: Vec<_> = differ.filter(|path| !is_empty_file(path)).collect();
    assert!(differ.is_empty(), "{differ:?}");
}
