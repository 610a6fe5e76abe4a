//! How the files stand, what differs, and what was.

use agentos_workspace::version_control::answer::ChangeKind;
use agentos_workspace::version_control::{
    self, DiffRequest, Halt, LogRequest, Mark, NewBranch, VersionControlError,
};

use super::{Desk, named};
use crate::version_control::{everything, mark};

pub(super) fn every_kind_of_change_is_told(desk: &Desk) {
    for name in ["gone", "typed", "same"] {
        desk.write(name, &format!("{name}\n{}", "line\n".repeat(20)));
    }
    let made = desk.commit(&everything("files")).unwrap();
    std::fs::remove_file(desk.root.join("gone")).unwrap();
    std::fs::remove_file(desk.root.join("typed")).unwrap();
    std::os::unix::fs::symlink("same", desk.root.join("typed")).unwrap();
    desk.write("README.md", "changed\n");
    desk.write("new/\"odd\"\nü ", "1\n");
    desk.history().stage_all().unwrap();
    let status = desk.status();
    let entry = |path: &str| status.entries.iter().find(|entry| entry.path == path).unwrap();
    let kinds = [
        ("gone", "D ", ChangeKind::Deleted),
        ("typed", "T ", ChangeKind::Retyped),
        ("README.md", "M ", ChangeKind::Modified),
        ("new/\"odd\"\nü ", "A ", ChangeKind::Added),
    ];
    for (path, code, kind) in kinds {
        assert_eq!((entry(path).code.as_str(), entry(path).kind), (code, kind), "{path}");
    }
    assert_eq!((status.total, status.staged, status.unstaged, status.untracked), (4, 4, 0, 0));
    assert!(!status.clean && !status.truncated);
    assert_eq!((status.branch.as_deref(), status.head), (Some("work"), Some(made.commit_sha)));
    let few = version_control::StatusRequest { limit: Some(1) };
    let few = desk.history().status(&few).unwrap();
    assert_eq!((few.entries.len(), few.total, few.truncated), (1, 4, true));
}

pub(super) fn files_are_compared_with_the_latest_commit_new_ones_included(desk: &Desk) {
    desk.write("README.md", "# It\nmore\n");
    desk.write("new ü\n", "1\n2\n");
    desk.write("pixel", "\0\u{1}\0");
    let all = desk.history().diff(&DiffRequest::default()).unwrap();
    assert_eq!((all.files_changed, all.insertions), (3, 3));
    let text = all.text.unwrap();
    assert!(text.contains("--- a/README.md\n+++ b/README.md\n"), "{text}");
    let binary: Vec<&str> =
        all.files.iter().filter(|file| file.binary).map(|file| file.path.as_str()).collect();
    assert_eq!(binary, ["pixel"]);
    assert!(all.files.iter().any(|file| file.path == "new ü\n" && file.insertions == 2));
}

pub(super) fn commits_paths_and_the_common_past_can_be_compared(desk: &Desk) {
    let history = desk.history();
    desk.write("a", "1\n");
    desk.commit(&everything("a")).unwrap();
    desk.write("b", "other\n");
    let stat = DiffRequest { stat: true, ..DiffRequest::default() };
    let count = |request: &DiffRequest| history.diff(request).unwrap().files_changed;
    let between =
        DiffRequest { from: Some("HEAD~1".into()), to: Some("HEAD".into()), ..stat.clone() };
    assert_eq!(count(&between), 1, "b is not committed");
    let since = DiffRequest { from: Some("main".into()), ..stat.clone() };
    assert_eq!(count(&since), 2, "and the files as they are");
    let only = DiffRequest { paths: vec!["b".into(), "*".into()], ..since };
    assert_eq!(count(&only), 1, "paths are no patterns");
    let side = NewBranch { from: Some("main".to_owned()), ..named("side") };
    history.ensure_branch(&side).unwrap();
    history.commit(&everything("side"), &Mark::of("0190", "side")).unwrap();
    let parted = DiffRequest { from: Some("work".into()), ..stat };
    assert_eq!(history.diff(&parted).unwrap().deletions, 1, "side does not have a");
    let parted = DiffRequest { merge_base: true, ..parted };
    assert_eq!(history.diff(&parted).unwrap().deletions, 0, "but it never had");
}

pub(super) fn a_long_text_is_cut_and_says_so(desk: &Desk) {
    desk.write("long", &"ü".repeat(20_000));
    let request = DiffRequest { text_bytes: Some(1_001), ..DiffRequest::default() };
    let cut = desk.history().diff(&request).unwrap();
    let text = cut.text.unwrap();
    assert!(cut.text_truncated && text.len() <= 1_001 && text.ends_with('ü'), "{}", text.len());
    assert_eq!(cut.insertions, 1);
}

pub(super) fn commits_are_listed_with_all_that_is_known_of_them(desk: &Desk) {
    let history = desk.history();
    let first = desk.tip("main");
    desk.write("a", "1\n");
    let made = desk.commit(&everything("Ä \"title\"\n\nbody\nmore")).unwrap();
    let log = history.log(&LogRequest::default()).unwrap();
    assert_eq!(log.len(), 2);
    assert_eq!((&log[0].sha, &log[0].parents), (&made.commit_sha, &vec![first.clone()]));
    assert_eq!(log[0].subject, "Ä \"title\"");
    assert!(log[0].message.starts_with("Ä \"title\"\n\nbody\nmore\n\n"), "{}", log[0].message);
    assert_eq!(log[0].author_name, "A. Tester");
    let list = |request: LogRequest| -> Vec<String> {
        history.log(&request).unwrap().into_iter().map(|commit| commit.sha).collect()
    };
    let since = LogRequest { from: Some(first.clone()), ..LogRequest::default() };
    assert_eq!(list(since), [made.commit_sha]);
    assert_eq!(list(LogRequest { to: Some("HEAD~1".into()), ..LogRequest::default() }), [first]);
    let paths = vec!["a".to_owned()];
    assert_eq!(list(LogRequest { paths, ..LogRequest::default() }).len(), 1);
}

pub(super) fn odd_revisions_are_refused(desk: &Desk) {
    for odd in ["--output=x", "-p", "nope", "HEAD..HEAD", "^HEAD", "a\nb", "HEAD~99"] {
        let diff = DiffRequest { from: Some(odd.into()), ..DiffRequest::default() };
        let log = LogRequest { to: Some(odd.into()), ..LogRequest::default() };
        let errors = [
            desk.history().diff(&diff).map(drop).unwrap_err(),
            desk.history().log(&log).map(drop).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, VersionControlError::Input { .. }), "{odd}: {error}");
        }
    }
    assert!(!desk.root.join("x").exists());
}

pub(super) fn whoever_is_told_to_stop_starts_nothing_more(desk: &Desk) {
    desk.write("a", "1\n");
    let halt = Halt::default();
    let scratch = desk.playground.at("scratch/of-this");
    let history =
        version_control::open(&desk.root, scratch, desk.surroundings(), halt.clone()).unwrap();
    halt.now();
    let error = history.commit(&everything("a"), &mark()).unwrap_err();
    assert!(matches!(error, VersionControlError::Halted), "{error}");
    assert_eq!(desk.count("work"), 1);
}
