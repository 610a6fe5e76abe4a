//! A run of `simple-sdlc` is killed at every step, and comes to the same end.

use std::fs;

use agentos_testing::forge::{Fault, Strike};
use serde_json::Value;

use super::simple::STEPS;
use super::site::{Site, scenario, steps};
use crate::support::{Process, wait_until};

/// The tests of this test: quick, and they fail until the scenario has fixed its mistake.
const QUICK: &str = "grep -q Math.round src/total.js";

/// The steps that do not end before the test lets them: an agent that may execute commands works in one, and the tests are the
/// other. An agent that plans may only look.
const GATED: [&str; 2] = ["implement", "run-tests"];

/// A command that waits until the step may go on, or the test is gone.
fn gate(site: &Site, step: &str) -> String {
    let folder = site.stand.folder("gates");
    let folder = folder.display();
    format!("while [ -d {folder} ] && [ ! -e {folder}/{step} ]; do sleep 0.02; done")
}

fn open_gate(site: &Site, step: &str) {
    fs::write(site.stand.folder("gates").join(step), "").expect("a file");
}

fn begin(site: &Site) -> Process {
    let implement = "name = \"implement\"\nplay = [\n";
    assert!(scenario().contains(implement), "{}", scenario());
    let gated = format!("{implement}{{ run = \"{}\" }},\n", gate(site, "implement"));
    let tests = format!("{}; {QUICK}", gate(site, "run-tests"));
    let named = ["simple-sdlc", "--feature-name", "Discounts", "--spec-path"];
    let named = [&named[..], &["specs/discounts.md", "--test-command", &tests]].concat();
    site.play(&scenario().replace(implement, &gated), &named).start()
}

/// Kills the process when the step has begun. The run can't have ended by then: a later gate is closed, or the forge does not
/// answer the request that opens the pull request.
fn kill_at(site: &Site, step: &str) {
    for before in STEPS.iter().take_while(|before| **before != step) {
        open_gate(site, before);
    }
    if step == "create-pr" {
        let strike = Strike { method: "POST", path: "/pulls", fault: Fault::Silence, times: 1 };
        site.forge.strike(strike);
    }
    let process = begin(site);
    wait_until(&format!("{step} is under way"), || match step {
        "create-pr" => site.forge.received().iter().any(|one| one.method == "POST"),
        _ => has_begun(site, step),
    });
    process.kill();
    for step in GATED {
        open_gate(site, step);
    }
}

fn has_begun(site: &Site, step: &str) -> bool {
    let shown = site.call(&["show", "--json", "simple-sdlc"]).done();
    let run = if shown.code == Some(0) { shown.document() } else { Value::Null };
    run["steps"].as_array().is_some_and(|steps| steps.iter().any(|known| known["name"] == step))
}

/// One branch, one set of commits, one pull request, and what the agents did is done once.
fn check(site: &Site, run: &Value, step: &str) {
    assert_eq!(steps(run), STEPS, "killed at {step}");
    let branch = run["branch_name"].as_str().expect("a branch");
    let branches = site.git(&["for-each-ref", "--format=%(refname)", "refs/heads/agentos"]);
    assert_eq!(branches, format!("refs/heads/{branch}"), "killed at {step}");
    let subjects = ["Plan: Discounts", "Discounts", "Make the tests pass: Discounts"];
    assert_eq!(site.subjects(&format!("main..{branch}")), subjects, "killed at {step}");
    let there = site.git(&["ls-remote", "origin", "refs/heads/agentos/*"]);
    let here = format!("{}\trefs/heads/{branch}", site.git(&["rev-parse", branch]));
    assert_eq!(there, here, "killed at {step}");
    let pulls = site.forge.pulls();
    assert_eq!(pulls.len(), 1, "killed at {step}: {pulls:?}");
    assert_eq!(run["pr_url"], run["output"]["prUrl"], "killed at {step}");
    let sessions = run["agent_sessions"].as_array().expect("a list");
    assert_eq!(sessions.len(), 3, "killed at {step}: {sessions:#?}");
    let text = site.git(&["show", &format!("{branch}:test/total.test.js")]);
    assert_eq!(text.matches("between 0 and 100 percent").count(), 1, "killed at {step}");
}

fn goes_on_after_a_kill_at(step: &str) {
    let site = Site::new();
    kill_at(&site, step);
    let resumed = site.call(&["resume", "--json", "simple-sdlc"]).done().exits(0);
    let run = resumed.document();
    assert_eq!(run["status"], "COMPLETED", "killed at {step}: {resumed:#?}: {run:#}");
    check(&site, &run, step);
}

#[test]
fn killed_while_it_reads_the_specification_it_goes_on_to_one_pull_request() {
    goes_on_after_a_kill_at("load-spec");
}

#[test]
fn killed_while_it_makes_its_branch_it_goes_on_to_one_pull_request() {
    goes_on_after_a_kill_at("setup-branch");
}

#[test]
fn killed_while_an_agent_plans_it_goes_on_to_one_pull_request() {
    goes_on_after_a_kill_at("generate-plan");
}

#[test]
fn killed_while_an_agent_implements_it_goes_on_to_one_pull_request() {
    goes_on_after_a_kill_at("implement");
}

#[test]
fn killed_while_its_tests_run_it_goes_on_to_one_pull_request() {
    goes_on_after_a_kill_at("run-tests");
}

#[test]
fn killed_while_it_opens_its_pull_request_it_goes_on_to_one() {
    goes_on_after_a_kill_at("create-pr");
}
