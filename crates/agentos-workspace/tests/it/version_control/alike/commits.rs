//! Commits: what is in them, who made them, and that there is one.

use agentos_workspace::version_control::request::{Person, Trailer};
use agentos_workspace::version_control::{DiffRequest, Mark, NewCommit, VersionControlError};

use super::{Desk, named};
use crate::version_control::{everything, mark};

pub(super) fn everything_is_committed_with_its_author_and_trailers(desk: &Desk) {
    desk.write("a", "1\n");
    desk.write("below/b", &"large\n".repeat(400_000));
    desk.write("ignored.log", "1\n");
    desk.write(".gitignore", "*.log\n");
    let commit = NewCommit {
        author: Some(Person { name: "Ada Ünal".into(), email: "ada@example.com".into() }),
        trailers: vec![Trailer { key: "Reviewed-by".into(), value: "Bob <b@example.com>".into() }],
        ..everything("# A title: \"ü\"\n\n---\nbody\n\nCo-authored-by: Eve <e@example.com>")
    };
    let made = desk.commit(&commit).unwrap();
    assert!(made.created);
    assert_eq!((made.branch.as_deref(), &made.commit_sha), (Some("work"), &desk.tip("work")));
    assert_eq!(
        desk.git(&["show", "--format=%an <%ae>|%cn", "--name-only", "work"]),
        "Ada Ünal <ada@example.com>|A. Tester\n\n.gitignore\na\nbelow/b"
    );
    let trailers = desk.git(&["log", "-1", "--format=%(trailers:only,unfold)", "work"]);
    let expected = format!(
        "Co-authored-by: Eve <e@example.com>\nReviewed-by: Bob <b@example.com>\n{}",
        mark().line()
    );
    assert_eq!(trailers, expected);
    let body = desk.git(&["log", "-1", "--format=%B", "work"]);
    assert!(body.starts_with("# A title: \"ü\"\n\n---\nbody\n\nCo-authored-by"), "{body}");
    assert!(desk.status().clean);
}

pub(super) fn an_operation_commits_once_however_often_it_is_asked_for(desk: &Desk) {
    let empty = || NewCommit { allow_empty: true, ..everything("once") };
    let made = desk.commit(&empty()).unwrap();
    desk.write("later", "1\n");
    let later = Mark::of("0190", "later");
    desk.history().commit(&everything("later"), &later).unwrap();
    assert_eq!(desk.commit(&empty()).unwrap(), made);
    let elsewhere = named("elsewhere");
    let elsewhere = agentos_workspace::version_control::NewBranch {
        from: Some("main".to_owned()),
        ..elsewhere
    };
    desk.history().ensure_branch(&elsewhere).unwrap();
    assert_eq!(desk.commit(&empty()).unwrap().commit_sha, made.commit_sha, "it is still known");
    let other = Mark::of("0190", "save/git:commit#2");
    let next = desk.history().commit(&empty(), &other).unwrap();
    assert_ne!(next.commit_sha, made.commit_sha);
    assert_eq!((desk.count("work"), desk.count("elsewhere")), (3, 2));
}

pub(super) fn where_nothing_is_to_be_committed_the_wish_is_fulfilled(desk: &Desk) {
    let made = desk.commit(&everything("nothing")).unwrap();
    assert_eq!((made.created, &made.commit_sha), (false, &desk.tip("work")));
    desk.write("a", "1\n");
    desk.write("b", "1\n");
    assert_eq!(desk.history().stage_all().unwrap().staged, 2);
    assert!(desk.commit(&everything("both")).unwrap().created);
    assert_eq!((desk.count("work"), desk.status().clean), (2, true));
}

pub(super) fn a_commit_moves_its_branch_and_no_other(desk: &Desk) {
    let first = desk.tip("main");
    let history = desk.history();
    history.ensure_branch(&named("topic")).unwrap();
    desk.write("a", "1\n");
    let made = desk.commit(&everything("a")).unwrap();
    assert_eq!(made.branch.as_deref(), Some("topic"));
    assert_eq!(history.current_commit().unwrap().as_deref(), Some(made.commit_sha.as_str()));
    assert_eq!(
        ["main", "work", "topic"].map(|branch| desk.tip(branch)),
        [first.clone(), first, made.commit_sha]
    );
}

pub(super) fn without_a_name_for_whoever_commits_there_is_no_commit_unless_an_author_is_named(
    desk: &Desk,
) {
    desk.write("a", "1\n");
    let mut surroundings = desk.surroundings();
    surroundings.environment.retain(|name, _| {
        let name = name.to_string_lossy();
        !["GIT_AUTHOR", "GIT_COMMITTER", "JJ_"].iter().any(|start| name.starts_with(start))
    });
    let history = desk.history_in(surroundings);
    let error = history.commit(&everything("whose"), &mark()).unwrap_err();
    assert!(matches!(error, VersionControlError::NoIdentity), "{error}");
    let author = Some(Person { name: "Ada".into(), email: "ada@example.com".into() });
    history.commit(&NewCommit { author, ..everything("hers") }, &mark()).unwrap();
    let who = ["log", "-1", "--format=%an|%cn <%ce>", "work"];
    assert_eq!(desk.git(&who), "Ada|Ada <ada@example.com>");
    desk.git(&["config", "user.name", "Configured"]);
    desk.git(&["config", "user.email", "c@example.com"]);
    desk.write("a", "2\n");
    history.commit(&everything("its"), &Mark::of("0190", "b")).unwrap();
    assert!(desk.git(&who).ends_with("|Configured <c@example.com>"), "{}", desk.git(&who));
}

pub(super) fn a_repository_among_the_files_is_not_committed_in_silence(desk: &Desk) {
    desk.write("a", "1\n");
    desk.playground.repository("desk/sub/clo*ned");
    desk.playground.empty_repository("desk/begun");
    let stat = DiffRequest { stat: true, ..DiffRequest::default() };
    let paths = |request: &DiffRequest| -> Vec<String> {
        let diff = desk.history().diff(request).unwrap();
        diff.files.into_iter().map(|file| file.path).collect()
    };
    assert_eq!(paths(&stat), ["a", "begun/", "sub/clo*ned/"]);
    let below = DiffRequest { paths: vec!["sub".into()], ..stat.clone() };
    assert_eq!(paths(&below), ["sub/clo*ned/"]);
    let error = desk.commit(&everything("a")).unwrap_err();
    let VersionControlError::Embedded { count: 2, first } = &error else { panic!("{error}") };
    assert!(first == "begun/" && error.is_final(), "{error}");
    assert!(desk.history().stage_all().is_err());
    desk.write(".gitignore", "begun\nsub\n");
    assert!(desk.commit(&everything("a")).unwrap().created);
}

pub(super) fn only_what_has_changed_since_is_committed_and_nothing_is_staged_by_asking(
    desk: &Desk,
) {
    for (path, text) in [("kept", "1\n"), ("left/new", "1\n"), ("[odd] *", "1\n"), ("gone", "1\n")]
    {
        desk.write(path, text);
    }
    let since = desk.history().current_tree().unwrap();
    let part = |message: &str| NewCommit {
        message: message.to_owned(),
        since: Some(since.clone()),
        ..NewCommit::default()
    };
    assert!(!desk.commit(&part("nothing")).unwrap().created, "nothing has changed since");
    desk.write("kept", "2\n");
    desk.write("[odd] *", "2\n");
    desk.write("new one", "1\n");
    std::fs::remove_file(desk.root.join("gone")).unwrap();
    let made = desk.commit(&part("some")).unwrap();
    assert!(made.created);
    let names = ["show", "--format=", "--name-only", "-z", "work"];
    assert_eq!(
        desk.git(&names).split_terminator('\0').collect::<Vec<_>>(),
        ["[odd] *", "kept", "new one"]
    );
    let left: Vec<String> = desk.status().entries.into_iter().map(|entry| entry.path).collect();
    assert_eq!(left, ["left/new"]);

    let both = NewCommit { all: true, ..part("both") };
    let unknown = NewCommit { since: Some("0".repeat(40)), ..part("unknown") };
    for (commit, words) in [(both, "not both"), (unknown, "there is no tree")] {
        let other = Mark::of("0190", words);
        let error = desk.history().commit(&commit, &other).unwrap_err();
        assert!(error.is_final() && error.to_string().contains(words), "{error}");
    }
}

pub(super) fn what_can_not_be_a_commit_is_refused(desk: &Desk) {
    let trailer = |key: &str, value: &str| NewCommit {
        trailers: vec![Trailer { key: key.into(), value: value.into() }],
        ..everything("m")
    };
    let odd = [everything(" \n"), everything("a\0b"), everything(&"x".repeat(300 << 10))];
    for commit in odd.into_iter().chain([trailer("--all", "x"), trailer("Key", "two\nlines")]) {
        let error = desk.commit(&commit).unwrap_err();
        assert!(matches!(error, VersionControlError::Input { .. }), "{error}");
    }
    assert_eq!(desk.count("work"), 1);
}
