//! Commits: what is in them, who made them, and that there is one.

use agentos_workspace::version_control::request::{Person, Trailer};
use agentos_workspace::version_control::{
    Mark, NewCommit, VersionControl as _, VersionControlError,
};

use super::{Ground, everything, mark};
use crate::fixture::standing_in;

fn staged(message: &str) -> NewCommit {
    NewCommit { message: message.to_owned(), ..NewCommit::default() }
}

fn without_identity(ground: &Ground) -> agentos_workspace::surroundings::Surroundings {
    let mut surroundings = standing_in(&ground.playground, &ground.root);
    surroundings.environment.retain(|name, _| {
        !name.to_string_lossy().starts_with("GIT_AUTHOR")
            && !name.to_string_lossy().starts_with("GIT_COMMITTER")
    });
    surroundings
}

#[test]
fn what_is_staged_is_committed_with_its_author_and_trailers() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    ground.write("b", "1\n");
    ground.git(&["add", "a"]);
    let commit = NewCommit {
        author: Some(Person { name: "Ada Ünal".into(), email: "ada@example.com".into() }),
        trailers: vec![Trailer { key: "Reviewed-by".into(), value: "Bob <b@example.com>".into() }],
        ..staged("# A title: \"ü\"\n\n---\nbody\n\nCo-authored-by: Eve <e@example.com>")
    };
    let made = ground.commit(commit).unwrap();
    assert!(made.created);
    assert_eq!((made.branch.as_deref(), &made.commit_sha), (Some("main"), &ground.head()));
    assert_eq!(
        ground.git(&["show", "--format=%an <%ae>|%cn", "--name-only"]),
        "Ada Ünal <ada@example.com>|A. Tester\n\na\n"
    );
    let trailers = ground.git(&["log", "-1", "--format=%(trailers:only,unfold)"]);
    let expected = format!(
        "Co-authored-by: Eve <e@example.com>\nReviewed-by: Bob <b@example.com>\n{}\n\n",
        mark().line()
    );
    assert_eq!(trailers, expected);
    let body = ground.git(&["log", "-1", "--format=%B"]);
    assert!(body.starts_with("# A title: \"ü\"\n\n---\nbody\n\nCo-authored-by"), "{body}");
    assert_eq!(ground.status().untracked, 1, "b was not staged");
}

#[test]
fn an_operation_commits_once_however_often_it_is_asked_for() {
    let ground = Ground::new();
    let empty = || NewCommit { allow_empty: true, ..staged("once") };
    let made = ground.commit(empty()).unwrap();
    ground.git(&["commit", "--quiet", "--allow-empty", "--message=later"]);
    assert_eq!(ground.commit(empty()).unwrap(), made);
    ground.git(&["switch", "--quiet", "--create", "elsewhere", "HEAD~2"]);
    assert_eq!(ground.commit(empty()).unwrap().commit_sha, made.commit_sha, "the reflog knows it");
    let other = Mark::of("0190", "save/git:commit#2");
    let next = ground.repository().commit(&empty(), &other).unwrap();
    assert_ne!(next.commit_sha, made.commit_sha);
}

#[test]
fn where_nothing_is_to_be_committed_the_wish_is_fulfilled_and_forgotten_files_are_told() {
    let ground = Ground::new();
    let made = ground.commit(staged("nothing")).unwrap();
    assert_eq!((made.created, &made.commit_sha), (false, &ground.head()));
    assert!(!ground.commit(everything("nothing")).unwrap().created);
    ground.write("a", "1\n");
    let error = ground.commit(staged("forgotten")).unwrap_err();
    assert!(matches!(error, VersionControlError::NothingStaged { changed: 1 }), "{error}");
    assert!(error.to_string().contains("stageAll"), "{error}");
    assert_eq!(ground.repository().stage_all().unwrap().staged, 1);
    assert!(ground.commit(staged("a")).unwrap().created);
    assert_eq!(ground.count(), 2);
}

#[test]
fn the_first_commit_of_a_repository_and_one_without_a_branch_can_be_made() {
    let ground = Ground::unborn();
    let error = ground.commit(everything("first")).unwrap_err();
    assert!(matches!(error, VersionControlError::NothingYet), "{error}");
    ground.write("a", "1\n");
    let first = ground.commit(everything("first")).unwrap();
    assert_eq!((first.branch.as_deref(), ground.count()), (Some("main"), 1));
    ground.git(&["switch", "--quiet", "--detach"]);
    ground.write("a", "2\n");
    let second = Mark::of("0190", "other");
    let second = ground.repository().commit(&everything("second"), &second).unwrap();
    assert_eq!((second.branch, &second.commit_sha), (None, &ground.head()));
}

#[test]
fn without_a_name_for_whoever_commits_there_is_no_commit_unless_an_author_is_named() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    let repository = ground.repository_in(without_identity(&ground));
    let error = repository.commit(&everything("whose"), &mark()).unwrap_err();
    assert!(matches!(error, VersionControlError::NoIdentity), "{error}");
    let author = Some(Person { name: "Ada".into(), email: "ada@example.com".into() });
    let commit = NewCommit { author, ..everything("hers") };
    repository.commit(&commit, &mark()).unwrap();
    assert_eq!(ground.git(&["log", "-1", "--format=%an|%cn <%ce>"]), "Ada|Ada <ada@example.com>\n");
    ground.git(&["config", "user.name", "Configured"]);
    ground.git(&["config", "user.email", "c@example.com"]);
    ground.write("a", "2\n");
    repository.commit(&everything("its"), &Mark::of("0190", "b")).unwrap();
    assert_eq!(ground.git(&["log", "-1", "--format=%an|%cn"]), "Configured|Configured\n");
}

#[test]
fn a_merge_is_finished_by_a_commit_once_its_conflicts_are_staged() {
    let ground = Ground::new();
    ground.git(&["switch", "--quiet", "--create", "side"]);
    ground.write("README.md", "side\n");
    ground.git(&["commit", "--quiet", "--all", "--message=side"]);
    ground.git(&["switch", "--quiet", "main"]);
    ground.write("README.md", "main\n");
    ground.git(&["commit", "--quiet", "--all", "--message=main"]);
    ground.git(&["-c", "advice.mergeConflict=false", "config", "merge.conflictStyle", "merge"]);
    let surroundings = standing_in(&ground.playground, &ground.root);
    let merged = agentos_process::tool::Tool::new("git")
        .args(["merge", "side"])
        .in_folder(&ground.root)
        .only_environment(surroundings.environment)
        .run()
        .unwrap();
    assert!(!merged.is_success());
    let status = ground.status();
    assert_eq!((status.conflicted, status.total), (1, 1));
    assert_eq!(serde_json::to_value(status.operation).unwrap(), "merge");
    ground.write("A-FIRST", "1\n");
    ground.git(&["add", "A-FIRST"]);
    let error = ground.commit(everything("merged")).unwrap_err();
    assert!(error.to_string().starts_with("1 file is in conflict, `README.md`"), "{error}");
    ground.write("README.md", "main\n");
    ground.repository().stage_all().unwrap();
    let made = ground.commit(staged("merged")).unwrap();
    let parents = ground.git(&["rev-list", "--parents", "--max-count=1", &made.commit_sha]);
    assert_eq!(parents.split_whitespace().count(), 3, "it has two parents");
    assert_eq!(ground.status().operation, None);
}

#[test]
fn line_endings_are_git_s_concern() {
    let ground = Ground::new();
    ground.git(&["config", "core.autocrlf", "true"]);
    ground.write("unix", "a\nb\n");
    ground.write("dos", "a\r\nb\r\n");
    assert!(ground.commit(everything("endings")).unwrap().created);
    assert_eq!(ground.git(&["show", "HEAD:dos"]), "a\nb\n");
    assert!(ground.status().clean);
}

#[test]
fn what_can_not_be_a_commit_is_refused_before_git_sees_it() {
    let ground = Ground::new();
    let trailer = |key: &str, value: &str| NewCommit {
        trailers: vec![Trailer { key: key.into(), value: value.into() }],
        ..everything("m")
    };
    let author = |name: &str, email: &str| NewCommit {
        author: Some(Person { name: name.into(), email: email.into() }),
        ..everything("m")
    };
    let odd = [
        everything(" \n"),
        everything("a\0b"),
        everything(&"x".repeat(300 << 10)),
        trailer("--all", "x"),
        trailer("a b", "x"),
        trailer("Key", "two\nlines"),
        trailer("AgentOS-Operation", "mine"),
        author("", "a@b"),
        author("a", "<a@b>"),
        author("a\nb", "a@b"),
    ];
    for commit in odd {
        let shown = format!("{commit:?}").chars().take(200).collect::<String>();
        let error = ground.commit(commit).unwrap_err();
        assert!(matches!(error, VersionControlError::Input { .. }), "{shown}: {error}");
    }
    assert_eq!(ground.count(), 1);
}
