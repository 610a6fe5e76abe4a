//! What goes to a remote and comes from it: a real bare repository.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use agentos_workspace::version_control::{
    Base, BaseRequest, Force, PushOutcome, PushRequest, Pushed, RemoteError, VersionControlError,
};

use super::Desk;
use crate::version_control::everything;

/// How long a test waits for anything.
const TIMEOUT: Duration = Duration::from_secs(120);

impl Desk {
    /// A remote with the main branch.
    fn remote(&self) -> PathBuf {
        let remote = self.playground.at("remote.git");
        let path = remote.display().to_string();
        self.git(&["init", "--quiet", "--bare", "--initial-branch=main", &path]);
        self.git(&["remote", "add", "origin", &path]);
        self.git(&["push", "--quiet", "origin", "main"]);
        remote
    }

    fn work(&self, path: &str, content: &str) -> String {
        self.write(path, content);
        let message = format!("{path}: {content}");
        let mark = agentos_workspace::version_control::Mark::of("run", &message);
        self.history().commit(&everything(&message), &mark).unwrap().commit_sha
    }

    fn push(&self, request: &PushRequest) -> Result<Pushed, VersionControlError> {
        self.history().push(request)
    }

    /// What the remote has.
    fn there(&self, branch: &str) -> Option<String> {
        let found = self.git(&["ls-remote", "origin", &format!("refs/heads/{branch}")]);
        found.split_whitespace().next().map(str::to_owned)
    }

    /// Somebody else works on a branch of the remote.
    fn somebody_else(&self, branch: &str, path: &str, content: &str) -> String {
        let clone = self.playground.at("else");
        if !clone.exists() {
            let remote = self.playground.at("remote.git").display().to_string();
            self.git(&["clone", "--quiet", &remote, &clone.display().to_string()]);
        }
        let git = |arguments: &[&str]| self.playground.git(&clone, arguments);
        git(&["fetch", "--quiet"]);
        git(&["switch", "--quiet", "--force-create", branch, &format!("origin/{branch}")]);
        fs::write(clone.join(path), content).unwrap();
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", "theirs"]);
        git(&["push", "--quiet", "origin", branch]);
        git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    fn base(&self) -> Result<Base, VersionControlError> {
        self.history()
            .compare_with_base(&BaseRequest { timeout: TIMEOUT, ..BaseRequest::default() })
    }

    fn rejects(&self, script: &str) {
        let hook = self.playground.at("remote.git/hooks/pre-receive");
        fs::write(&hook, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn told(error: &VersionControlError) -> String {
    assert!(error.is_final(), "{error}");
    error.to_string()
}

pub(super) fn a_branch_is_pushed_once_and_follows_what_is_done(desk: &Desk) {
    desk.remote();
    let first = desk.work("a", "1\n");
    let made = desk.push(&PushRequest::default()).unwrap();
    assert_eq!((made.outcome, made.commit_sha.as_str()), (PushOutcome::Created, first.as_str()));
    assert_eq!((made.remote.as_str(), made.branch.as_str()), ("origin", "work"));
    assert_eq!(desk.there("work"), Some(first.clone()));
    let again = desk.push(&PushRequest::default()).unwrap();
    assert_eq!((again.outcome, again.previous), (PushOutcome::Unchanged, None));
    let second = desk.work("a", "2\n");
    let more = desk.push(&PushRequest::default()).unwrap();
    assert_eq!((more.outcome, more.previous), (PushOutcome::Updated, Some(first)));
    assert_eq!(desk.there("work"), Some(second));
    assert_eq!(desk.there("main"), Some(desk.tip("main")), "nothing else was pushed");
}

pub(super) fn what_was_rewritten_here_replaces_what_was_ours_over_there(desk: &Desk) {
    desk.remote();
    let old = desk.work("a", "1\n");
    desk.push(&PushRequest::default()).unwrap();
    let theirs = desk.somebody_else("main", "b", "2\n");
    let base = desk.base().unwrap();
    desk.history().rebase(&base, TIMEOUT).unwrap();
    let forward = PushRequest { force: Some(Force::Never), ..PushRequest::default() };
    let error = told(&desk.push(&forward).unwrap_err());
    assert!(error.contains("force: false"), "{error}");
    let pushed = desk.push(&PushRequest::default()).unwrap();
    assert_eq!((pushed.outcome, pushed.previous), (PushOutcome::Rewritten, Some(old)));
    let parent = desk.git(&["rev-parse", &format!("{}~1", pushed.commit_sha)]);
    assert_eq!(parent, theirs);
    assert_eq!(desk.there("work"), Some(pushed.commit_sha));
}

pub(super) fn somebody_elses_commits_are_never_overwritten(desk: &Desk) {
    desk.remote();
    desk.work("a", "1\n");
    desk.push(&PushRequest::default()).unwrap();
    let theirs = desk.somebody_else("work", "b", "2\n");
    desk.work("c", "3\n");
    for force in [None, Some(Force::Never), Some(Force::Lease)] {
        let error = desk.push(&PushRequest { force, ..PushRequest::default() }).unwrap_err();
        let said = told(&error);
        assert!(said.contains("work"), "{said}");
        assert_eq!(desk.there("work"), Some(theirs.clone()), "{force:?}: {said}");
    }
}

pub(super) fn what_the_remote_rejects_is_told_with_its_reason(desk: &Desk) {
    desk.remote();
    desk.work("a", "1\n");
    desk.rejects("echo 'the branch is protected' >&2; exit 1");
    let error = told(&desk.push(&PushRequest::default()).unwrap_err());
    for part in ["rejected", "`work`", "pre-receive hook declined", "the branch is protected"] {
        assert!(error.contains(part), "`{part}` is missing in {error}");
    }
    assert_eq!(desk.there("work"), None);
}

pub(super) fn remotes_that_there_are_not_are_named(desk: &Desk) {
    desk.work("a", "1\n");
    let error = desk.push(&PushRequest::default()).unwrap_err();
    let is_none = matches!(error, VersionControlError::Remote(RemoteError::NoRemote { .. }));
    assert!(is_none && error.to_string().contains("git remote add origin"), "{error}");
    desk.remote();
    for odd in ["nope", "--upload-pack=touch owned", ""] {
        let request = PushRequest { remote: Some(odd.to_owned()), ..PushRequest::default() };
        let error = told(&desk.push(&request).unwrap_err());
        assert!(error.contains("there is origin"), "{error}");
    }
    for odd in ["nope", "--all", "a..b"] {
        let request = PushRequest { branch: Some(odd.to_owned()), ..PushRequest::default() };
        told(&desk.push(&request).unwrap_err());
    }
    fs::remove_dir_all(desk.playground.at("remote.git")).unwrap();
    let error = told(&desk.push(&PushRequest::default()).unwrap_err());
    assert!(error.contains("does not appear to be a git repository"), "{error}");
}

pub(super) fn the_usual_remote_is_the_one_that_is_configured_origin_or_the_only_one(desk: &Desk) {
    let usual = || desk.history().remote(None).map(|remote| remote.name);
    let path = desk.remote().display().to_string();
    desk.git(&["remote", "rename", "origin", "mine"]);
    assert_eq!(usual().unwrap(), "mine");
    desk.work("a", "1\n");
    assert_eq!(desk.push(&PushRequest::default()).unwrap().remote, "mine");
    assert_eq!(desk.base().unwrap().remote.name, "mine");
    desk.git(&["remote", "add", "theirs", &path]);
    let request = BaseRequest {
        remote: Some("theirs".to_owned()),
        base: Some("nowhere".to_owned()),
        timeout: TIMEOUT,
        ..BaseRequest::default()
    };
    let error = told(&desk.history().find_base(&request).unwrap_err());
    assert!(error.contains("has no branch `nowhere`"), "{error}");
    let target = desk.history().find_base(&BaseRequest { base: None, ..request }).unwrap();
    assert_eq!((target.remote.name.as_str(), target.base.as_str()), ("theirs", "main"));
    // What was pushed follows that one; then it follows nothing that there is.
    desk.git(&["config", "branch.work.remote", "nowhere"]);
    let error = told(&usual().unwrap_err());
    assert!(error.contains("several remotes (mine, theirs)"), "{error}");
    desk.git(&["remote", "add", "origin", &path]);
    assert_eq!(usual().unwrap(), "origin");
    desk.git(&["config", "remote.pushDefault", "theirs"]);
    assert_eq!(usual().unwrap(), "theirs");
}

pub(super) fn a_branch_is_compared_with_its_base_as_the_remote_has_it(desk: &Desk) {
    desk.remote();
    let head = desk.work("a", "1\n");
    let base = desk.base().unwrap();
    assert_eq!((base.base.as_str(), base.behind, base.ahead), ("main", 0, 1));
    assert_eq!((base.head.as_str(), base.head_commit.as_str()), ("work", head.as_str()));
    desk.somebody_else("main", "b", "2\n");
    let theirs = desk.somebody_else("main", "b", "3\n");
    let before = desk.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let base = desk.base().unwrap();
    assert_eq!((base.base_commit.as_str(), base.behind, base.ahead), (theirs.as_str(), 2, 1));
    let after = desk.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    assert_eq!(before, after, "no branch moved");
    let ask = |base: &str| {
        let request =
            BaseRequest { base: Some(base.to_owned()), timeout: TIMEOUT, ..BaseRequest::default() };
        told(&desk.history().compare_with_base(&request).unwrap_err())
    };
    assert!(ask("nope").contains("has no branch `nope`"));
    assert!(ask("--upload-pack=x").contains("can't be the name of a branch"));
    desk.push(&PushRequest::default()).unwrap();
    assert!(ask("work").contains("into itself"));
}

pub(super) fn a_rebase_is_done_whole_or_not_at_all(desk: &Desk) {
    desk.remote();
    desk.work("a", "mine\n");
    let second = desk.work("c", "3\n");
    desk.somebody_else("main", "a", "theirs\n");
    let base = desk.base().unwrap();
    let error = told(&desk.history().rebase(&base, TIMEOUT).unwrap_err());
    assert!(error.contains("both have changed a;"), "{error}");
    assert_eq!(desk.tip("work"), second, "nothing was changed");
    assert_eq!(fs::read_to_string(desk.root.join("a")).unwrap(), "mine\n");
    let status = desk.status();
    assert_eq!((status.clean, status.operation), (true, None));
    assert_eq!(status.branch.as_deref(), Some("work"));

    desk.write("d", "not committed\n");
    desk.history().stage_all().unwrap();
    let error = told(&desk.history().rebase(&base, TIMEOUT).unwrap_err());
    assert!(error.contains("not committed"), "{error}");
}
