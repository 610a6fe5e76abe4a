//! Repositories among the files.

use agentos_workspace::version_control::{
    DiffRequest, Mark, NewCommit, VersionControl as _, VersionControlError,
};

use super::{Ground, everything};

fn paths(ground: &Ground, request: &DiffRequest) -> Vec<String> {
    let diff = ground.repository().diff(request).unwrap();
    assert_eq!(diff.files_changed, diff.files.len());
    diff.files.into_iter().map(|file| file.path).collect()
}

#[test]
fn a_repository_among_the_files_is_named_by_a_diff_and_not_committed_in_silence() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    ground.playground.repository("repo/sub/clo*ned");
    ground.playground.empty_repository("repo/begun");
    let stat = DiffRequest { stat: true, ..DiffRequest::default() };
    assert_eq!(paths(&ground, &stat), ["a", "begun/", "sub/clo*ned/"]);
    let below = DiffRequest { paths: vec!["sub".into()], ..stat.clone() };
    assert_eq!(paths(&ground, &below), ["sub/clo*ned/"]);
    let error = ground.commit(everything("a")).unwrap_err();
    let VersionControlError::Embedded { count: 2, first } = &error else { panic!("{error}") };
    assert!(first == "begun/" && error.is_final(), "{error}");
    assert!(error.to_string().contains(".gitignore"), "{error}");
    assert!(ground.repository().stage_all().is_err());
    assert_eq!((ground.count(), ground.status().staged), (1, 0));
    ground.write(".gitignore", "begun\nsub\n");
    assert_eq!(paths(&ground, &stat), [".gitignore", "a"]);
    assert!(ground.commit(everything("a")).unwrap().created);
}

#[test]
fn a_repository_that_was_there_before_does_not_disturb_a_commit_of_what_came_since() {
    let ground = Ground::new();
    ground.playground.repository("repo/left");
    ground.playground.empty_repository("repo/begun");
    let since = ground.repository().current_tree().unwrap();
    ground.write("a", "1\n");
    let some =
        |message: &str| NewCommit { all: false, since: Some(since.clone()), ..everything(message) };
    assert!(ground.commit(some("a")).unwrap().created);
    assert_eq!(ground.status().untracked, 2);
    ground.playground.repository("repo/mine");
    let error = ground.repository().commit(&some("b"), &Mark::of("0190", "b")).unwrap_err();
    let VersionControlError::Embedded { count: 1, first } = &error else { panic!("{error}") };
    assert_eq!(first, "mine/");
}
