//! What is special where only jj keeps the files, and that whoever is killed there commits once.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use agentos_testing::jj;
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::version_control::{
    self, DiffRequest, Halt, LogRequest, VersionControl, VersionControlError,
};

use super::alike::{Desk, Keeper, named};
use super::{everything, mark};

fn run(desk: &Desk, arguments: &[&str]) -> String {
    jj::run(&desk.playground, &desk.root, arguments).trim_end().to_owned()
}

#[test]
fn what_somebody_commits_with_jj_itself_is_on_the_branch_with_the_next_commit() {
    let desk = Desk::new(Keeper::Jj);
    desk.write("theirs", "1\n");
    run(&desk, &["commit", "-m", "theirs"]);
    assert_eq!(desk.history().current_branch().unwrap().as_deref(), Some("work"));
    let made = desk.commit(&everything("nothing more")).unwrap();
    assert_eq!((made.created, &made.commit_sha), (false, &desk.tip("work")));
    desk.write("ours", "1\n");
    assert!(desk.commit(&everything("ours")).unwrap().created);
    assert_eq!(desk.count("work"), 3);
}

#[test]
fn whoever_goes_elsewhere_with_jj_is_on_no_branch_and_moves_none() {
    let desk = Desk::new(Keeper::Jj);
    desk.write("a", "1\n");
    let work = desk.commit(&everything("a")).unwrap().commit_sha;
    run(&desk, &["new", "main"]);
    assert_eq!(desk.history().current_branch().unwrap(), None);
    desk.write("b", "1\n");
    let other = version_control::Mark::of("0190", "b");
    let made = desk.history().commit(&everything("b"), &other).unwrap();
    assert_eq!((made.created, made.branch), (true, None));
    assert_eq!(desk.tip("work"), work);
}

#[test]
fn conflicts_are_named_and_not_committed() {
    let desk = Desk::new(Keeper::Jj);
    desk.write("README.md", "ours\n");
    desk.commit(&everything("ours")).unwrap();
    run(&desk, &["new", "main"]);
    desk.write("README.md", "theirs\n");
    run(&desk, &["commit", "-m", "theirs"]);
    run(&desk, &["new", "@-", "work"]);
    let status = desk.status();
    assert_eq!((status.conflicted, status.entries[0].code.as_str()), (1, "UU"));
    assert_eq!(serde_json::to_value(status.operation).unwrap(), "merge");
    let other = version_control::Mark::of("0190", "merged");
    let refused = desk.history().commit(&everything("merged"), &other).unwrap_err();
    assert!(matches!(refused, VersionControlError::Conflicts { count: 1, .. }), "{refused}");
    assert!(desk.history().diff(&DiffRequest::default()).is_err());
    desk.write("README.md", "both\n");
    let made = desk.history().commit(&everything("merged"), &other).unwrap();
    let log = desk.history().log(&LogRequest::default()).unwrap();
    assert_eq!((&log[0].sha, log[0].parents.len()), (&made.commit_sha, 2));
}

#[test]
fn a_workspace_without_a_commit_can_make_the_first() {
    let desk = Desk::new(Keeper::Jj);
    let root = desk.playground.folder("begun");
    jj::run(&desk.playground, &root, &["git", "init", "--no-colocate"]);
    let desk = Desk { root, ..desk };
    let history = desk.history();
    assert_eq!(history.current_commit().unwrap(), None);
    assert_eq!(history.log(&LogRequest::default()).unwrap(), []);
    let refused = desk.commit(&everything("first")).unwrap_err();
    assert!(matches!(refused, VersionControlError::NothingYet), "{refused}");
    let made = history.ensure_branch(&named("trunk")).unwrap();
    assert_eq!((made.head, made.created), (None, true));
    desk.write("a", "1\n");
    assert_eq!(history.diff(&DiffRequest::default()).unwrap().insertions, 1);
    let first = desk.commit(&everything("first")).unwrap();
    assert_eq!((first.branch.as_deref(), first.created), (Some("trunk"), true));
    assert_eq!(
        run(&desk, &["log", "--no-graph", "-r", "trunk", "-T", "commit_id"]),
        first.commit_sha
    );
}

#[test]
fn change_ids_name_commits_too() {
    let desk = Desk::new(Keeper::Jj);
    desk.write("a", "1\n");
    let made = desk.commit(&everything("a")).unwrap();
    let change = run(&desk, &["log", "--no-graph", "-r", "@-", "-T", "change_id"]);
    let request = LogRequest { to: Some(change), ..LogRequest::default() };
    assert_eq!(desk.history().log(&request).unwrap()[0].sha, made.commit_sha);
}

/// `root\nscratch`
const COMMIT: &str = "AGENTOS_TEST_COMMIT";

/// The other process of the test below: this program again.
#[test]
fn commits_and_may_die() {
    let Ok(given) = std::env::var(COMMIT) else {
        return assert!(std::env::current_exe().is_ok_and(|path| path.exists()));
    };
    let [root, scratch]: [&str; 2] =
        given.lines().collect::<Vec<_>>().try_into().expect("two lines");
    let history = history_at(root.as_ref(), scratch.as_ref());
    history.ensure_branch(&named("topic")).expect("a branch");
    history.commit(&everything("once"), &mark()).expect("a commit");
}

fn history_at(root: &Path, scratch: &Path) -> Box<dyn VersionControl> {
    let surroundings = Surroundings {
        cwd: Some(root.to_owned()),
        home: None,
        environment: std::env::vars_os().collect(),
    };
    version_control::open(root, scratch.to_owned(), surroundings, Halt::default()).expect("jj")
}

/// A jj that counts its calls, and kills whoever calls it before the call of this number is begun or after it is done.
fn deadly(desk: &Desk, death: Death) -> PathBuf {
    let folder = desk.playground.folder("deadly");
    let (real, count) = (jj::folder().join("jj"), folder.join("count"));
    let (real, count) = (real.display(), count.display());
    let kill = |number: usize| format!("if [ $n = {number} ]; then kill -9 $PPID; exit 1; fi");
    let (before, after) = match death {
        Death::Never => (String::new(), String::new()),
        Death::Before(number) => (kill(number), String::new()),
        Death::After(number) => (String::new(), kill(number)),
    };
    let counted =
        format!("n=$(cat {count} 2>/dev/null || echo 0)\nn=$((n + 1))\necho $n > {count}");
    let script = format!("#!/bin/sh\n{counted}\n{before}\n{real} \"$@\"\ns=$?\n{after}\nexit $s\n");
    let path = folder.join("jj");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// When whoever calls jj is killed.
#[derive(Debug, Clone, Copy)]
enum Death {
    Never,
    Before(usize),
    After(usize),
}

/// Makes a branch and commits on it in another process, which dies; how many calls of jj it came to.
#[expect(clippy::disallowed_methods, reason = "this test is about processes")]
fn commit_and_die(desk: &Desk, death: Death) -> usize {
    let folder = deadly(desk, death);
    let mut environment = jj::environment(&desk.playground);
    let path = environment.remove("PATH".as_ref() as &std::ffi::OsStr).unwrap();
    let folders = std::iter::once(folder.clone()).chain(std::env::split_paths(&path));
    environment.insert("PATH".into(), std::env::join_paths(folders).unwrap());
    let scratch = desk.playground.at("scratch/of-this");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["version_control::jujutsu::commits_and_may_die", "--exact", "--nocapture"]);
    command.env_clear().envs(environment);
    command.env(COMMIT, format!("{}\n{}", desk.root.display(), scratch.display()));
    let output = command.output().unwrap();
    let is_alive = output.status.success();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(is_alive, matches!(death, Death::Never), "{death:?}: {said}");
    fs::read_to_string(folder.join("count")).unwrap().trim().parse().unwrap()
}

#[test]
fn whoever_is_killed_between_any_two_calls_commits_once() {
    let calls = commit_and_die(&Desk::new(Keeper::Jj), Death::Never);
    assert!((10..40).contains(&calls), "{calls} calls");
    // Both sides of every call in the soak, and some of them otherwise: jj is slow as it is built for tests.
    let is_soak = std::env::var_os("AGENTOS_SOAK").is_some();
    let deaths = (1..=calls).flat_map(|number| [Death::Before(number), Death::After(number)]);
    for death in
        deaths.enumerate().filter(|(at, _)| is_soak || at % 11 == 3).map(|(_, death)| death)
    {
        let desk = Desk::new(Keeper::Jj);
        desk.write("a", "1\n");
        commit_and_die(&desk, death);
        desk.history().clear_up(Some("topic")).unwrap();
        desk.history().ensure_branch(&named("topic")).unwrap();
        let made = desk.commit(&everything("once")).unwrap();
        assert_eq!(made.branch.as_deref(), Some("topic"), "{death:?}");
        assert_eq!(made.commit_sha, desk.tip("topic"), "{death:?}");
        assert_eq!((desk.count("topic"), desk.count("work")), (2, 1), "{death:?}");
        let revset = "description(substring:\"AgentOS-Operation\")";
        let template = "commit_id ++ \"\\n\"";
        let marked = run(&desk, &["log", "--no-graph", "-r", revset, "-T", template]);
        assert_eq!(marked.lines().count(), 1, "{death:?}: {marked}");
        assert_eq!(fs::read_to_string(desk.root.join("a")).unwrap(), "1\n");
    }
}
