//! SIGKILL between push and request, and between request and answer: there is one pull request.

use agentos_testing::forge::{Fault, Strike};
use serde_json::Value;

use super::{OPEN, Site, WORK};
use crate::support::wait_until;

impl Site {
    /// Begins a run and kills it once this is so.
    fn kill_once(&self, what: &str, is_so: impl FnMut() -> bool) {
        let process = self.call(&["run", "ship", "--json"]).start();
        wait_until(what, is_so);
        process.kill();
    }

    fn resume(&self) -> Value {
        self.call(&["resume", "ship", "--json"]).done().exits(0).document()
    }

    fn has_one(&self, run: &Value) {
        assert_eq!(self.forge.pulls().len(), 1);
        assert_eq!(run["output"]["created"], true, "it is its own");
        assert_eq!(run["output"]["number"], 1);
        assert_eq!(run["pr_url"], run["output"]["prUrl"]);
        assert_eq!(
            self.there("agentos/basket").map(Value::String),
            Some(run["commit_sha"].clone())
        );
    }
}

#[test]
fn killed_between_the_push_and_the_request() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    site.forge.strike(Strike { method: "GET", path: "/pulls", fault: Fault::Silence, times: 1 });
    site.kill_once("the forge was asked", || !site.forge.received().is_empty());
    assert_eq!((site.posts(), site.there("agentos/basket").is_some()), (0, true));
    let run = site.resume();
    site.has_one(&run);
    assert_eq!(run["output"]["pushed"]["outcome"], "unchanged", "it was there already");
}

#[test]
fn killed_between_the_request_and_the_answer() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    site.forge.strike(Strike {
        method: "POST",
        path: "/pulls",
        fault: Fault::HeldAnswer,
        times: 1,
    });
    site.kill_once("it is open", || site.forge.pulls().len() == 1);
    let run = site.resume();
    site.has_one(&run);
    assert_eq!(site.posts(), 1);
}

#[test]
fn killed_while_its_remote_takes_the_branch() {
    let site = Site::new();
    let (begun, go) = (site.stand.at("begun.mark"), site.stand.at("go.mark"));
    site.remote_hook(
        "pre-receive",
        &format!("touch {}; while [ ! -e {} ]; do sleep 0.02; done", begun.display(), go.display()),
    );
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    site.kill_once("it has begun", || begun.exists());
    std::fs::write(&go, "").expect("a file");
    let run = site.resume();
    site.has_one(&run);
}

#[test]
fn killed_in_the_middle_of_a_rebase() {
    let site = Site::new();
    let (begun, go) = (site.stand.at("begun.mark"), site.stand.at("go.mark"));
    let rebase = OPEN.replace("body:", "onBehind: \"rebase\", body:");
    site.workflow("ship", &format!("{WORK}  await ctx.files.write(\"two\", \"2\\n\");\n  await ctx.git.commit(\"two\", {{ all: true }});\n{rebase}"));
    let theirs = site.somebody_else("main", "a", "1\n");
    // The first of the two commits is made again, then it waits.
    super::program(
        &site.root.join(".git/hooks/post-commit"),
        &format!(
            "[ -d .git/rebase-merge ] || exit 0\ntouch {}\nwhile [ ! -e {} ]; do sleep 0.02; done",
            begun.display(),
            go.display()
        ),
    );
    site.kill_once("it has begun", || begun.exists());
    assert!(site.root.join(".git/rebase-merge").is_dir(), "it is in the middle of it");
    std::fs::remove_file(site.root.join(".git/hooks/post-commit")).expect("a hook");
    let run = site.resume();
    site.has_one(&run);
    assert_eq!(run["output"]["rebased"], true);
    assert_eq!(site.git(&["rev-parse", "agentos/basket~2"]), theirs);
    assert_eq!(site.git(&["status", "--porcelain"]), "");
}
