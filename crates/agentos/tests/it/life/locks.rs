//! Locks that a git which died has left on refs: whoever needs them goes on, and `doctor` and `db check` tell of them.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::Signal;

use super::killed_git::Deadly;
use super::site::Site;
use crate::support::{Done, is_alive, kill, wait_until};

/// A git that has locked a ref and waits.
struct Locker {
    git: Child,
    said: Lines<BufReader<ChildStdout>>,
    lock: PathBuf,
}

impl Locker {
    /// git's own way to lock a ref and to keep it so: a transaction that is prepared.
    #[expect(clippy::disallowed_methods, reason = "it is killed in the middle of its work")]
    fn new(site: &Site, reference: &str) -> Self {
        let mut command = Command::new("git");
        command.args(["update-ref", "--stdin"]).current_dir(&site.root);
        command.env_clear().envs(site.stand.environment());
        Self::of(site, reference, command)
    }

    /// The same by a program that becomes such a git.
    fn of(site: &Site, reference: &str, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut git = command.spawn().expect("git");
        let head = site.git(&["rev-parse", "HEAD"]);
        let told = format!("start\nupdate {reference} {head}\nprepare\n");
        let mut words = git.stdin.take().expect("a pipe");
        words.write_all(told.as_bytes()).expect("it listens");
        let mut said = BufReader::new(git.stdout.take().expect("a pipe")).lines();
        for word in ["start: ok", "prepare: ok"] {
            assert_eq!(said.next().expect("an answer").expect("text"), word);
        }
        git.stdin = Some(words);
        let lock = site.root.join(format!(".git/{reference}.lock"));
        assert!(lock.exists(), "{}", lock.display());
        Self { git, said, lock }
    }

    /// Lets it do what it has locked the ref for.
    fn commit(mut self) {
        let mut words = self.git.stdin.take().expect("a pipe");
        words.write_all(b"commit\n").expect("it listens");
        drop(words);
        let said = self.said.next().expect("its lock is still there").expect("text");
        assert_eq!(said, "commit: ok");
        assert!(self.git.wait().expect("it ends").success());
    }

    fn kill(mut self) -> PathBuf {
        self.git.kill().expect("it lives");
        self.git.wait().expect("it ends");
        assert!(self.lock.exists(), "nobody has removed it");
        self.lock
    }
}

/// Leaves a lock on a ref that nobody holds any more.
fn left(site: &Site, reference: &str) -> PathBuf {
    Locker::new(site, reference).kill()
}

fn run_of(site: &Site, name: &str) -> String {
    site.show(name)["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_run_keeps_its_files_although_its_ref_was_left_locked() {
    let site = Site::new();
    let (name, _) = site.waits(&["ask"], "approval");
    let id = run_of(&site, &name);
    let lock = left(&site, &format!("refs/agentos/runs/{id}"));
    site.run(&["approve", &name]).exits(0);
    site.until_status(&name, "COMPLETED");
    assert!(!lock.exists());
    assert_eq!(site.comments(&name), Vec::<String>::new(), "nothing was not kept");
    site.run(&["fork", &name, "--from-step", "1", "--detach"]).exits(0);
}

#[test]
fn a_step_goes_back_although_its_branch_was_left_locked() {
    let site = Site::new();
    site.template(
        "again",
        r#"await ctx.run("try", async (ctx) => {
             const was = (await ctx.shell("ls")).stdout;
             await ctx.shell("git add . && git -c user.name=a -c user.email=a@b commit --allow-empty -qm tried");
             await ctx.shell("test -e \"$AGENT_WORKSPACE_REPO_ROOT/go\"", { name: "gate" });
             return was;
           }, { onRetry: "rollback", retry: { maxAttempts: 3, delay: 5000, backoff: "fixed" } });"#,
    );
    site.commit("again");
    let name = site.run(&["run", "again", "--detach"]).exits(0).out.trim().to_owned();
    site.until_it_waits(&name, "retry");
    let lock = left(&site, &format!("refs/heads/agentos/{name}"));
    fs::write(site.root.join("go"), "").expect("a file");
    site.until_status(&name, "COMPLETED");
    assert!(!lock.exists());
}

#[test]
fn a_workspace_is_removed_and_made_although_refs_were_left_locked() {
    let site = Site::new();
    site.run(&["workspace", "run", "box", "--", "sh", "-c", "echo mine > mine.txt"]).exits(0);
    let locks = [
        left(&site, "refs/heads/agentos/box"),
        left(&site, "refs/agentos/backup/box/1"),
        site.root.join(".git/packed-refs.lock"),
    ];
    fs::write(&locks[2], "").expect("a file");
    let told = site.run(&["workspace", "clean", "box", "--force"]).exits(0).out;
    assert!(told.contains("backed up as refs/agentos/backup/box/1"), "{told}");
    let new = left(&site, "refs/heads/agentos/other");
    site.run(&["workspace", "run", "other", "--", "true"]).exits(0);
    site.run(&["workspace", "restore", "box"]).exits(0);
    assert!(locks.iter().chain([&new]).all(|lock| !lock.exists()));
}

#[test]
fn a_lock_whose_git_lives_is_waited_for() {
    let site = Site::new();
    let watched = Deadly::new(&site);
    let mut locker = Locker::new(&site, "refs/heads/agentos/box");
    let told = site.run(&["doctor"]).out;
    assert!(!told.contains("is the lock of a git"), "{told}");
    let making = watched.call(&site, &["workspace", "run", "box", "--", "true"]).start();
    // Each is a tenth of a second after the one before; a lock that nobody holds is gone after half a second.
    wait_until("it has tried for long", || watched.count(" worktree add ") > 7);
    assert!(locker.lock.exists(), "its git lives");
    locker.git.stdin.take().expect("a pipe").write_all(b"abort\n").expect("it listens");
    locker.git.wait().expect("it ends");
    making.done().exits(0);
}

#[test]
fn doctor_and_check_tell_of_locks_that_dead_gits_have_left() {
    let site = Site::new();
    site.run(&["workspace", "run", "box", "--", "true"]).exits(0);
    let lock = left(&site, "refs/agentos/runs/some");
    let shown = lock.display().to_string();
    let told = site.run(&["doctor"]).exits(1).out;
    assert!(told.contains(&format!("{shown} is the lock of a git that died")), "{told}");
    let checked = site.run(&["db", "check", "--json"]).exits(1).document();
    let problem = &checked["problems"][0];
    assert_eq!((&problem["kind"], &problem["path"]), (&"stale_lock".into(), &shown.clone().into()));
    assert!(lock.exists(), "looking changes nothing");
    site.run(&["db", "check", "--fix"]).exits(0);
    assert!(!Path::new(&shown).exists());
    site.run(&["doctor"]).exits(0);
    site.run(&["db", "check"]).exits(0);
}

/// Makes a lock look as if it had been there for long.
fn age(lock: &Path) {
    let file = fs::File::options().append(true).open(lock).expect("it can be opened");
    let times = fs::FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
    file.set_times(times).expect("its time can be set");
}

/// What is told of a lock that is not known to be stale, and that it stays. It is a problem only where no process is seen that
/// may hold it.
fn is_told_of(site: &Site, (lock, kind): (&Path, &str), run: impl Fn(&[&str]) -> Done) -> String {
    age(lock);
    let (list, other, code) = match kind {
        "held_lock" => ("notes", "problems", 0),
        _ => ("problems", "notes", 1),
    };
    let told = run(&["doctor"]).exits(code).out;
    let shown = format!("{} is a lock of git that stays; ", lock.display());
    let (_, why) = told.split_once(&shown).unwrap_or_else(|| panic!("{told}"));
    let checked = run(&["db", "check", "--fix", "--json"]).exits(code).document();
    let [found] = &checked[list].as_array().expect("a list")[..] else { panic!("{checked:#}") };
    let path = lock.display().to_string();
    assert_eq!((&found["kind"], &found["path"]), (&kind.into(), &path.into()));
    assert_eq!(checked[other], serde_json::json!([]));
    let checked = run(&["db", "check"]).exits(code).out;
    assert!(checked.contains(&shown), "{checked}");
    assert_eq!(checked.contains("everything is fine"), code == 0, "{checked}");
    let doctor = run(&["doctor", "--json"]).exits(code).document();
    assert_eq!(doctor[list].as_array().map(Vec::len), Some(1), "{doctor:#}");
    assert!(lock.exists(), "it stays in {}", site.root.display());
    why.to_owned()
}

#[test]
fn a_lock_whose_git_lives_for_long_is_told_of() {
    let site = Site::new();
    site.run(&["workspace", "run", "box", "--", "true"]).exits(0);
    let mut locker = Locker::new(&site, "refs/agentos/runs/some");
    let why = is_told_of(&site, (&locker.lock, "held_lock"), |words| site.run(words));
    let git = format!("it may belong to a git that is at work: process {}\n", locker.git.id());
    assert!(why.starts_with(&git), "{why}");
    locker.git.kill().expect("it lives");
    locker.git.wait().expect("it ends");
    site.run(&["db", "check", "--fix"]).exits(0);
    assert!(!locker.lock.exists());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it lives as long as the test")]
fn a_git_that_only_reads_keeps_no_lock() {
    let site = Site::new();
    let mut reader = Command::new("git");
    reader.args(["-c", "core.quotePath=false", "cat-file", "--batch"]).current_dir(&site.root);
    reader.env_clear().envs(site.stand.environment());
    let mut reader = reader.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git");
    let mut answers = BufReader::new(reader.stdout.take().expect("a pipe")).lines();
    let mut asked = reader.stdin.take().expect("a pipe");
    asked.write_all(b"HEAD:none\n").expect("it listens");
    answers.next().expect("an answer").expect("text");
    let lock = left(&site, "refs/heads/agentos/box");
    site.run(&["workspace", "run", "box", "--", "true"]).exits(0);
    assert!(!lock.exists());
    drop(asked);
    reader.wait().expect("it ends");
}

/// The binary in a PID namespace of its own, as in a container that shares the checkout.
fn contained(site: &Site, arguments: &[&str]) -> Done {
    let enter = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let words = [&enter[..], &[env!("CARGO_BIN_EXE_agentos")], arguments].concat();
    let unshare = Path::new("/usr/bin/unshare");
    let call = site.stand.call_program(unshare, &site.root, &words);
    call.without("AGENTOS_WORKSPACE_KIND").done()
}

#[test]
fn a_lock_whose_git_may_live_in_another_container_is_not_removed() {
    let site = Site::new();
    site.run(&["workspace", "run", "box", "--", "true"]).exits(0);
    let locker = Locker::new(&site, "refs/agentos/runs/some");
    let lock = (&*locker.lock, "unseen_lock");
    let why = is_told_of(&site, lock, |words| contained(&site, words));
    assert!(why.starts_with("whether its git lives can't be seen from here"), "{why}");
    locker.commit();
    site.run(&["doctor"]).exits(0);
}

#[test]
fn a_lock_whose_git_lives_in_a_container_with_other_mounts_is_waited_for() {
    let site = Site::new();
    site.run(&["workspace", "run", "box", "--", "true"]).exits(0);
    let elsewhere = site.stand.folder("elsewhere");
    let script = format!(
        "mount --bind {} {1} && cd {1} && exec git update-ref --stdin",
        site.root.display(),
        elsewhere.display()
    );
    let enter = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"];
    let words = [&enter[..], &["sh", "-c", &script]].concat();
    let call = site.stand.call_program(Path::new("/usr/bin/unshare"), &site.root, &words);
    let locker = Locker::of(&site, "refs/agentos/runs/some", call.command);
    let why = is_told_of(&site, (&locker.lock, "held_lock"), |words| site.run(words));
    assert!(why.starts_with("it may belong to a git that is at work: process "), "{why}");
    locker.commit();
}

#[test]
fn what_fails_over_a_lock_whose_git_can_not_be_seen_names_it_and_what_to_do() {
    let site = Site::new();
    site.template("save", "await ctx.shell(\"git add .\");");
    site.template("stage", "await ctx.git.stageAll();");
    site.commit("workflows that stage");
    let lock = site.root.join(".git/index.lock");
    let said = format!("{} is a lock of git that stays; whether its git lives", lock.display());
    let is_named = |told: &Done| {
        assert!(told.err.contains(&said), "{told:#?}");
        assert!(told.err.contains("remove it if no git is at work there"), "{told:#?}");
        assert!(told.err.contains("`agentos doctor` lists such locks"), "{told:#?}");
    };
    fs::write(&lock, "").expect("a file");
    is_named(&contained(&site, &["run", "save", "--workspace", "none"]).exits(1));
    let staged = contained(&site, &["run", "stage", "--workspace", "none", "--json"]).exits(1);
    is_named(&staged);
    let error = staged.document()["error"]["message"].as_str().expect("a message").to_owned();
    assert!(error.contains(&said), "{error}");
    fs::remove_file(&lock).expect("it is removed");
    assert!(
        !contained(&site, &["run", "save", "--workspace", "none"]).exits(0).err.contains("lock")
    );
    site.run(&["workspace", "run", "box", "--", "true"]).exits(0);
    let lock = site.root.join(".git/worktrees/box/index.lock");
    fs::write(&lock, "").expect("a file");
    let told = contained(&site, &["workspace", "run", "box", "--", "git", "add", "."]).exits(128);
    let said = format!("{} is a lock of git that stays", lock.display());
    assert!(told.err.contains(&said), "{told:#?}");
    assert!(lock.exists());
}

/// A command that commits, once the hook below is there to stop it.
const SAVE: &str = "touch $AGENT_WORKSPACE_REPO_ROOT/.git/armed; echo x >> f; git add f; git -c user.name=a -c user.email=a@b commit -qam saved";

/// Lets the first git that commits wait, with its locks, until it is killed; the folder that is there from then on.
fn stop_first_commit(site: &Site) -> PathBuf {
    let (armed, stopped) = (site.root.join(".git/armed"), site.root.join(".git/stopped"));
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = prepared ] && [ -e {} ] && mkdir {} 2>/dev/null || exit 0\n\
         while :; do sleep 0.05; done\n",
        armed.display(),
        stopped.display()
    );
    let hook = site.root.join(".git/hooks/reference-transaction");
    fs::write(&hook, text).expect("a hook");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("its mode");
    stopped
}

/// Kills all processes of a site as a crash of the machine does: none sees another one die.
fn kill_all(site: &Site) {
    let mut processes = Vec::new();
    wait_until("all stand still", || {
        let before = std::mem::replace(&mut processes, site.stand.processes());
        processes.iter().for_each(|pid| kill(*pid, Signal::STOP));
        processes == before
    });
    // What was started last goes first: a stopped process is told to end in order when those that it descends from are gone.
    processes.iter().rev().for_each(|pid| kill(*pid, Signal::KILL));
    wait_until("all are dead", || !processes.iter().any(|pid| is_alive(*pid)));
}

/// Starts this run, kills everything while a git of it has locked `HEAD`, resumes it, and finds what it has committed.
#[track_caller]
fn commits_after_a_crash(site: &Site, arguments: &[&str]) {
    let before: usize = site.git(&["rev-list", "--count", "HEAD"]).parse().expect("a number");
    let stopped = stop_first_commit(site);
    let run = site.run(&[&["run", "save", "--detach"], arguments].concat()).exits(0);
    let name = run.out.trim();
    wait_until("its git has locked what it needs", || stopped.exists());
    kill_all(site);
    let folder = site.show(name)["workspace_dir"].as_str().map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| site.root.clone());
    let git = |words: &[&str]| site.stand.git(&folder, words).trim_end().to_owned();
    let path = |name: &str| git(&["rev-parse", "--path-format=absolute", "--git-path", name]);
    let branch = git(&["symbolic-ref", "HEAD"]);
    let locks = [path("HEAD.lock"), path("index.lock"), path(&format!("{branch}.lock"))];
    assert!(locks.iter().all(|lock| Path::new(lock).exists()), "{locks:?}");
    let done = site.run(&["resume", name]).exits(0);
    assert_eq!(git(&["log", "-1", "--format=%s"]), "saved", "{done:#?}");
    assert_eq!(git(&["rev-list", "--count", "HEAD"]), (before + 1).to_string());
    assert!(!locks.iter().any(|lock| Path::new(lock).exists()), "{locks:?}");
}

#[test]
fn a_command_commits_after_a_crash_while_it_committed() {
    for kind in ["worktree", "none"] {
        let site = Site::new();
        site.template("save", &format!("await ctx.shell({:?});", format!("{SAVE}; true")));
        site.commit("save");
        commits_after_a_crash(&site, &["--workspace", kind]);
    }
}

#[test]
fn an_agent_commits_after_a_crash_while_it_committed() {
    let site = Site::new();
    let scenario = format!("[[session]]\nplay = [{{ run = {SAVE:?} }}, {{ say = \"Done.\" }}]\n");
    fs::write(site.root.join("scenario.toml"), scenario).expect("a scenario");
    site.template("save", "await ctx.runCli(\"save\", claude, \"Commit.\");");
    site.commit("save");
    commits_after_a_crash(&site, &["--agent", "claude=scripted:scenario.toml"]);
}

#[test]
fn a_command_in_a_workspace_needs_a_lock_that_a_dead_git_has_left() {
    let site = Site::new();
    site.run(&["workspace", "run", "box", "--", "true"]).exits(0);
    let lock = site.root.join(".git/worktrees/box/index.lock");
    fs::write(&lock, "").expect("a file");
    site.run(&["workspace", "run", "box", "--", "git", "add", "."]).exits(0);
    assert!(!lock.exists());
}
