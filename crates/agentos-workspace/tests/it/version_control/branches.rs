//! Branches.

use agentos_workspace::version_control::request::NewBranch;
use agentos_workspace::version_control::{VersionControl as _, VersionControlError};

use super::Ground;

fn named(branch: &str) -> NewBranch {
    NewBranch { branch: branch.to_owned(), ..NewBranch::default() }
}

#[test]
fn a_branch_is_made_once_and_checked_out_with_the_changes_that_are_there() {
    let ground = Ground::new();
    ground.write("README.md", "changed\n");
    let repository = ground.repository();
    let made = repository.ensure_branch(&named("feat/ü \"x\"".replace(' ', "-").as_str())).unwrap();
    assert_eq!((made.created, made.switched, made.head), (true, true, Some(ground.head())));
    assert_eq!(made.branch, "feat/ü-\"x\"");
    assert_eq!(repository.current_branch().unwrap().as_deref(), Some("feat/ü-\"x\""));
    assert_eq!(ground.status().unstaged, 1, "the change came along");
    let again = repository.ensure_branch(&named(&made.branch)).unwrap();
    assert_eq!((again.created, again.switched), (false, false));
    let back = repository.ensure_branch(&named("main")).unwrap();
    assert_eq!((back.created, back.switched), (false, true));
}

#[test]
fn a_branch_begins_where_it_is_told_to_unless_it_is_there() {
    let ground = Ground::new();
    let first = ground.head();
    ground.git(&["commit", "--quiet", "--allow-empty", "--message=second"]);
    let second = ground.head();
    let from =
        |branch: &str, from: &str| NewBranch { from: Some(from.to_owned()), ..named(branch) };
    let repository = ground.repository();
    assert_eq!(repository.ensure_branch(&from("old", "HEAD~1")).unwrap().head, Some(first.clone()));
    repository.ensure_branch(&named("main")).unwrap();
    assert_eq!(repository.ensure_branch(&from("old", &second)).unwrap().head, Some(first));
    for odd in ["--detach", "-x", "^main", "main..old", "nope", "", "a\nb", "--upload-pack=touch x"]
    {
        let error = repository.ensure_branch(&from("new", odd)).unwrap_err();
        assert!(matches!(error, VersionControlError::Input { .. }), "{odd}: {error}");
    }
    assert_eq!(repository.current_branch().unwrap().as_deref(), Some("old"));
}

#[test]
fn what_is_no_name_of_a_branch_is_refused_by_its_name() {
    let ground = Ground::new();
    ground.repository().ensure_branch(&named("other")).unwrap();
    let odd = [
        "--upload-pack=touch owned",
        "-b",
        "",
        "HEAD",
        "@{-1}",
        "@",
        "a b",
        "a\nb",
        "a\0b",
        "a..b",
        "a.lock",
        "refs/heads/",
        "x~1",
        "a:b",
        &"x".repeat(5_000),
    ];
    for name in odd {
        let error = ground.repository().ensure_branch(&named(name)).unwrap_err();
        assert!(matches!(error, VersionControlError::Input { .. }), "{name:?}: {error}");
        assert!(error.to_string().len() < 400, "{error}");
    }
    let error = ground.repository().ensure_branch(&named("--upload-pack=touch owned")).unwrap_err();
    assert_eq!(error.to_string(), "`--upload-pack=touch owned` can't be the name of a branch");
    assert!(!ground.root.join("owned").exists());
    assert_eq!(ground.git(&["branch", "--format=%(refname:short)"]), "main\nother\n");
}

#[test]
fn a_branch_of_another_worktree_and_one_that_would_cost_changes_are_refused() {
    let ground = Ground::new();
    ground.git(&["worktree", "add", "--quiet", "-b", "taken", "../taken"]);
    let repository = ground.repository();
    let error = repository.ensure_branch(&named("taken")).unwrap_err();
    assert!(matches!(error, VersionControlError::Elsewhere { .. }), "{error}");
    assert!(error.to_string().contains("/taken"), "{error}");
    repository.ensure_branch(&named("topic")).unwrap();
    ground.write("README.md", "topic\n");
    ground.git(&["commit", "--quiet", "--all", "--message=topic"]);
    ground.write("README.md", "not committed\n");
    let error = repository.ensure_branch(&named("main")).unwrap_err();
    assert!(matches!(error, VersionControlError::WouldLose { .. }), "{error}");
    assert!(error.to_string().contains("README.md"), "{error}");
    let kept = std::fs::read_to_string(ground.root.join("README.md")).unwrap();
    assert_eq!(kept, "not committed\n");
    let error = repository.ensure_branch(&named("topic/below")).unwrap_err();
    assert!(error.to_string().contains("topic"), "{error}");
}

#[test]
fn without_a_commit_and_without_a_branch_there_is_something_to_say() {
    let ground = Ground::unborn();
    let repository = ground.repository();
    assert_eq!(repository.current_branch().unwrap().as_deref(), Some("main"));
    assert_eq!(repository.current_commit().unwrap(), None);
    let made = repository.ensure_branch(&named("begin")).unwrap();
    assert_eq!((made.branch.as_str(), made.head), ("begin", None));
    assert_eq!(repository.current_branch().unwrap().as_deref(), Some("begin"));
    let ground = Ground::new();
    ground.git(&["switch", "--quiet", "--detach"]);
    let repository = ground.repository();
    assert_eq!(repository.current_branch().unwrap(), None);
    assert_eq!(repository.current_commit().unwrap(), Some(ground.head()));
    let made = repository.ensure_branch(&named("back")).unwrap();
    assert_eq!((made.created, made.head), (true, Some(ground.head())));
}
