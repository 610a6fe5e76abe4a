//! `db migrate --move` beside commands that answer, end or resume the same run: what was accepted comes along, and the rest is
//! refused.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use serde_json::Value;

use super::DATABASE;
use crate::server::stage::template;
use crate::support::{Call, Done, Process, Stand, sqlite, wait_until};

const WAITS: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "waits", workspace: "none" }, async (ctx) => await ctx.waitFor("go"));"#;

/// The same with more behind what a run of it has done.
const CHANGED: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "waits", workspace: "none" }, async (ctx) => {
  const heard = await ctx.waitFor("go");
  await ctx.run("more", async (ctx) => ctx.shell("echo more >> counted"));
  return heard;
});"#;

/// A run that waits for an event, in a database outside of its repository.
struct Scene {
    stand: Stand,
    root: PathBuf,
    old: PathBuf,
    new: PathBuf,
    run: String,
}

impl Scene {
    fn new() -> Self {
        let (stand, root) = Stand::with_repository();
        template(&root, "waits", WAITS);
        let (old, new, run) = (stand.at("old.db"), root.join(DATABASE), String::new());
        let mut scene = Self { stand, root, old, new, run };
        scene.at_old(&["run", "waits", "--detach"]).done().exits(0);
        wait_until("it waits", || scene.show(&scene.old)["waiting"]["kind"] == "signal");
        scene.stand.kill_executors();
        scene.until_no_process();
        // While its log holds nothing, it is read without its writer lock.
        sqlite(&scene.old, include_str!("sql/empty_log.sql"));
        scene.run = scene.show(&scene.old)["id"].as_str().expect("an id").to_owned();
        scene
    }

    fn at(&self, database: &Path, arguments: &[&str]) -> Call {
        self.stand.call(&self.root, arguments).env("AGENTOS_WORKFLOW_DB", database)
    }

    fn at_old(&self, arguments: &[&str]) -> Call {
        self.at(&self.old, arguments)
    }

    fn show(&self, database: &Path) -> Value {
        self.at(database, &["show", "waits", "--json"]).done().exits(0).document()
    }

    fn move_it(&self) -> Call {
        let old = self.old.to_str().expect("text");
        self.at(&self.new, &["db", "migrate", "--move", "--from", old])
    }

    /// Where the old database says that the run goes on.
    fn note(&self) -> PathBuf {
        notes(&self.old).join(&self.run)
    }

    /// Begins a command in the old database, which stops where it asks whether the run goes on there.
    fn begin(&self, arguments: &[&str]) -> Asking {
        fs::create_dir_all(notes(&self.old)).expect("a folder");
        let pipe = self.note();
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        let process = self.at_old(arguments).start();
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut answer = None;
        wait_until("it asks", || {
            // There is no such end as long as no process reads.
            answer = open(&pipe, flags, Mode::empty()).ok();
            answer.is_some()
        });
        fs::remove_file(&pipe).expect("it is there");
        Asking { process, answer: answer.expect("it asks").into() }
    }

    fn refused(&self, done: Done) {
        let done = done.exits(4);
        for database in [&self.old, &self.new] {
            let database = database.canonicalize().expect("it is there");
            assert!(done.err.contains(database.to_str().expect("text")), "{done:#?}");
        }
    }

    fn until_no_process(&self) {
        wait_until("no process is at work", || self.stand.processes().is_empty());
    }
}

/// The folder of a database's notes.
fn notes(database: &Path) -> PathBuf {
    let mut folder = database.as_os_str().to_owned();
    folder.push(".elsewhere");
    folder.into()
}

/// A command that has asked whether a run goes on in a database, and has no answer yet.
struct Asking {
    process: Process,
    answer: File,
}

impl Asking {
    /// Lets it go on with the answer that held when it asked: the run goes on there.
    fn goes_on(mut self) -> Done {
        let gone = br#"{ "reason": "moved", "database": "/there/is/no/such.db" }"#;
        self.answer.write_all(gone).expect("it reads");
        drop(self.answer);
        self.process.done()
    }
}

#[test]
fn a_signal_that_is_accepted_while_its_run_is_moved_comes_along() {
    let scene = Scene::new();
    let signal = scene.begin(&["signal", "waits", "go", "7"]);
    let moving = scene.move_it().start();
    wait_until("the run is noted as moved", || scene.note().exists());
    signal.goes_on().exits(0);
    let moved = moving.done().exits(0);
    assert!(moved.out.contains("1 moved"), "{moved:#?}");
    scene.until_no_process();
    scene.at(&scene.new, &["resume", "waits", "--detach"]).done().exits(0);
    wait_until("it has heard the signal", || scene.show(&scene.new)["output"] == 7);
    scene.refused(scene.at_old(&["signal", "waits", "go", "8"]).done());
    scene.until_no_process();
}

#[test]
fn a_run_that_is_cancelled_while_it_is_moved_ends_where_it_goes_on() {
    let scene = Scene::new();
    let cancel = scene.begin(&["cancel", "waits"]);
    let moving = scene.move_it().start();
    wait_until("the run is noted as moved", || scene.note().exists());
    scene.refused(cancel.goes_on());
    let moved = moving.done().exits(0);
    assert!(moved.out.contains("1 moved"), "{moved:#?}");
    scene.at(&scene.new, &["resume", "waits"]).done();
    assert_eq!(scene.show(&scene.new)["status"], "CANCELLED");
    scene.until_no_process();
}

#[test]
fn a_run_that_was_moved_while_it_is_resumed_stays_as_it_was_moved() {
    for arguments in [&["resume", "waits", "--latest"][..], &["resume", "waits"]] {
        let scene = Scene::new();
        template(&scene.root, "waits", CHANGED);
        let resume = scene.begin(arguments);
        let moved = scene.move_it().done().exits(0);
        assert!(moved.out.contains("1 moved"), "{moved:#?}");
        scene.refused(resume.goes_on());
        scene.at(&scene.new, &["signal", "waits", "go", "7"]).done().exits(0);
        wait_until("it is done", || scene.show(&scene.new)["status"] == "COMPLETED");
        scene.until_no_process();
        // Its log in the old database is the beginning of that in the new one.
        let new = scene.new.to_str().expect("text");
        scene.at_old(&["db", "migrate", "--from", new]).done().exits(0);
        assert_eq!(scene.show(&scene.old)["status"], "COMPLETED");
    }
}

#[test]
fn a_run_goes_on_nowhere_while_its_note_can_not_be_read() {
    let scene = Scene::new();
    scene.move_it().done().exits(0);
    let (note, text) = (scene.note(), fs::read(scene.note()).expect("it was moved"));
    fs::write(&note, "").expect("a file");
    let shown = note.canonicalize().expect("it is there");
    let shown = shown.to_str().expect("text");
    for arguments in [
        &["signal", "waits", "go", "7"][..],
        &["cancel", "waits"],
        &["resume", "waits"],
        &["resume", "waits", "--latest"],
        &["resume", "waits", "--latest", "--dry-run"],
    ] {
        let refused = scene.at_old(arguments).done().exits(4);
        assert!(refused.err.contains(shown), "{refused:#?}");
    }
    let due = scene.at_old(&["resume", "--due"]).done().exits(0);
    assert!(due.err.contains("nothing is due"), "{due:#?}");
    let again = scene.move_it().done().exits(4);
    assert!(again.out.contains(shown), "{again:#?}");
    fs::write(&note, text).expect("a file");
    scene.refused(scene.at_old(&["resume", "waits"]).done());
    fs::remove_file(&note).expect("it is there");
    scene.at_old(&["signal", "waits", "go", "7"]).done().exits(0);
    wait_until("it goes on", || scene.show(&scene.old)["status"] == "COMPLETED");
    scene.until_no_process();
}

/// Writes down what is forced to disk, renamed and removed.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void record(const char *what, const char *path) {
    const char *name = getenv("RECORD");
    int to = name ? open(name, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (to < 0) return;
    dprintf(to, "%s %s\n", what, path);
    close(to);
}

int fsync(int file) {
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, "fsync");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    int answer = real(file);
    if (length > 0) { path[length] = 0; record("fsync", path); }
    return answer;
}

int rename(const char *from, const char *to) {
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *)) dlsym(RTLD_NEXT, "rename");
    int answer = real(from, to);
    record("rename", to);
    return answer;
}

int unlink(const char *path) {
    int (*real)(const char *) = (int (*)(const char *)) dlsym(RTLD_NEXT, "unlink");
    int answer = real(path);
    record("unlink", path);
    return answer;
}
"#;

#[test]
fn the_source_has_its_note_on_disk_before_a_run_goes_on_in_the_target() {
    let scene = Scene::new();
    let [source, shim, record] = ["shim.c", "shim.so", "record"].map(|name| scene.stand.at(name));
    fs::write(&source, SHIM).expect("a file");
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let words = ["-shared", "-fPIC", "-o", &text(&shim), &text(&source), "-ldl"];
    let compiler = Path::new("/usr/bin/cc");
    scene.stand.call_program(compiler, &scene.root, &words).done().exits(0);
    scene.move_it().env("LD_PRELOAD", &shim).env("RECORD", &record).done().exits(0);
    let recorded = fs::read_to_string(&record).expect("it was recorded");
    let lines: Vec<&str> = recorded.lines().collect();
    let [here, there] = [&scene.new, &scene.old].map(|database| {
        let folder = notes(&database.canonicalize().expect("it is there"));
        (text(&folder.join(&scene.run)), text(&folder), text(folder.parent().expect("a folder")))
    });
    let after = |from: usize, line: String| {
        let found = lines.iter().skip(from).position(|found| **found == line);
        found.map(|found| from + found).unwrap_or_else(|| panic!("no {line}: {lines:#?}"))
    };
    for (note, folder, above) in [&here, &there] {
        let noted = after(0, format!("rename {note}"));
        let synced = after(noted, format!("fsync {folder}"));
        let synced = synced.max(after(noted, format!("fsync {above}")));
        let goes_on = after(0, format!("unlink {}", here.0));
        assert!(synced < goes_on, "{lines:#?}");
        after(goes_on, format!("fsync {}", here.1));
    }
}
