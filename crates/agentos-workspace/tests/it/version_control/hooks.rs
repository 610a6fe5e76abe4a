//! Hooks and signatures: other people's programs, in the middle of a commit.

use std::fs;

use agentos_testing::wait::{is_alive, wait_until};
use agentos_workspace::version_control::request::NewBranch;
use agentos_workspace::version_control::{NewCommit, VersionControl as _, VersionControlError};

use super::{Ground, everything};

#[test]
fn a_hook_that_refuses_is_named_with_what_it_said() {
    for name in ["pre-commit", "commit-msg", "prepare-commit-msg"] {
        let ground = Ground::new();
        ground.write("a", "1\n");
        ground.hook(name, "git status >/dev/null; false || echo 'no semicolons, please'; exit 3");
        let error = ground.commit(everything("a")).unwrap_err();
        let VersionControlError::Hook { hook, said } = &error else { panic!("{error}") };
        assert_eq!((hook.as_str(), said.as_str()), (name, "no semicolons, please"));
        assert_eq!(ground.count(), 1, "nothing was committed");
        assert!(!error.is_final(), "an agent may mend it");
    }
}

#[test]
fn hooks_that_check_can_be_left_out_and_those_that_agree_run() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    ground.hook("pre-commit", "exit 1");
    let commit = NewCommit { no_verify: true, ..everything("a") };
    assert!(ground.commit(commit).unwrap().created);
    let ground = Ground::new();
    ground.write("a", "1\n");
    ground.write("hidden", "1\n");
    ground.git(&["add", "a"]);
    ground.hook("pre-commit", "touch was-here; git add 'hid*'");
    let commit = NewCommit { message: "a".into(), ..NewCommit::default() };
    assert!(ground.commit(commit).unwrap().created);
    assert!(ground.root.join("was-here").exists());
    assert_eq!(ground.git(&["show", "--format=", "--name-only"]), "a\nhidden\n");
}

#[test]
fn a_hook_that_takes_the_mark_away_costs_nothing_but_the_mark() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    ground.hook("commit-msg", "echo rewritten > \"$1\"");
    let made = ground.commit(everything("a")).unwrap();
    assert_eq!((made.created, &made.commit_sha), (true, &ground.head()));
    let again = ground.commit(everything("a")).unwrap();
    assert_eq!((again.created, again.commit_sha), (false, made.commit_sha));
}

/// How long a commit may take: on a busy machine git may need longer than the first of these to come to its hook.
const LIMITS_MS: [u64; 3] = [500, 10_000, 120_000];

#[test]
fn a_hook_that_hangs_is_ended_and_leaves_no_lock() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    ground.hook("pre-commit", "echo $$ > pid; exec sleep 1000");
    let mut limits = LIMITS_MS.into_iter();
    let pid = loop {
        let limit = limits.next().expect("git comes to its hook");
        let commit = NewCommit { timeout_ms: Some(limit), ..everything("a") };
        let error = ground.commit(commit).unwrap_err();
        assert!(error.is_timeout() && error.to_string().contains("hook"), "{error}");
        let said = fs::read_to_string(ground.root.join("pid")).unwrap_or_default();
        if said.ends_with('\n') {
            break said.trim().to_owned();
        }
    };
    wait_until("the hook is gone", || !is_alive(&pid));
    ground.hook("pre-commit", "exit 0");
    assert!(ground.commit(everything("a")).unwrap().created);
}

#[test]
fn a_hook_that_hangs_after_the_commit_does_not_unmake_it() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    ground.hook("post-commit", "exec sleep 1000");
    let mut limits = LIMITS_MS.into_iter();
    let made = loop {
        let limit = limits.next().expect("git comes to its hook");
        let commit = NewCommit { timeout_ms: Some(limit), ..everything("a") };
        match ground.commit(commit) {
            Ok(made) => break made,
            Err(error) => assert!(error.is_timeout() && ground.count() == 1, "{error}"),
        }
    };
    assert_eq!((made.created, &made.commit_sha), (true, &ground.head()));
    assert_eq!(ground.count(), 2);
}

#[test]
fn what_somebody_else_commits_in_the_middle_leaves_nothing_to_do() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    // Whoever uses git besides is not kept waiting; here he comes between our staging and our commit.
    ground.hook(
        "pre-commit",
        "rm .git/hooks/pre-commit .git/index.lock; git commit --quiet --message=theirs",
    );
    let made = ground.commit(everything("ours")).unwrap();
    assert_eq!((made.created, &made.commit_sha), (false, &ground.head()));
    assert_eq!(ground.git(&["log", "-1", "--format=%s"]), "theirs\n");
}

#[test]
fn a_commit_that_is_to_be_signed_without_a_key_says_so_at_once() {
    let ground = Ground::new();
    ground.write("a", "1\n");
    ground.git(&["config", "commit.gpgSign", "true"]);
    ground.git(&["config", "user.signingKey", "0000000000000000"]);
    let error = ground.commit(everything("a")).unwrap_err();
    assert!(matches!(error, VersionControlError::Signing { .. }), "{error}");
    assert!(error.to_string().contains("sign: false"), "{error}");
    let commit = NewCommit { sign: Some(false), ..everything("a") };
    assert!(ground.commit(commit).unwrap().created);
    ground.git(&["config", "gpg.program", "/nowhere/gpg"]);
    ground.write("a", "2\n");
    let commit = NewCommit { allow_empty: true, ..everything("b") };
    let error = ground
        .repository()
        .commit(&commit, &agentos_workspace::version_control::Mark::of("x", "y"))
        .unwrap_err();
    assert!(matches!(error, VersionControlError::Signing { .. }), "{error}");
}

#[test]
fn a_hook_after_switching_is_named_and_the_branch_is_there() {
    let ground = Ground::new();
    ground.hook("post-checkout", "echo 'no dependencies' >&2; exit 1");
    let wanted = NewBranch { branch: "topic".into(), ..NewBranch::default() };
    let error = ground.repository().ensure_branch(&wanted).unwrap_err();
    assert!(error.to_string().contains("`post-checkout` refused: no dependencies"), "{error}");
    let branch = ground.repository().ensure_branch(&wanted).unwrap();
    assert_eq!((branch.created, branch.switched), (false, false));
}
