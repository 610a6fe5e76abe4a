//! `db migrate`: runs come with everything, the source stays as it is, and being killed does no harm.

use std::fs;
use std::path::{Path, PathBuf};

use agentos_testing::repo::snapshot;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::linked::foreign;
use super::{DATABASE, numbers, own_runs};
use crate::server::stage::{Server, template};
use crate::support::{Stand, Tally, name, remove_folder, sqlite, wait_until};

/// A user with an old global database, in which a repository has kept its runs.
struct Legacy {
    stand: Stand,
    root: PathBuf,
    old: PathBuf,
}

impl Legacy {
    fn new() -> Self {
        let (stand, root) = Stand::with_repository();
        let old = stand.home().join(".agentos/issue_workflow.db");
        Self { stand, root, old }
    }

    /// In the old database.
    fn before(&self, arguments: &[&str]) -> crate::support::Call {
        self.stand
            .call(&self.root, arguments)
            .env("AGENTOS_WORKFLOW_DB", "~/.agentos/issue_workflow.db")
    }

    fn migrate(&self, arguments: &[&str]) -> crate::support::Call {
        let words =
            [&["db", "migrate", "--from", "~/.agentos/issue_workflow.db"], arguments].concat();
        self.stand.call(&self.root, &words)
    }

    fn state(&self) -> Vec<(PathBuf, Vec<u8>)> {
        files_in(self.old.parent().expect("a folder"))
    }
}

/// Every file of a folder but locks, with its bytes.
fn files_in(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found: Vec<(PathBuf, Vec<u8>)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| (entry.path(), fs::read(entry.path()).expect("it can be read")))
        .collect();
    found.sort();
    found
}

#[test]
fn work_of_the_old_global_database_goes_on_in_the_repository() {
    let legacy = Legacy::new();
    let (stand, root) = (&legacy.stand, &legacy.root);
    let tally = Tally::new(stand, root, "counted");
    legacy.before(&["run", "greet", "--name", "Ada"]).done().exits(0);
    let process = legacy.before(&["run", "tally", "--input", &tally.input()]).start();
    tally.wait_until_it_waits();
    process.kill();
    wait_until("its last command has ended", || stand.processes().is_empty());
    // In the repository nothing is found of it, and the variable is the way back.
    assert!(own_runs(stand, root).is_empty());
    let before = legacy.state();
    let trial = legacy.migrate(&["--dry-run"]).done().exits(0);
    assert!(trial.out.contains("2 runs would be copied"), "{trial:#?}");
    assert!(!root.join(DATABASE).exists(), "a trial makes nothing");
    assert!(before == legacy.state(), "the source is as it was");
    let told = legacy.migrate(&[]).done().exits(0);
    assert!(told.out.contains("2 runs copied"), "{told:#?}");
    assert!(told.out.contains("the copy is held"), "{told:#?}");
    assert!(before == legacy.state(), "the source is as it was");
    assert_eq!(own_runs(stand, root).len(), 2);
    assert!(stand.executors().is_empty(), "no executor goes on with a copy");
    let again = legacy.migrate(&[]).done().exits(0);
    assert!(
        again.out.contains("0 runs copied") && again.out.contains("2 already there"),
        "{again:#?}"
    );
    let moved = legacy.migrate(&["--move"]).done().exits(0);
    assert!(moved.out.contains("1 moved"), "{moved:#?}");
    tally.go();
    stand.run(root, &["resume", "tally"]).exits(0);
    assert_eq!(stand.only(root, "tally")["status"], "COMPLETED");
    let numbers = tally.counted();
    assert_eq!(numbers.last().map(String::as_str), Some("4"));
    assert!(numbers.len() <= 5, "at most what was under way is done again: {numbers:?}");
    let after = legacy.migrate(&[]).done().exits(0);
    assert!(after.out.contains("went on"), "{after:#?}");
    assert!(before == legacy.state(), "the source is as it was");
    // The old one can still be used by its name.
    legacy.before(&["status"]).done().exits(0);
}

#[test]
fn logs_artifacts_and_files_come_along_from_another_checkout() {
    let (stand, old) = Stand::with_repository();
    let new = stand.repository("new");
    fs::write(old.join("brief.md"), "a brief").unwrap();
    let greet = ["run", "greet", "--json", "--name", "Ada", "--brief", "brief.md"];
    let run = stand.run(&old, &greet).exits(0).document();
    let tree = stand.run(&old, &["run", "keep", "--json"]);
    let from = old.to_string_lossy().into_owned();
    let before = snapshot(&old);
    let report = stand.run(&new, &["db", "migrate", "--from", &from, "--json"]).exits(0).document();
    assert_eq!(report["items"][0]["outcome"], "copied");
    assert!(report["items"][0]["files"]["files"].as_u64() > Some(0), "{report}");
    assert!(before == snapshot(&old), "the source is as it was");
    drop(tree);
    fs::remove_dir_all(&old).unwrap();
    let shown = stand.show(&new, run["id"].as_str().unwrap());
    assert_eq!(shown["work_dir"], *new.to_string_lossy());
    assert_eq!(shown["worktree_id"], "main");
    assert_eq!(shown["output"], run["output"]);
    let logs = stand.run(&new, &["logs", &name(&run)]).exits(0);
    assert!(logs.out.contains("greeting Ada"), "{}", logs.out);
    let context = Path::new(shown["context_dir"].as_str().unwrap());
    assert!(context.starts_with(&new) && fs::read_dir(context).unwrap().next().is_some());
    assert_eq!(stand.git(&new, &["status", "--porcelain"]), "");
}

#[test]
fn chosen_runs_are_copied_and_wrong_sources_are_refused() {
    let legacy = Legacy::new();
    let (stand, root) = (&legacy.stand, &legacy.root);
    for name in ["one", "two", "three"] {
        legacy.before(&["run", "greet", "--name", name]).done().exits(0);
    }
    let all = legacy.before(&["status", "--json"]).done().document();
    let (first, second) = (name(&all["items"][0]), name(&all["items"][1]));
    legacy.migrate(&["--run", &first, "--run", &second]).done().exits(0);
    assert_eq!(own_runs(stand, root).len(), 2);
    legacy.migrate(&["--run", "nobody"]).done().exits(3);
    foreign(&stand.at("langgraph.db"));
    fs::write(stand.at("empty.db"), "").unwrap();
    let before = files_in(&stand.at(""));
    for (from, code, word) in [
        ("langgraph.db", 4, "LangGraph"),
        ("missing.db", 3, "there is no database"),
        ("empty.db", 3, "there is no database"),
        ("repo/.agentos/issue_workflow.db", 2, "the database itself"),
    ] {
        let from = stand.at(from).to_string_lossy().into_owned();
        let refused = stand.run(root, &["db", "migrate", "--from", &from]).exits(code);
        assert!(refused.err.contains(word), "{from}: {refused:#?}");
    }
    assert!(before == files_in(&stand.at("")), "nothing was made");
    let elsewhere = stand.at("elsewhere/mine.db").to_string_lossy().into_owned();
    legacy.migrate(&["--to", &elsewhere]).done().exits(0);
    let there = stand.call(root, &["status", "--json"]).env("AGENTOS_WORKFLOW_DB", &elsewhere);
    assert_eq!(there.done().document()["total"], 3);
}

#[test]
fn a_run_that_differs_is_refused_and_the_others_are_copied() {
    let legacy = Legacy::new();
    let (stand, root) = (&legacy.stand, &legacy.root);
    let start = |call: crate::support::Call| call.start();
    let mut process = start(legacy.before(&["run", "listen"]));
    wait_until("it waits", || waits(&legacy.before(&["status", "--json"]).done().document()));
    let live = legacy.migrate(&["--json"]).done().exits(0).document();
    assert_eq!(live["items"][0]["outcome"], "skipped", "{live}");
    assert!(own_runs(stand, root).is_empty());
    process.send(Signal::INT);
    process.done().exits(130);
    legacy.migrate(&[]).done().exits(0);
    // Both go on, each on its own, as they could after an earlier version had copied them.
    fs::remove_dir_all(notes_of(&root.join(DATABASE))).expect("the copy was held");
    stand.run(root, &["cancel", "listen"]).exits(0);
    legacy.before(&["signal", "listen", "go"]).done().exits(0);
    wait_until("it ends", || {
        let all = legacy.before(&["status", "--json", "--all"]).done().document();
        all["items"][0]["status"] == "COMPLETED"
    });
    legacy.before(&["run", "greet", "--name", "Ada"]).done().exits(0);
    wait_until("nobody is at work there", || stand.executors().is_empty());
    let refused = legacy.migrate(&[]).done().exits(4);
    assert!(refused.out.contains("another history"), "{refused:#?}");
    assert!(refused.out.contains("1 run copied"), "{refused:#?}");
    assert_eq!(own_runs(stand, root).len(), 2);
}

fn waits(listing: &Value) -> bool {
    listing["items"]
        .as_array()
        .is_some_and(|items| items.iter().any(|run| run["waiting"]["kind"] == "signal"))
}

#[test]
fn a_damaged_run_is_told_and_the_others_are_copied() {
    let legacy = Legacy::new();
    let (stand, root) = (&legacy.stand, &legacy.root);
    for name in ["one", "two"] {
        legacy.before(&["run", "greet", "--name", name]).done().exits(0);
    }
    sqlite(&legacy.old, include_str!("sql/damaged_log.sql"));
    let before = legacy.state();
    let told = legacy.migrate(&[]).done().exits(1);
    assert!(told.out.contains("is damaged") && told.out.contains("1 run copied"), "{told:#?}");
    assert_eq!(own_runs(stand, root).len(), 1);
    // Half of the file is missing: nothing is guessed.
    let bytes = fs::read(&legacy.old).unwrap();
    fs::write(&legacy.old, &bytes[..bytes.len() / 2]).unwrap();
    let cut = legacy.migrate(&[]).done().exits(4);
    assert!(cut.err.contains("cut off"), "{cut:#?}");
    assert_eq!(own_runs(stand, root).len(), 1);
    fs::write(&legacy.old, bytes).unwrap();
    assert!(before == legacy.state());
}

#[test]
fn a_run_whose_row_can_not_be_read_is_named_and_the_others_are_copied() {
    let legacy = Legacy::new();
    let (stand, root) = (&legacy.stand, &legacy.root);
    let greet = |whom: &str| {
        legacy.before(&["run", "greet", "--json", "--name", whom]).done().exits(0).document()
    };
    let (good, damaged) = (greet("one"), greet("two"));
    sqlite(&legacy.old, include_str!("sql/damaged_row.sql"));
    let before = legacy.state();
    let told = legacy.migrate(&[]).done().exits(1);
    assert!(told.out.contains(&format!("{}: failed", name(&damaged))), "{told:#?}");
    assert!(told.out.contains("1 run copied") && told.out.contains("1 failed"), "{told:#?}");
    let copied = own_runs(stand, root);
    assert_eq!(copied.iter().map(name).collect::<Vec<_>>(), [name(&good)]);
    let again = legacy.migrate(&["--json"]).done().exits(1).document();
    assert_eq!(again["unreadable"][0]["run_id"], name(&damaged).as_str(), "{again:#}");
    assert!(before == legacy.state());
}

#[test]
fn whoever_is_killed_while_copying_can_copy_again() {
    let (stand, old) = Stand::with_repository();
    let new = stand.repository("new");
    for number in 0..6 {
        stand.run(&old, &["run", "greet", "--name", &number.to_string()]).exits(0);
    }
    let from = old.to_string_lossy().into_owned();
    let before = snapshot(&old);
    let words = ["db", "migrate", "--from", &from];
    let mut hits = 0;
    for round in 0..numbers(8, 200) {
        if own_runs(&stand, &new).len() == 6 {
            // Back to the beginning.
            for folder in [".agentos", ".agent"] {
                remove_folder(&new.join(folder));
            }
        }
        let process = stand.call(&new, &words).start();
        hits += usize::from(process.kill_after_changes(&new, 1 + round * 7 % 30));
        for run in own_runs(&stand, &new) {
            let shown = stand.show(&new, run["id"].as_str().expect("an id"));
            assert_eq!(shown["status"], "COMPLETED", "what is there is whole");
            let logs = stand.run(&new, &["logs", &name(&run)]).exits(0);
            assert!(logs.out.contains("greeting"), "and has its files");
        }
    }
    assert!(hits > 0, "it was never killed at work");
    stand.run(&new, &words).exits(0);
    assert_eq!(own_runs(&stand, &new).len(), 6);
    assert!(before == snapshot(&old), "the source is as it was");
}

/// Asks, and waits for a signal beside.
const ASKING: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "asking", workspace: "none" }, async (ctx) => {
  const heard = ctx.waitFor("go");
  const { approved } = await ctx.approve("Go on?");
  return [approved, await heard];
});"#;

/// What would go on with a run, and has to be refused where it does not go on.
fn refused(stand: &Stand, root: &Path, variable: Option<&Path>, both: [&Path; 2]) {
    let real = |path: &Path| path.canonicalize().expect("it is there").display().to_string();
    for words in [
        &["resume", "asking"][..],
        &["resume", "--detach", "asking"],
        &["approve", "asking"],
        &["signal", "asking", "go"],
        &["cancel", "asking"],
    ] {
        let mut call = stand.call(root, words);
        if let Some(database) = variable {
            call = call.env("AGENTOS_WORKFLOW_DB", database);
        }
        let done = call.done().exits(4);
        assert!(both.iter().all(|path| done.err.contains(&real(path))), "{words:?}: {done:#?}");
    }
}

#[test]
fn an_unfinished_run_goes_on_from_one_database_only() {
    let legacy = Legacy::new();
    let (stand, root, old) = (&legacy.stand, &legacy.root, &legacy.old);
    template(root, "asking", ASKING);
    let status = |folder: &Path, variable: bool| {
        let call = stand.call(folder, &["show", "asking", "--json"]);
        let call = if variable { call.env("AGENTOS_WORKFLOW_DB", old) } else { call };
        call.done().exits(0).document()
    };
    legacy.before(&["run", "asking", "--detach"]).done().exits(0);
    wait_until("it asks", || status(root, true)["waiting"]["kind"] == "approval");
    stand.kill_executors();
    wait_until("no process is at work", || stand.processes().is_empty());
    let new = root.join(DATABASE);
    // Copied: it goes on from where it was.
    let told = legacy.migrate(&[]).done().exits(0);
    assert!(told.out.contains("the copy is held") && told.out.contains("--move"), "{told:#?}");
    refused(stand, root, None, [old, &new]);
    stand.run(root, &["resume", "--due"]).exits(0);
    assert_eq!(status(root, false)["status"], "RUNNING");
    let length = status(root, false)["seq"].clone();
    legacy.before(&["signal", "asking", "go", "1"]).done().exits(0);
    wait_until("it has heard", || status(root, true)["seq"] != length);
    stand.kill_executors();
    wait_until("no process is at work", || stand.processes().is_empty());
    assert_eq!(status(root, false)["seq"], length, "the copy is as it was");
    // A server, which drives all that is due, leaves it alone and says the same.
    let server = Server::start(stand, root);
    let path = format!("/api/executions/{}", name(&status(root, false)));
    for (verb, body) in [
        ("resume", json!({})),
        ("approve", json!({ "approved": true })),
        ("signal", json!({ "event": "go" })),
        ("cancel", json!({})),
    ] {
        server.post(&format!("{path}/{verb}"), &body).refuses("run-is-elsewhere");
    }
    server.stop();
    assert_eq!(status(root, false)["seq"], length, "the copy is as it was");
    // A copy is not where it is copied from.
    let back = ["db", "migrate", "--from", DATABASE, "--to", "~/.agentos/issue_workflow.db"];
    let back = stand.call(root, &back).done().exits(0);
    assert!(back.out.contains("it is only a copy"), "{back:#?}");
    // Moved: it goes on from here, and is refused there.
    let trial = legacy.migrate(&["--move", "--dry-run"]).done().exits(0);
    assert!(trial.out.contains("would move"), "{trial:#?}");
    refused(stand, root, None, [old, &new]);
    let told = legacy.migrate(&["--move"]).done().exits(0);
    assert!(told.out.contains("1 moved"), "{told:#?}");
    refused(stand, root, Some(old), [old, &new]);
    let again = legacy.migrate(&["--move"]).done().exits(0);
    assert!(again.out.contains("1 already there"), "{again:#?}");
    let elsewhere = stand.at("third.db");
    let words = ["db", "migrate", "--from", "~/.agentos/issue_workflow.db", "--to"];
    let third = [&words[..], &[elsewhere.to_str().expect("text")]].concat();
    let third = stand.call(root, &third).done().exits(0);
    assert!(third.out.contains("it was moved to"), "{third:#?}");
    stand.run(root, &["approve", "asking"]).exits(0);
    wait_until("it is done", || status(root, false)["status"] == "COMPLETED");
    assert_eq!(status(root, false)["output"], json!([true, 1]));
    assert_eq!(status(root, true)["status"], "RUNNING", "there it stays as it was");
    wait_until("no process is at work", || stand.processes().is_empty());
}

/// Where a database keeps which of its runs go on in another one.
fn notes_of(database: &Path) -> PathBuf {
    let mut folder = database.as_os_str().to_owned();
    folder.push(".elsewhere");
    folder.into()
}

#[test]
fn a_process_that_is_killed_while_moving_leaves_a_run_that_goes_on_from_one_place_at_most() {
    let legacy = Legacy::new();
    let (stand, root, old) = (&legacy.stand, &legacy.root, &legacy.old);
    let process = legacy.before(&["run", "listen", "--detach", "--json"]).done().exits(0);
    let run = process.document()["id"].as_str().expect("an id").to_owned();
    wait_until("it waits", || waits(&legacy.before(&["status", "--json"]).done().document()));
    stand.kill_executors();
    wait_until("no process is at work", || stand.processes().is_empty());
    let new = root.join(DATABASE);
    let goes_on = |database: &Path| {
        let is_known =
            stand.call(root, &["show", &run]).env("AGENTOS_WORKFLOW_DB", database).done().code
                == Some(0);
        is_known && !notes_of(database).join(&run).exists()
    };
    let is_moved = || notes_of(old).join(&run).exists() && goes_on(&new);
    let mut hits = 0;
    for round in 0..numbers(12, 400) {
        if is_moved() {
            // Back to the beginning.
            fs::remove_dir_all(notes_of(old)).expect("it was moved");
            remove_folder(&root.join(".agentos"));
        }
        let process = legacy.migrate(&["--move"]).start();
        hits += usize::from(process.kill_after_changes(root, 1 + round * 7 % 30));
        let places = [old.as_path(), &new].into_iter().filter(|path| goes_on(path)).count();
        assert!(places <= 1, "round {round}: {places} places");
    }
    assert!(hits > 0, "it was never killed at work");
    legacy.migrate(&["--move"]).done().exits(0);
    assert!(is_moved(), "it is moved in the end");
    stand.run(root, &["signal", "listen", "go", "1"]).exits(0);
    stand.until_status(root, &run, "COMPLETED");
    wait_until("no process is at work", || stand.processes().is_empty());
}
