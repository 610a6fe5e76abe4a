//! `db migrate` and runs that belong together: a run is moved or copied with its parent and its child runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;

use super::{DATABASE, numbers, own_runs};
use crate::server::stage::template;
use crate::support::{Done, Stand, lines, name, remove_folder, wait_until};

/// Two generations below the first: the last one counts what it does in the checkout.
const COUPLE: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "couple", workspace: "none" }, async (ctx) => await ctx.invoke("middle", {}));"#;

const MIDDLE: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "middle", workspace: "none" }, async (ctx) => {
  await ctx.invoke("quick", {});
  return await ctx.invoke("worker", {});
});"#;

const QUICK: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "quick", workspace: "none" }, async (ctx) => {
  await ctx.shell("echo quick >> counted", { name: "count" });
});"#;

const WORKER: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "worker", workspace: "none" }, async (ctx) => {
  await ctx.run("begin", async (ctx) => ctx.shell("echo begun >> counted", { name: "begin" }));
  const heard = await ctx.waitFor("go");
  await ctx.run("end", async (ctx) => ctx.shell("echo ended >> counted", { name: "end" }));
  return heard;
});"#;

/// Its command is at work until the test lets it end.
const BUSY: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "worker", workspace: "none" }, async (ctx) => {
  await ctx.shell("echo begun >> counted; until [ -e go ]; do sleep 0.05; done", { name: "look" });
});"#;

/// A repository, and a database outside of it that has one family of runs.
struct Kin {
    stand: Stand,
    root: PathBuf,
    old: PathBuf,
    new: PathBuf,
}

impl Kin {
    fn new(worker: &str) -> Self {
        let (stand, root) = Stand::with_repository();
        for (name, text) in
            [("couple", COUPLE), ("middle", MIDDLE), ("quick", QUICK), ("worker", worker)]
        {
            template(&root, name, text);
        }
        let old = stand.at("old.db");
        let new = root.join(DATABASE);
        let kin = Self { stand, root, old, new };
        kin.before(&["run", "couple", "--detach"]).exits(0);
        kin
    }

    fn waiting() -> Self {
        let kin = Self::new(WORKER);
        wait_until("its last child waits", || {
            kin.runs(&kin.old).iter().any(|run| run["waiting"]["kind"] == "signal")
        });
        kin.stand.kill_executors();
        wait_until("every process has ended", || kin.stand.processes().is_empty());
        kin
    }

    fn at(&self, database: &Path, arguments: &[&str]) -> Done {
        self.stand.call(&self.root, arguments).env("AGENTOS_WORKFLOW_DB", database).done()
    }

    fn before(&self, arguments: &[&str]) -> Done {
        self.at(&self.old, arguments)
    }

    fn run(&self, arguments: &[&str]) -> Done {
        self.stand.run(&self.root, arguments)
    }

    fn migrate(&self, arguments: &[&str]) -> crate::support::Call {
        let old = self.old.to_string_lossy().into_owned();
        let words = [&["db", "migrate", "--from", &old], arguments].concat();
        self.stand.call(&self.root, &words)
    }

    fn runs(&self, database: &Path) -> Vec<Value> {
        let listing = self.at(database, &["status", "--json", "--limit", "1000"]).exits(0);
        listing.document()["items"].as_array().expect("a list").clone()
    }

    fn only(&self, database: &Path, workflow: &str) -> Value {
        let found = self.runs(database).into_iter().find(|run| run["workflow"] == workflow);
        found.unwrap_or_else(|| panic!("there is no run of {workflow} in {}", database.display()))
    }

    fn counted(&self) -> Vec<String> {
        lines(&self.root.join("counted"))
    }
}

#[test]
fn a_run_is_moved_with_all_that_belong_to_it_and_nothing_is_done_twice() {
    for asked in ["couple", "middle", "worker"] {
        let kin = Kin::waiting();
        let run = name(&kin.only(&kin.old, asked));
        let trial = kin.migrate(&["--move", "--dry-run", "--run", &run]).done().exits(0);
        let moved = kin.migrate(&["--move", "--run", &run]).done().exits(0);
        let process = kin.stand.call(&kin.root, &["resume", "couple"]).start();
        wait_until("all of them wait", || {
            let runs = kin.runs(&kin.new);
            let waits = |run: &Value| run["waiting"].is_object() || run["status"] == "COMPLETED";
            runs.len() == 4 && runs.iter().all(waits)
        });
        assert_eq!(kin.counted(), ["quick", "begun"], "{asked}: {moved:#?}");
        for (said, verb) in [(&trial, "would move"), (&moved, "moved")] {
            let along = said.out.matches(&format!(": {verb} along with {run}")).count();
            assert_eq!(along, 2, "{asked}: {said:#?}");
        }
        assert!(moved.out.contains(&format!("copied along with {run}")), "{moved:#?}");
        for relative in ["couple", "middle", "worker"] {
            let refused = kin.before(&["resume", relative]).exits(4);
            assert!(refused.err.contains("was moved from"), "{asked}: {refused:#?}");
        }
        kin.run(&["signal", "worker", "go", "7"]).exits(0);
        assert!(process.done().exits(0).out.ends_with("7\n"));
        assert_eq!(kin.counted(), ["quick", "begun", "ended"], "{asked}");
        wait_until("every process has ended", || kin.stand.processes().is_empty());
    }
}

#[test]
fn a_copy_of_a_run_is_held_with_all_that_belong_to_it() {
    let kin = Kin::waiting();
    let run = name(&kin.only(&kin.old, "couple"));
    let copied = kin.migrate(&["--run", &run, "--json"]).done().exits(0).document();
    let items = copied["items"].as_array().expect("a list");
    assert_eq!(items.len(), 4, "{copied:#}");
    assert_eq!(items[0]["along_with"], Value::Null);
    assert!(items[1..].iter().all(|item| item["along_with"] == run.as_str()), "{copied:#}");
    for relative in ["couple", "middle", "worker"] {
        // Of both databases together, `resume` takes the one from which the run goes on.
        let refused = kin.at(&kin.new, &["resume", relative]).exits(4);
        assert!(refused.err.contains("is a copy of an unfinished run"), "{refused:#?}");
    }
    kin.run(&["resume", "--due"]).exits(0);
    assert!(kin.stand.executors().is_empty(), "no process goes on with a copy");
    // In the source it goes on.
    kin.before(&["signal", "worker", "go", "7"]).exits(0);
    wait_until("it is over", || kin.only(&kin.old, "couple")["status"] == "COMPLETED");
    assert_eq!(kin.counted(), ["quick", "begun", "ended"]);
    assert_eq!(kin.only(&kin.new, "couple")["status"], "RUNNING");
    wait_until("every process has ended", || kin.stand.processes().is_empty());
}

#[test]
fn a_family_of_which_one_can_not_be_moved_stays_where_it_is() {
    let kin = Kin::new(BUSY);
    wait_until("its last child is at work", || kin.counted().len() == 2);
    kin.stand.kill_executors();
    let run = name(&kin.only(&kin.old, "couple"));
    let worker = name(&kin.only(&kin.old, "worker"));
    let left = kin.migrate(&["--move", "--run", &run]).done().exits(0);
    let why = format!("{run}: skipped (it is moved together with {worker} only: a command");
    assert!(left.out.contains(&why), "{left:#?}");
    assert!(
        left.out.contains(&format!("{worker}: skipped along with {run} (a command")),
        "{left:#?}"
    );
    assert!(own_runs(&kin.stand, &kin.root).is_empty(), "nothing was copied");
    fs::write(kin.root.join("go"), "").expect("a file");
    wait_until("every process has ended", || kin.stand.processes().is_empty());
    kin.migrate(&["--move", "--run", &run]).done().exits(0);
    kin.run(&["resume", "--due"]).exits(0);
    kin.stand.until_status(&kin.root, "couple", "COMPLETED");
    assert_eq!(kin.counted(), ["quick", "begun"]);
    wait_until("every process has ended", || kin.stand.processes().is_empty());
}

#[test]
fn a_move_that_is_killed_leaves_a_family_in_one_place() {
    let kin = Kin::waiting();
    let open: Vec<String> = ["couple", "middle", "worker"]
        .map(|workflow| kin.only(&kin.old, workflow)["id"].as_str().expect("an id").to_owned())
        .to_vec();
    let notes_of = |database: &Path| {
        let mut folder = database.as_os_str().to_owned();
        folder.push(".elsewhere");
        PathBuf::from(folder)
    };
    let goes_on = |database: &Path, run: &str| {
        kin.at(database, &["show", run]).code == Some(0) && !notes_of(database).join(run).exists()
    };
    let places = |run: &str| -> Vec<&Path> {
        [kin.old.as_path(), &kin.new].into_iter().filter(|path| goes_on(path, run)).collect()
    };
    for round in 0..numbers(8, 200) {
        if open.iter().all(|run| places(run) == [kin.new.as_path()]) {
            // Back to the beginning.
            fs::remove_dir_all(notes_of(&kin.old)).expect("it was moved");
            remove_folder(&kin.root.join(".agentos"));
        }
        let mut process = kin.migrate(&["--move", "--run", &open[round % 3]]).start();
        let pause = rustix::thread::Timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(round % 40).unwrap_or(0) * 8_000_000,
        };
        let _slept = rustix::thread::nanosleep(&pause);
        process.send(Signal::KILL);
        process.done();
        let of_each: Vec<Vec<&Path>> = open.iter().map(|run| places(run)).collect();
        assert!(of_each.iter().all(|places| places.len() <= 1), "round {round}: {of_each:?}");
        let of_all: BTreeSet<&Path> = of_each.concat().into_iter().collect();
        assert!(of_all.len() <= 1, "round {round}: {of_each:?}");
    }
    kin.migrate(&["--move", "--run", &open[0]]).done().exits(0);
    assert!(open.iter().all(|run| places(run) == [kin.new.as_path()]));
    kin.run(&["signal", "worker", "go", "7"]).exits(0);
    kin.stand.until_status(&kin.root, "couple", "COMPLETED");
    assert_eq!(kin.counted(), ["quick", "begun", "ended"]);
    wait_until("every process has ended", || kin.stand.processes().is_empty());
}
