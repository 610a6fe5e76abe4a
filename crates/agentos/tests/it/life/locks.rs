//! Locks that a git which died has left on refs: whoever needs them goes on, and `doctor` and `db check` tell of them.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::killed_git::Deadly;
use super::site::Site;
use crate::support::wait_until;

/// A git that has locked a ref and waits.
struct Locker {
    git: Child,
    lock: PathBuf,
}

impl Locker {
    /// git's own way to lock a ref and to keep it so: a transaction that is prepared.
    #[expect(clippy::disallowed_methods, reason = "it is killed in the middle of its work")]
    fn new(site: &Site, reference: &str) -> Self {
        let mut command = Command::new("git");
        command.args(["update-ref", "--stdin"]).current_dir(&site.root);
        command.env_clear().envs(site.stand.environment());
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
        Self { git, lock }
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
