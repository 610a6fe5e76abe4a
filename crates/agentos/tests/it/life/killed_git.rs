//! A git that a signal ends, as the kernel does when memory runs out: that is no answer, and no failure of the run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::site::{Site, name_of};
use crate::support::{Call, wait_until};

/// A program called `git` in front of the real one. It notes what it is asked, and dies as it is told.
pub(super) struct Deadly {
    folder: PathBuf,
    path: std::ffi::OsString,
}

/// `$0` is in the folder. `pattern` says which calls die; `once` that each line of words dies only the first time; `after` that
/// they do their work before they die. Ids that are drawn anew each time do not make another line.
const SCRIPT: &str = r#"#!/bin/sh
here=${0%/*}
words=$(printf '%s ' "$@" | tr '\n' ' ')
echo "$words" >> "$here/asked"
if [ -e "$here/pattern" ] && printf '%s' "$words" | grep -Eq -f "$here/pattern"; then
  line=$(printf '%s' "$words" | sed -E 's/[0-9a-f]{8}-[0-9a-f-]{27}/ID/g')
  if [ ! -e "$here/once" ] || ! grep -qxF -- "$line" "$here/died" 2>/dev/null; then
    echo "$line" >> "$here/died"
    [ -e "$here/after" ] && REAL "$@" > /dev/null 2>&1
    kill -9 $$
  fi
fi
exec REAL "$@"
"#;

impl Deadly {
    pub(super) fn new(site: &Site) -> Self {
        let folder = site.stand.folder("deadly");
        let before = site.stand.environment()[std::ffi::OsStr::new("PATH")].clone();
        let real = std::env::split_paths(&before).map(|folder| folder.join("git"));
        let real = real.into_iter().find(|path| path.exists()).expect("git");
        let program = folder.join("git");
        fs::write(&program, SCRIPT.replace("REAL", &real.to_string_lossy())).expect("a program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
        let all = std::iter::once(folder.clone()).chain(std::env::split_paths(&before));
        let path = std::env::join_paths(all).expect("a path");
        Self { folder, path }
    }

    /// Lets calls die whose words have this in them.
    fn kill(&self, pattern: &str) {
        fs::write(self.folder.join("new"), format!("{pattern}\n")).expect("a file");
        fs::rename(self.folder.join("new"), self.folder.join("pattern")).expect("a file");
    }

    /// Says how they die: `once`, `after`.
    fn how(&self, names: &[&str]) {
        names.iter().for_each(|name| fs::write(self.folder.join(name), "").expect("a file"));
    }

    fn spare(&self) {
        fs::remove_file(self.folder.join("pattern")).expect("there was one");
    }

    /// How often a call was made whose words have this in them.
    pub(super) fn count(&self, words: &str) -> usize {
        let asked = fs::read_to_string(self.folder.join("asked")).unwrap_or_default();
        asked.lines().filter(|line| line.contains(words)).count()
    }

    fn deaths(&self) -> usize {
        let died = fs::read_to_string(self.folder.join("died")).unwrap_or_default();
        died.lines().count()
    }

    pub(super) fn call(&self, site: &Site, arguments: &[&str]) -> Call {
        site.call(arguments).env("PATH", &self.path)
    }
}

const WORK: &str = r#"
  await ctx.run("write", async (ctx) => { await ctx.files.write("one.txt", "1"); });
  await ctx.run("save", async (ctx) => {
    await ctx.git.stageAll();
    return await ctx.git.commit("saved", { author: { name: "a", email: "a@b" } });
  });
  await ctx.run("look", async (ctx) => { await ctx.shell("true"); });
  return (await ctx.git.status()).clean;
"#;

pub(super) fn saving() -> Site {
    let site = Site::new();
    site.template("save", WORK);
    site.commit("save");
    site
}

/// It came to the end that it would have come to.
pub(super) fn is_whole(site: &Site, name: &str) {
    let run = site.until_status(name, "COMPLETED");
    assert_eq!(run["output"], true);
    assert_eq!(site.comments(name), Vec::<String>::new());
    let made = site.git(&["log", "--format=%s", &format!("main..agentos/{name}")]);
    assert_eq!(made, "saved", "once");
    let id = run["id"].as_str().expect("an id");
    let kept =
        site.git(&["log", "--first-parent", "--format=%s", &format!("refs/agentos/runs/{id}")]);
    assert_eq!(kept.lines().count(), 5, "before each step, at the end, and the beginning: {kept}");
}

#[test]
fn every_call_of_git_is_killed_the_first_time() {
    let site = saving();
    let deadly = Deadly::new(&site);
    deadly.how(&["once"]);
    deadly.kill(".");
    let done = deadly.call(&site, &["run", "save", "--json"]).done().exits(0);
    assert!(deadly.deaths() > 20, "{}", deadly.deaths());
    is_whole(&site, &name_of(&done));
}

#[test]
fn every_call_of_git_is_killed_after_it_has_done_its_work() {
    let site = saving();
    let deadly = Deadly::new(&site);
    deadly.how(&["once", "after"]);
    deadly.kill(".");
    let done = deadly.call(&site, &["run", "save", "--json"]).done().exits(0);
    assert!(deadly.deaths() > 20, "{}", deadly.deaths());
    is_whole(&site, &name_of(&done));
}

/// Starts a run whose git dies whenever it is asked for this, and lets it live once the run waits for that.
fn waits_for(words: &str, why: &str) {
    let site = saving();
    let deadly = Deadly::new(&site);
    deadly.kill(words);
    let name = deadly.call(&site, &["run", "save", "--detach"]).done().exits(0).out;
    let name = name.trim();
    site.until_it_waits(name, "retry");
    let run = site.show(name);
    let told = run["waiting"]["why"].as_str().expect("a reason").to_owned();
    assert!(told.contains(why) && told.contains("was ended by signal 9"), "{told}");
    assert!(run["waiting"]["until"].is_string(), "it is tried again by itself");
    let listed = site.run(&["show", name]).exits(0).out;
    assert!(listed.contains("next attempt"), "{listed}");
    deadly.spare();
    is_whole(&site, name);
}

#[test]
fn a_run_waits_while_its_files_can_not_be_kept() {
    waits_for(" commit-tree ", "the files can't be kept yet");
}

#[test]
fn a_run_waits_while_nothing_can_be_committed() {
    waits_for(" commit .*--author|^commit |maintenance.auto=false commit ", "git commit");
}

/// A program that git starts and that is killed, in this way, while there is a file `deadly` beside it; else it copies what it
/// reads.
pub(super) fn deadly_program(site: &Site, dies: &str) -> PathBuf {
    let folder = site.stand.folder("deadly");
    let path = folder.join("program");
    let text = format!("#!/bin/sh\n[ -e {}/deadly ] && {dies}\nexec cat\n", folder.display());
    fs::write(&path, text).expect("a program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    fs::write(folder.join("deadly"), "").expect("a file");
    path
}

/// Starts a run in which such a program is killed, and lets it live once the run waits for that.
pub(super) fn waits_for_program(site: &Site, program: &Path, why: &str, signal: u8) {
    let name = site.run(&["run", "save", "--detach"]).exits(0).out;
    let name = name.trim();
    let mut told = String::new();
    wait_until("it waits, and says for what", || {
        let run = site.show(name);
        assert!(run["completed_at"].is_null(), "{run:#}");
        told = run["waiting"]["why"].as_str().unwrap_or_default().to_owned();
        !told.is_empty()
    });
    let ended = format!("was ended by signal {signal}");
    assert!(told.contains(why) && told.contains(&ended), "{told}");
    fs::remove_file(program.with_file_name("deadly")).expect("there was one");
    is_whole(site, name);
}

/// Itself, and what it has started: by the kernel, and by a machine that shuts down.
const DEATHS: [(&str, u8); 3] = [
    ("kill -9 $$", 9),
    ("{ sh -c 'kill -9 $$'; exit $?; }", 9),
    ("{ sh -c 'kill $$'; exit $?; }", 15),
];

#[test]
fn a_run_waits_while_a_hook_is_killed() {
    for (dies, signal) in DEATHS {
        let site = saving();
        let program = deadly_program(&site, dies);
        std::os::unix::fs::symlink(&program, site.root.join(".git/hooks/pre-commit"))
            .expect("a hook");
        waits_for_program(&site, &program, "git commit: pre-commit", signal);
    }
}

#[test]
fn a_run_waits_while_a_filter_is_killed() {
    for (dies, signal) in DEATHS {
        let site = saving();
        let program = deadly_program(&site, dies);
        fs::write(site.root.join(".gitattributes"), "one.txt filter=mine\n").expect("a file");
        site.commit("a filter");
        site.git(&["config", "filter.mine.clean", program.to_str().expect("text")]);
        site.git(&["config", "filter.mine.required", "true"]);
        waits_for_program(&site, &program, "external filter '", signal);
    }
}

#[test]
fn a_hook_that_crashes_fails_the_run_as_one_that_refuses() {
    let site = saving();
    let program = deadly_program(&site, "kill -SEGV $$");
    std::os::unix::fs::symlink(&program, site.root.join(".git/hooks/pre-commit")).expect("a hook");
    let failed = site.run(&["run", "save", "--json"]).exits(1).document();
    let told = failed["error"]["message"].as_str().expect("a message");
    assert!(told.contains("pre-commit"), "{told}");
}

#[test]
fn a_command_whose_git_is_killed_says_so_and_leaves_nothing() {
    let site = Site::new();
    let deadly = Deadly::new(&site);
    deadly.kill(" worktree add ");
    let failed = deadly.call(&site, &["workspace", "run", "box", "--", "true"]).done().exits(1);
    assert!(failed.err.contains("was ended by signal 9"), "{}", failed.err);
    assert!(failed.err.contains("hint: nothing is wrong with the repository"), "{}", failed.err);
    assert!(deadly.count(" worktree add ") > 4, "it was tried again");
    deadly.spare();
    deadly.call(&site, &["workspace", "run", "box", "--", "true"]).done().exits(0);
    assert_eq!(site.git(&["worktree", "list"]).lines().count(), 2);
}

#[test]
fn a_step_goes_back_when_git_lives_again() {
    let site = Site::new();
    site.template(
        "again",
        r#"return await ctx.run("try", async (ctx) => {
             const was = (await ctx.shell("cat made.txt 2>/dev/null; true")).stdout;
             await ctx.files.write("made.txt", "made");
             await ctx.shell("test -e \"$AGENT_WORKSPACE_REPO_ROOT/go\"", { name: "gate" });
             return was;
           }, { onRetry: "rollback", retry: { maxAttempts: 2, delay: 1 } });"#,
    );
    site.commit("again");
    let deadly = Deadly::new(&site);
    deadly.kill(" checkout-index ");
    let name = deadly.call(&site, &["run", "again", "--detach"]).done().exits(0).out;
    let name = name.trim();
    wait_until("it can't go back", || {
        site.show(name)["waiting"]["why"].as_str().is_some_and(|why| why.contains("signal 9"))
    });
    fs::write(site.root.join("go"), "").expect("a file");
    deadly.spare();
    let run = site.until_status(name, "COMPLETED");
    assert_eq!(run["output"], "", "the files went back before the second attempt");
    assert!(Path::new(run["workspace_dir"].as_str().expect("a path")).join("made.txt").exists());
}
