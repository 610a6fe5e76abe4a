//! Branches.

use agentos_workspace::version_control::{NewBranch, VersionControlError};

use super::{Desk, named};
use crate::version_control::{everything, mark};

pub(super) fn a_branch_is_made_once_and_takes_the_changes_along(desk: &Desk) {
    desk.write("README.md", "changed\n");
    let history = desk.history();
    let name = "feat/ü-\"x\"";
    let made = history.ensure_branch(&named(name)).unwrap();
    let first = desk.tip("main");
    assert_eq!((made.created, made.switched, made.head), (true, true, Some(first.clone())));
    assert_eq!((made.branch.as_str(), desk.tip(name)), (name, first));
    assert_eq!(history.current_branch().unwrap().as_deref(), Some(name));
    assert_eq!(desk.status().total, 1, "the change came along");
    let again = history.ensure_branch(&named(name)).unwrap();
    assert_eq!((again.created, again.switched), (false, false));
    let back = history.ensure_branch(&named("work")).unwrap();
    assert_eq!((back.created, back.switched), (false, true));
}

pub(super) fn a_branch_begins_where_it_is_told_to_unless_it_is_there(desk: &Desk) {
    let history = desk.history();
    let first = history.current_commit().unwrap();
    desk.write("second", "1\n");
    let second = desk.commit(&everything("second")).unwrap().commit_sha;
    desk.write("brought along", "1\n");
    let from =
        |branch: &str, from: &str| NewBranch { from: Some(from.to_owned()), ..named(branch) };
    assert_eq!(history.ensure_branch(&from("old", "HEAD~1")).unwrap().head, first);
    assert!(!desk.root.join("second").exists());
    assert!(desk.root.join("brought along").exists());
    assert_eq!(history.ensure_branch(&named("work")).unwrap().head, Some(second.clone()));
    assert!(desk.root.join("second").exists());
    assert_eq!(history.ensure_branch(&from("old", &second)).unwrap().head, first);
    for odd in ["--detach", "-x", "^main", "main..old", "nope", "", "a\nb", "--upload-pack=touch x"]
    {
        let error = history.ensure_branch(&from("new", odd)).unwrap_err();
        assert!(matches!(error, VersionControlError::Input { .. }), "{odd}: {error}");
    }
    assert_eq!(history.current_branch().unwrap().as_deref(), Some("old"));
}

pub(super) fn what_is_no_name_of_a_branch_is_refused(desk: &Desk) {
    let odd = ["--upload-pack=touch owned", "-b", "", "HEAD", "@{-1}", "@", "a b", "a\nb", "a\0b"];
    let odd = odd.into_iter().chain(["a..b", "a.lock", "refs/heads/", "x~1", "a:b"]);
    for name in odd {
        let error = desk.history().ensure_branch(&named(name)).unwrap_err();
        assert!(matches!(error, VersionControlError::Input { .. }), "{name:?}: {error}");
    }
    assert!(!desk.root.join("owned").exists());
    assert_eq!(desk.git(&["branch", "--format=%(refname:short)"]), "main\nwork");
}

pub(super) fn a_branch_of_others_and_one_that_would_cost_changes_are_refused(desk: &Desk) {
    desk.git(&["worktree", "add", "--quiet", "-b", "taken", "../taken"]);
    let history = desk.history();
    let error = history.ensure_branch(&named("taken")).unwrap_err();
    assert!(matches!(error, VersionControlError::Elsewhere { .. }), "{error}");
    assert!(error.to_string().contains("/taken"), "{error}");
    history.ensure_branch(&named("topic")).unwrap();
    desk.write("README.md", "topic\n");
    history.commit(&everything("topic"), &mark()).unwrap();
    desk.write("README.md", "not committed\n");
    let error = history.ensure_branch(&named("work")).unwrap_err();
    assert!(matches!(error, VersionControlError::WouldLose { .. }), "{error}");
    assert!(error.to_string().contains("README.md"), "{error}");
    let kept = std::fs::read_to_string(desk.root.join("README.md")).unwrap();
    assert_eq!(kept, "not committed\n");
    assert_eq!(history.current_branch().unwrap().as_deref(), Some("topic"));
    let error = history.ensure_branch(&named("topic/below")).unwrap_err();
    assert!(error.to_string().contains("topic"), "{error}");
}
