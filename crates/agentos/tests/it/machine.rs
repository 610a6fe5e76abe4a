//! A machine that plays tricks: a clock that is set back, and a process that may open few files.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Call, Stand, wait_until};

/// Sets the wall clock back by a day for a program as soon as there is a file. No other clock is touched.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
    int answer = real(id, time);
    const char *back = getenv("CLOCK_IS_BACK");
    if (answer == 0 && id == CLOCK_REALTIME && back && access(back, F_OK) == 0) time->tv_sec -= 86400;
    return answer;
}
"#;

struct Scene {
    stand: Stand,
    root: PathBuf,
}

impl Scene {
    fn new(body: &str) -> Self {
        let (stand, root) = Stand::with_repository();
        let folder = root.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "import {{ createWorkflow }} from \"agentos\";\n\
             export default createWorkflow({{ name: \"work\" }}, async (ctx) => {{\n{body}\n}});\n"
        );
        fs::write(folder.join("work.ts"), text).expect("a template");
        Self { stand, root }
    }

    fn call(&self, arguments: &[&str]) -> Call {
        self.stand.call_program(Path::new(env!("CARGO_BIN_EXE_agentos")), &self.root, arguments)
    }

    fn back(&self) -> PathBuf {
        self.stand.at("back")
    }

    /// A call whose clock can be set back.
    fn call_shimmed(&self, arguments: &[&str]) -> Call {
        let (source, shim) = (self.stand.at("shim.c"), self.stand.at("shim.so"));
        if !shim.exists() {
            fs::write(&source, SHIM).expect("a file");
            let [source, shim] = [&source, &shim].map(|path| path.to_str().expect("text"));
            let words = ["-shared", "-fPIC", "-o", shim, source, "-ldl"];
            self.stand.call_program(Path::new("/usr/bin/cc"), &self.root, &words).done().exits(0);
        }
        self.call(arguments).env("LD_PRELOAD", shim).env("CLOCK_IS_BACK", self.back())
    }

    fn until(&self, file: &str) {
        wait_until(&format!("there is {file}"), || self.root.join(file).exists());
    }
}

const SLEEPING: &str = "await ctx.shell(\"touch begun\"); await ctx.sleep(2000); return \"awake\";";

#[test]
fn a_clock_that_is_set_back_prolongs_no_sleep_of_a_run_that_is_seen_through() {
    let scene = Scene::new(SLEEPING);
    let mut process = scene.call_shimmed(&["run", "work", "--json"]).start();
    scene.until("begun");
    fs::write(scene.back(), "").expect("a file");
    wait_until("it is awake", || process.has_ended().is_some());
    assert_eq!(process.done().exits(0).document()["output"], "awake");
}

#[test]
fn a_clock_that_is_set_back_prolongs_no_sleep_of_a_run_in_the_background() {
    let scene = Scene::new(SLEEPING);
    let run = scene.call_shimmed(&["run", "work", "--detach"]).done().exits(0).out;
    scene.until("begun");
    fs::write(scene.back(), "").expect("a file");
    let show = || scene.call(&["show", "--json", run.trim()]).done().exits(0).document();
    wait_until("it is awake", || show()["status"] == "COMPLETED");
    assert_eq!(show()["output"], "awake");
}

#[test]
fn what_begins_after_the_clock_was_set_back_is_recorded_at_the_time_that_it_shows() {
    let scene = Scene::new(SLEEPING);
    let template = scene.root.join(".agent/workflows/templates/long.ts");
    let long = "import { createWorkflow } from \"agentos\";\n\
                export default createWorkflow({ name: \"long\" }, async (ctx) => { await ctx.sleep(3600000); });\n";
    fs::write(template, long).expect("a template");
    // The executor stays for this one.
    let long = scene.call_shimmed(&["run", "long", "--detach"]).done().exits(0).out;
    let show = |run: &str| scene.call(&["show", "--json", run.trim()]).done().exits(0).document();
    wait_until("it sleeps", || show(&long)["waiting"].is_object());
    fs::write(scene.back(), "").expect("a file");
    let run = scene.call_shimmed(&["run", "work", "--detach"]).done().exits(0).out;
    wait_until("it is awake", || show(&run)["status"] == "COMPLETED");
    let (long_run, run) = (show(&long), show(&run));
    let text = |document: &Value, key: &str| document[key].as_str().expect("a time").to_owned();
    let begun = text(&long_run, "started_at");
    for key in ["created_at", "started_at", "completed_at"] {
        assert!(text(&run, key) < begun, "{key} is a day before {begun}: {run:#}");
    }
    assert!(long_run["completed_at"].is_null(), "it sleeps for an hour: {long_run:#}");
    scene.call(&["cancel", long.trim()]).done().exits(0);
}

#[test]
fn a_run_is_driven_although_the_executor_before_takes_long_to_die() {
    let scene = Scene::new("return 42;");
    let database = scene.root.join(".agentos/issue_workflow.db");
    scene.call(&["run", "work", "--json"]).done().exits(0);
    // A killed process keeps its locks until the kernel has ended it.
    let mut killed =
        scene.stand.call_program(Path::new("/bin/sleep"), &scene.root, &["600"]).start();
    let namespace = fs::read_link("/proc/self/ns/pid").expect("a namespace");
    let path = database.with_file_name("issue_workflow.db.executor");
    let lock = fs::File::create(&path).expect("a file");
    lock.lock().expect("it is free");
    fs::write(&path, format!("{} {}", killed.pid(), namespace.display())).expect("it says whose");
    killed.send(Signal::KILL);
    let run = scene.call(&["run", "work", "--detach"]).done().exits(0).out;
    let show = || scene.call(&["show", "--json", run.trim()]).done().exits(0).document();
    assert_ne!(show()["status"], "COMPLETED", "no executor drives it yet");
    drop(lock);
    wait_until("the next one drives it", || show()["status"] == "COMPLETED");
}

#[test]
fn a_process_that_may_open_too_few_files_says_so_and_begins_nothing() {
    let scene = Scene::new("return await ctx.shell(\"echo 42\");");
    let limited = |files: u32, words: &str| {
        let line = format!("ulimit -n {files}; exec {} {words}", env!("CARGO_BIN_EXE_agentos"));
        scene.stand.call_program(Path::new("/bin/bash"), &scene.root, &["-c", &line]).done()
    };
    for files in [31, 36, 63] {
        let refused = limited(files, "run work --json").exits(1);
        let said = format!("a process may have {files} files open here");
        assert!(refused.err.contains(&said), "{}", refused.err);
        assert!(refused.err.contains("ulimit -n 1024"), "{}", refused.err);
    }
    let listed = limited(40, "status --json").exits(0).document();
    assert_eq!(listed["total"], 0, "{listed:#}");
    limited(64, "run work --json").exits(0);
}
