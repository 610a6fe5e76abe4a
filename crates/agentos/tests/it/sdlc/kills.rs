//! A run of `simple-sdlc` is killed at every step, and comes to the same end.

use rustix::process::Signal;
use serde_json::Value;

use super::simple::STEPS;
use super::site::{Site, scenario, steps};
use crate::support::{Process, until};

/// The tests of this test: quick, and they fail until the scenario has fixed its mistake.
const QUICK: &str = "grep -q Math.round src/total.js";

fn begin(site: &Site) -> Process {
    let named = ["simple-sdlc", "--feature-name", "Discounts", "--spec-path"];
    let named = [&named[..], &["specs/discounts.md", "--test-command", QUICK]].concat();
    site.play(&scenario(), &named).start()
}

/// Kills the process as soon as the step has begun. Whether it was still at work.
fn kill_at(site: &Site, step: &str) -> bool {
    let mut process = begin(site);
    until(&format!("{step} has begun, or all is over"), || {
        let shown = site.call(&["show", "--json", "simple-sdlc"]).done();
        let run = if shown.code == Some(0) { shown.document() } else { Value::Null };
        let has_begun = run["steps"]
            .as_array()
            .is_some_and(|steps| steps.iter().any(|known| known["name"] == step));
        has_begun || process.has_ended().is_some()
    });
    let is_at_work = process.has_ended().is_none();
    process.send(Signal::KILL);
    process.done();
    is_at_work
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

#[test]
fn killed_at_any_step_it_goes_on_to_one_branch_one_set_of_commits_and_one_pull_request() {
    let mut at_work = 0;
    for step in STEPS {
        let site = Site::new();
        at_work += usize::from(kill_at(&site, step));
        let resumed = site.call(&["resume", "--json", "simple-sdlc"]).done();
        let run = match resumed.code {
            Some(0) => resumed.document(),
            // It was done before it could be killed.
            _ => site.call(&["show", "--json", "simple-sdlc"]).done().exits(0).document(),
        };
        assert_eq!(run["status"], "COMPLETED", "killed at {step}: {resumed:#?}: {run:#}");
        check(&site, &run, step);
    }
    // The last step may be over before anybody sees it begin; the others are not.
    assert!(at_work >= STEPS.len() - 1, "only {at_work} were killed at work");
}
