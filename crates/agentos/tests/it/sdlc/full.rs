//! `full-sdlc`: from a few notes to a pull request, with a person and a reviewer in between.

use std::fs;

use serde_json::Value;

use super::site::{Site, TESTS, comments, failure, scenario, steps};
use crate::support::{name, wait_until};

/// What comes before and after what the sample's scenario has.
fn with_review(review: &str) -> String {
    let spec =
        "[[session]]\nname = \"spec\"\nplay = [{ say = \"# Discounts\\n\\nIn percent.\" }]\n";
    let rework = "[[session]]\nname = \"rework\"\nplay = [{ run = \"echo '// in percent' >> src/total.js\" }, \
                  { say = \"Said it.\" }]\n";
    format!("{}\n{spec}{rework}{review}", scenario())
}

/// Wants changes first, and is content then.
const STRICT: &str = r#"
[[session]]
name = "review"
play = [{ say = '{ "verdict": "changes", "summary": "Almost.", "remarks": ["src/total.js: say the unit"] }' }]
[[session]]
name = "review"
prompt = "round 2"
play = [{ say = 'It is settled: {"verdict": "approve", "summary": "Good.", "remarks": []}' }]
"#;

fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let all = ["full-sdlc", "--feature-name", "Discounts", "--brief", "notes.md"];
    [&all[..], &["--test-command", TESTS], more].concat()
}

fn site() -> Site {
    let site = Site::new();
    fs::write(site.root.join("notes.md"), "We want discounts.\n").expect("a file");
    site
}

#[test]
fn notes_become_a_spec_an_approved_plan_reviewed_code_and_a_pull_request() {
    let site = site();
    let running = site.play(&with_review(STRICT), &arguments(&[])).start();
    let mut waiting = Value::Null;
    wait_until("the plan waits for approval", || {
        let found = site.call(&["status", "--json"]).done();
        let items = if found.code == Some(0) { found.document() } else { Value::Null };
        waiting = items["items"][0].clone();
        waiting["waiting"]["kind"] == "approval"
    });
    site.call(&["approve", &name(&waiting)]).done().exits(0);
    let run = running.done().exits(0).document();
    let named = [
        "load-brief",
        "setup-branch",
        "generate-spec",
        "generate-plan",
        "approve-plan",
        "implement",
        "run-tests",
        "review",
        "implement",
        "run-tests",
        "review",
        "create-pr",
    ];
    assert_eq!(steps(&run), named);
    assert_eq!(site.artifact(&run, "spec.md"), "# Discounts\n\nIn percent.");
    let said = comments(&run).join("\n");
    for words in
        ["approved the plan", "scripted wants changes: Almost.", "scripted approves: Good."]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let branch = run["branch_name"].as_str().expect("a branch");
    let subjects = site.subjects(&format!("main..{branch}"));
    assert_eq!(subjects.last().map(String::as_str), Some("Settle the review: Discounts"));
    let [pull] = &site.forge.pulls()[..] else { panic!("{:?}", site.forge.pulls()) };
    assert_eq!((pull.head.as_str(), pull.draft), (branch, false));
    assert!(pull.body.contains("Said it."), "{}", pull.body);
}

#[test]
fn nobody_is_asked_if_the_input_says_so_and_a_review_that_wants_more_ends_at_its_limit() {
    let site = site();
    let never = "[[session]]\nname = \"review\"\nplay = [{ say = '{\"verdict\": \"changes\", \"summary\": \"No.\", \
                 \"remarks\": [\"do it again\"]}' }]\n";
    let more = ["--approve=false", "--max-reviews", "2"];
    let done = site.play(&with_review(never), &arguments(&more)).done();
    let run = done.document();
    assert!(steps(&run).contains(&"approve-plan SKIPPED".to_owned()), "{run:#}");
    let said = failure(done);
    assert!(said.contains("still wants changes after 2 rounds: No.\n- do it again"), "{said}");
}

#[test]
fn a_reviewer_who_does_not_keep_to_the_form_is_reminded_once_and_then_it_is_a_failure() {
    let site = site();
    let vague = "[[session]]\nname = \"review\"\nplay = [{ say = \"Looks good to me!\" }]\n";
    let done = site.play(&with_review(vague), &arguments(&["--approve=false"])).done();
    let run = done.document();
    assert!(steps(&run).contains(&"review FAILED".to_owned()), "{run:#}");
    let said = failure(done);
    assert!(said.contains("no verdict in the form that was asked for"), "{said}");
    // One reminder, and no further attempt.
    let said = site.call(&["logs", &name(&run)]).done().out;
    assert_eq!(said.matches("Looks good to me!").count(), 2, "{said}");
}

#[test]
fn a_plan_that_is_not_approved_ends_the_run_and_says_who_said_no() {
    let site = site();
    let running = site.play(&with_review(STRICT), &arguments(&[])).start();
    let mut waiting = Value::Null;
    wait_until("the plan waits for approval", || {
        let found = site.call(&["status", "--json"]).done();
        let items = if found.code == Some(0) { found.document() } else { Value::Null };
        waiting = items["items"][0].clone();
        waiting["waiting"]["kind"] == "approval"
    });
    let no = ["approve", &name(&waiting), "--deny", "--comment", "not now"];
    site.call(&no).done().exits(0);
    let said = failure(running.done());
    assert!(said.contains("the plan was not approved by") && said.ends_with("not now"), "{said}");
}
