//! Commits of the past.

use agentos_workspace::version_control::{LogRequest, VersionControl as _, VersionControlError};

use super::Ground;

#[test]
fn commits_are_listed_with_all_that_is_known_of_them() {
    let ground = Ground::new();
    let first = ground.head();
    ground.write("a", "1\n");
    ground.git(&["add", "a"]);
    ground.git(&[
        "commit",
        "--quiet",
        "--author=Ö <o@example.com>",
        "--message=Ä \"title\"\n\nbody\nmore",
    ]);
    ground.git(&["config", "log.showSignature", "true"]);
    ground.git(&["config", "log.decorate", "full"]);
    let log = ground.repository().log(&LogRequest::default()).unwrap();
    assert_eq!(log.len(), 2);
    let latest = &log[0];
    assert_eq!((&latest.sha, &latest.parents), (&ground.head(), &vec![first.clone()]));
    assert_eq!((latest.author_name.as_str(), latest.author_email.as_str()), ("Ö", "o@example.com"));
    assert_eq!(
        (latest.subject.as_str(), latest.message.as_str()),
        ("Ä \"title\"", "Ä \"title\"\n\nbody\nmore")
    );
    assert_eq!(latest.authored_at, "2030-01-01T00:00:00Z");
    assert!(log[1].parents.is_empty());
}

#[test]
fn a_range_paths_and_a_number_choose_among_them() {
    let ground = Ground::new();
    let first = ground.head();
    for name in ["a", "b", "a"] {
        ground.write(name, &format!("{}\n", ground.count()));
        ground.git(&["add", "."]);
        ground.git(&["commit", "--quiet", &format!("--message={name}")]);
    }
    let list = |request: LogRequest| -> Vec<String> {
        let log = ground.repository().log(&request).unwrap();
        log.into_iter().map(|commit| commit.subject).collect()
    };
    assert_eq!(list(LogRequest { limit: Some(1), ..LogRequest::default() }), ["a"]);
    assert_eq!(list(LogRequest { from: Some(first), ..LogRequest::default() }), ["a", "b", "a"]);
    assert_eq!(
        list(LogRequest { to: Some("HEAD~1".into()), ..LogRequest::default() }),
        ["b", "a", "first"]
    );
    assert_eq!(list(LogRequest { paths: vec!["b".into()], ..LogRequest::default() }), ["b"]);
    for odd in ["--all", "--output=x", "nope", "a..b"] {
        let request = LogRequest { to: Some(odd.into()), ..LogRequest::default() };
        let error = ground.repository().log(&request).unwrap_err();
        assert!(matches!(error, VersionControlError::Input { .. }), "{odd}: {error}");
    }
    assert!(Ground::unborn().repository().log(&LogRequest::default()).unwrap().is_empty());
}

#[test]
fn long_messages_are_cut() {
    let ground = Ground::new();
    std::fs::write(ground.root.join("message"), "ä".repeat(40_000)).unwrap();
    ground.git(&["commit", "--quiet", "--allow-empty", "--file=message"]);
    let log = ground.repository().log(&LogRequest::default()).unwrap();
    assert!(log[0].message.len() < 5_000 && log[0].message.ends_with('…'));
    assert_eq!(log.len(), 2);
}
