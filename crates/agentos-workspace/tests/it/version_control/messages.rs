//! What a commit says, whatever git is configured for, and that its mark is found again.

use std::fs;

use agentos_workspace::version_control::request::{Person, Trailer};
use agentos_workspace::version_control::{
    LogRequest, NewCommit, VersionControl as _, VersionControlError,
};

use super::{Ground, everything, mark};

fn said(ground: &Ground) -> String {
    ground.git(&["log", "-1", "--encoding=UTF-8", "--format=%B"])
}

#[test]
fn the_mark_is_found_again_however_git_writes_trailers() {
    let ground = Ground::new();
    ground.git(&["config", "trailer.separators", "="]);
    ground.git(&["config", "trailer.where", "start"]);
    let empty = NewCommit { allow_empty: true, ..everything("once") };
    let made = ground.commit(empty.clone()).unwrap();
    assert_eq!(said(&ground), format!("once\n\n{}\n\n", mark().line()));
    assert_eq!(ground.commit(empty).unwrap(), made);
    assert_eq!(ground.count(), 2);
}

#[test]
fn a_message_that_ends_like_a_comment_keeps_its_order() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    ground.commit(everything("title\n\n# first\nand\n# last")).unwrap();
    let expected = format!("title\n\n# first\nand\n# last\n\n{}\n\n", mark().line());
    assert_eq!(said(&ground), expected);
}

#[test]
fn messages_are_unicode_whatever_encoding_is_configured() {
    let ground = Ground::new();
    ground.git(&["config", "i18n.commitEncoding", "ISO-8859-1"]);
    ground.git(&["config", "i18n.logOutputEncoding", "ISO-8859-1"]);
    ground.write("a", "1\n");
    ground.commit(everything("gr\u{fc}\u{df}e \u{2603}")).unwrap();
    assert!(said(&ground).starts_with("gr\u{fc}\u{df}e \u{2603}\n"), "{}", said(&ground));
    let raw = ground.git(&["cat-file", "commit", "HEAD"]);
    assert!(!raw.contains("encoding "), "{raw}");
    let log = ground.repository().log(&LogRequest::default()).unwrap();
    assert_eq!(log[0].subject, "gr\u{fc}\u{df}e \u{2603}");
}

#[test]
fn long_trailers_are_written_and_too_long_ones_refused_in_words() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    let with = |bytes: usize| NewCommit {
        trailers: vec![Trailer { key: "Why".into(), value: "x".repeat(bytes) }],
        ..everything("a")
    };
    let error = ground.commit(with(300 << 10)).unwrap_err();
    assert!(error.is_final() && error.to_string().contains("262144 bytes"), "{error}");
    let name = "x".repeat(200 << 10);
    let author = Some(Person { name, email: "a@example.com".into() });
    let error = ground.commit(NewCommit { author, ..everything("a") }).unwrap_err();
    assert!(matches!(error, VersionControlError::Input { .. }), "{error}");
    assert!(ground.commit(with(200 << 10)).unwrap().created);
    assert!(said(&ground).len() > 200 << 10);
}

#[test]
fn more_paths_than_a_program_takes_are_refused_in_words() {
    let ground = Ground::new();
    let paths = vec!["x".repeat(4_000); 1_000];
    let request = LogRequest { paths, ..LogRequest::default() };
    let error = ground.repository().log(&request).unwrap_err();
    assert!(error.is_final() && error.to_string().contains("262144 bytes"), "{error}");
    let paths = vec!["x".repeat(4_000); 60];
    let request = LogRequest { paths, ..LogRequest::default() };
    assert_eq!(ground.repository().log(&request).unwrap(), []);
}

#[test]
fn what_a_killed_predecessor_left_of_its_files_is_replaced_and_goes_away() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    fs::create_dir_all(ground.scratch().join("index")).unwrap();
    fs::write(ground.scratch().join("message"), "old").unwrap();
    let diff = ground.repository().diff(&Default::default()).unwrap();
    assert_eq!(diff.files_changed, 1);
    assert!(!ground.scratch().exists());
    fs::create_dir_all(ground.scratch().join("message")).unwrap();
    assert!(ground.commit(everything("a")).unwrap().created);
    assert!(!ground.scratch().exists());
}
