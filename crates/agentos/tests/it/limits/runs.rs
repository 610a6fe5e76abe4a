//! Runs of a workflow, of a repository, of a user.

use std::fs;
use std::io::{BufRead as _, BufReader};

use super::site::{HOLD, Site};
use crate::support::{lines, wait_until};

#[test]
fn no_more_are_at_work_than_a_workflow_says_whoever_drives_them() {
    let site = Site::new();
    site.hold("concurrency: 2");
    let processes = [(); 3].map(|()| site.call(&["run", "hold", "--json"]).start());
    let detached = [(); 3].map(|()| site.detached("hold"));
    site.until_begun(2);
    wait_until("the others wait", || site.waiting() == 4);
    let waits = site.runs().into_iter().find(|run| run["waiting"].is_object());
    let waits = waits.expect("one that waits");
    assert_eq!(waits["status"], "RUNNING");
    let why = waits["waiting"]["why"].as_str().expect("a reason").to_owned();
    assert!(why.starts_with("2 of 2 runs of `hold` in this repository at work: hold-"), "{why}");
    assert!(waits["waiting"]["since"].is_string(), "{waits:#}");
    let shown = site.run(&["show", waits["run_id"].as_str().expect("a name")]).exits(0).out;
    assert!(shown.contains("2 of 2 runs of `hold` in this repository at work"), "{shown}");
    let listed = site.run(&["status"]).exits(0).out;
    assert!(listed.contains("waits for a slot since"), "{listed}");
    assert_eq!(site.begun(), 2);
    site.go();
    for process in processes {
        process.done().exits(0);
    }
    detached.iter().for_each(|run| site.until_status(run, "COMPLETED"));
    assert_eq!(site.begun(), 6);
    assert!(site.most_at_once() <= 2);
}

#[test]
fn a_run_that_waits_says_so_to_whoever_watches_it() {
    let site = Site::new();
    site.hold("");
    site.template("brief", "", r#"await ctx.run("work", () => ctx.shell("true"));"#);
    site.configure("[limits]\nruns_per_repo = 1\n");
    let (holder, holds) = site.foreground("hold");
    site.until_begun(1);
    let mut waiting = site.call(&["run", "brief"]).start();
    let said = waiting.child().stdout.take().expect("it can be read");
    let mut said = BufReader::new(said).lines().map(|line| line.expect("text"));
    let line = said.find(|line| line.contains("waits")).expect("it says so");
    let why = format!("waits for a slot: 1 of 1 runs in this repository at work: {holds}");
    assert!(line.ends_with(&why), "{line}");
    site.go();
    assert!(said.any(|line| line.contains("completed in")));
    waiting.done().exits(0);
    holder.done().exits(0);
}

#[test]
fn the_slot_of_whoever_is_killed_is_free_at_once_and_whoever_is_resumed_waits_again() {
    let site = Site::new();
    site.hold("");
    site.template("quick", "", r#"await ctx.shell("true"); return "done";"#);
    site.configure_user("[limits]\nruns = 1\n");
    let (holder, killed) = site.foreground("hold");
    site.until_begun(1);
    let (waiter, again) = site.foreground("quick");
    let second = site.detached("hold");
    site.until_it_waits(&again, "slot");
    site.until_it_waits(&second, "slot");
    // Somebody who only waited is killed. He is resumed, and comes after whoever stayed.
    waiter.kill();
    let resumed = site.call(&["resume", "--json", &again]).start();
    let why = format!("1 of 1 runs in all repositories at work: {killed}; 1 before it");
    wait_until("it waits again", || site.show(&again)["waiting"]["why"] == why);
    holder.kill();
    site.until_begun(2);
    assert_eq!(site.show(&again)["waiting"]["kind"], "slot", "the other was first");
    site.go();
    site.until_status(&second, "COMPLETED");
    assert_eq!(resumed.done().exits(0).document()["output"], "done");
    // Its command lives on, and somebody who lives sees it to its end.
    site.until_status(&killed, "COMPLETED");
}

#[test]
fn a_run_that_waits_for_a_slot_is_cancelled_at_once_and_clears_up_without_one() {
    let site = Site::new();
    let clean = r#"await ctx.shell("echo clean >> clean.log");"#;
    let body = format!("try {{ await {HOLD}; }} finally {{ {clean} }}");
    site.template("hold", "concurrency: 1", &body);
    let (holder, _) = site.foreground("hold");
    site.until_begun(1);
    let background = site.detached("hold");
    let (waiter, here) = site.foreground("hold");
    for run in [&background, &here] {
        site.until_it_waits(run, "slot");
        site.run(&["cancel", run]).exits(0);
        assert_eq!(site.show(run)["status"], "CANCELLED");
    }
    waiter.done().exits(1);
    assert_eq!(lines(&site.root.join("clean.log")).len(), 2);
    site.go();
    holder.done().exits(0);
    assert_eq!(site.begun(), 1);
}

#[test]
fn a_run_that_waits_for_a_person_has_no_slot() {
    let site = Site::new();
    let body = r#"await ctx.shell("true"); await ctx.approve("Go on?"); await ctx.shell("true");"#;
    site.template("ask", "concurrency: 1", body);
    let runs = [(); 2].map(|()| site.detached("ask"));
    for run in &runs {
        site.until_it_waits(run, "approval");
    }
    for run in &runs {
        site.run(&["approve", run]).exits(0);
        site.until_status(run, "COMPLETED");
    }
}

#[test]
fn a_limit_that_changes_holds_for_runs_that_wait_and_for_new_ones() {
    let site = Site::new();
    site.hold("concurrency: 1");
    let (first, _) = site.foreground("hold");
    site.until_begun(1);
    let (second, waits) = site.foreground("hold");
    site.until_it_waits(&waits, "slot");
    // More than the workflow says itself.
    site.configure("[limits.workflows]\nhold = 2\n");
    site.until_begun(2);
    let (third, waits) = site.foreground("hold");
    site.until_it_waits(&waits, "slot");
    // Fewer than there are.
    site.configure("[limits]\nruns_per_repo = 1\nworkflows.hold = \"none\"\n");
    let (fourth, new) = site.foreground("hold");
    for run in [&waits, &new] {
        wait_until("it waits under the new limit", || {
            let why = site.show(run)["waiting"]["why"].clone();
            why.as_str()
                .is_some_and(|why| why.starts_with("2 of 1 runs in this repository at work"))
        });
    }
    assert_eq!(site.begun(), 2);
    site.go();
    for process in [first, second, third, fourth] {
        process.done().exits(0);
    }
    assert_eq!(site.begun(), 4);
}

#[test]
fn checkouts_of_one_repository_share_its_slots_and_others_do_not() {
    let site = Site::new();
    site.hold("concurrency: 1");
    site.stand.git(&site.root, &["add", "."]);
    site.stand.git(&site.root, &["commit", "--quiet", "-m", "workflows"]);
    let beside = site.stand.at("beside");
    let path = beside.to_string_lossy().into_owned();
    site.stand.git(&site.root, &["worktree", "add", "--quiet", &path]);
    let (holder, holds) = site.foreground("hold");
    site.until_begun(1);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_agentos"));
    let call = |folder, arguments: &[&str]| site.stand.call_program(program, folder, arguments);
    let waiting = call(&beside, &["run", "hold", "--json"]).start();
    wait_until("it waits for one of the other checkout", || {
        let listed = call(&beside, &["status", "--json"]).done().exits(0).document();
        let items = listed["items"].as_array().expect("a list").clone();
        items
            .iter()
            .any(|run| run["waiting"]["why"].as_str().is_some_and(|why| why.ends_with(&holds)))
    });
    let other = site.stand.repository("other");
    let folder = other.join(".agent/workflows/templates");
    fs::create_dir_all(&folder).expect("a folder");
    let template = ".agent/workflows/templates/hold.ts";
    let text = fs::read_to_string(site.root.join(template)).expect("a template");
    let text = text.replace("while [ ! -e go ]; do sleep 0.02; done; ", "");
    fs::write(other.join(template), text).expect("a template");
    call(&other, &["run", "hold"]).done().exits(0);
    site.go();
    fs::write(beside.join("go"), "").expect("a file");
    holder.done().exits(0);
    waiting.done().exits(0);
}

#[test]
fn who_limits_nothing_leaves_no_trace_of_limits() {
    let site = Site::new();
    site.template("work", "", r#"await ctx.shell("true");"#);
    site.run(&["run", "work"]).exits(0);
    let state = site.stand.home().join(".local/state/agentos");
    assert!(state.exists(), "it is looked for in the right place");
    assert!(!state.join("slots").exists());
    site.configure("[limits]\nruns_per_repo = 1\n");
    site.run(&["run", "work"]).exits(0);
    assert_eq!(fs::read_dir(state.join("slots/tickets")).expect("a folder").count(), 0);
}

#[test]
fn a_workflow_that_limits_itself_to_nothing_is_reported_by_name() {
    let site = Site::new();
    for (wrong, word) in [("0", "concurrency"), ("-1", "concurrency"), ("\"many\"", "concurrency")]
    {
        site.hold(&format!("concurrency: {wrong}"));
        let refused = site.run(&["run", "hold"]).exits(2);
        assert!(refused.err.contains(word) && refused.err.contains("hold.ts"), "{}", refused.err);
        assert!(refused.err.contains("a whole number from 1 to 10000"), "{}", refused.err);
    }
    site.hold("concurrency: { limit: 1, scope: \"world\" }");
    let refused = site.run(&["run", "hold"]).exits(2);
    assert!(refused.err.contains("`repo` or `user`"), "{}", refused.err);
}
