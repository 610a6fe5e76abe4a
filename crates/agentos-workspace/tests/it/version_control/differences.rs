//! What differs.

use agentos_workspace::version_control::{DiffRequest, VersionControl as _, VersionControlError};

use super::Ground;

fn diff(ground: &Ground, request: &DiffRequest) -> agentos_workspace::version_control::Diff {
    ground.repository().diff(request).unwrap()
}

#[test]
fn files_are_compared_with_what_is_checked_out_new_ones_included() {
    let ground = Ground::new();
    ground.write("README.md", "# It\nmore\n");
    ground.write("new ü\n", "1\n2\n");
    ground.write("pixel", "\0\u{1}\0");
    ground.git(&["config", "diff.noprefix", "true"]);
    ground.git(&["config", "diff.external", "/nowhere/differ"]);
    ground.git(&["config", "color.ui", "always"]);
    let all = diff(&ground, &DiffRequest::default());
    assert_eq!((all.files_changed, all.insertions, all.deletions), (3, 3, 0));
    let text = all.text.unwrap();
    assert!(
        text.contains("--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # It\n+more\n"),
        "{text}"
    );
    let binary: Vec<&str> =
        all.files.iter().filter(|file| file.binary).map(|file| file.path.as_str()).collect();
    assert_eq!(binary, ["pixel"]);
    assert!(all.files.iter().any(|file| file.path == "new ü\n" && file.insertions == 2));
    assert_eq!(ground.status().untracked, 2, "nothing was staged by looking");
    let known = DiffRequest { untracked: Some(false), stat: true, ..DiffRequest::default() };
    let known = diff(&ground, &known);
    assert_eq!((known.files_changed, known.text), (1, None));
}

#[test]
fn staged_commits_paths_and_the_common_past_can_be_compared() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    ground.write("b", "other\n");
    ground.git(&["add", "a"]);
    let staged = diff(&ground, &DiffRequest { staged: true, ..DiffRequest::default() });
    assert_eq!((staged.files_changed, staged.files[0].path.as_str()), (1, "a"));
    ground.git(&["commit", "--quiet", "--message=a"]);
    let stat = DiffRequest { stat: true, ..DiffRequest::default() };
    let between =
        DiffRequest { from: Some("HEAD~1".into()), to: Some("HEAD".into()), ..stat.clone() };
    assert_eq!(diff(&ground, &between).files_changed, 1, "b is not committed");
    let since = DiffRequest { from: Some("HEAD~1".into()), ..stat.clone() };
    assert_eq!(diff(&ground, &since).files_changed, 2, "and the files as they are");
    let only = DiffRequest { paths: vec!["b".into(), "*".into()], ..since.clone() };
    assert_eq!(diff(&ground, &only).files_changed, 1, "paths are no patterns");
    ground.git(&["switch", "--quiet", "--create", "side", "HEAD~1"]);
    ground.git(&["commit", "--quiet", "--allow-empty", "--message=side"]);
    let parted = DiffRequest { from: Some("main".into()), ..stat.clone() };
    assert_eq!(diff(&ground, &parted).deletions, 1, "side does not have a");
    let parted = DiffRequest { merge_base: true, ..parted };
    assert_eq!(diff(&ground, &parted).deletions, 0, "but it never had");
    ground.git(&["mv", "README.md", "LIESMICH"]);
    let renamed = diff(&ground, &DiffRequest { staged: true, ..stat });
    assert_eq!(renamed.files[0].from.as_deref(), Some("README.md"));
}

#[test]
fn a_repository_without_a_commit_has_a_diff_and_odd_revisions_have_none() {
    let ground = Ground::unborn();
    ground.write("a", "1\n");
    assert_eq!(diff(&ground, &DiffRequest::default()).insertions, 1);
    for odd in ["--output=x", "-p", "nope", "HEAD..HEAD"] {
        for request in [
            DiffRequest { from: Some(odd.into()), ..DiffRequest::default() },
            DiffRequest { to: Some(odd.into()), ..DiffRequest::default() },
        ] {
            let error = ground.repository().diff(&request).unwrap_err();
            assert!(matches!(error, VersionControlError::Input { .. }), "{odd}: {error}");
        }
    }
    let request = DiffRequest { paths: vec!["--output=x".into()], ..DiffRequest::default() };
    assert_eq!(diff(&ground, &request).files_changed, 0, "a path is a path");
    assert!(!ground.root.join("x").exists());
}

#[test]
fn a_long_text_is_cut_and_says_so() {
    let ground = Ground::new();
    ground.write("long", &"ü".repeat(20_000));
    let request = DiffRequest { text_bytes: Some(1_001), ..DiffRequest::default() };
    let cut = diff(&ground, &request);
    let text = cut.text.unwrap();
    assert!(cut.text_truncated && text.len() <= 1_001 && text.ends_with('ü'), "{}", text.len());
    assert_eq!(cut.insertions, 1);
}
