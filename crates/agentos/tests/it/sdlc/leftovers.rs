//! Tests leave files behind, sessions end in the middle: only what an agent has changed counts, and is committed.

use super::site::{Site, failure, scenario, steps};

/// Tests that leave a file behind which is another one each time, and fail until the scenario has fixed its mistake.
const UNTIDY: &str = "date +%s%N > report.txt; grep -q Math.round src/total.js";

fn play(site: &Site, scenario: &str, tests: &str, more: &[&str]) -> crate::support::Done {
    let named = ["build-feature", "--feature-name", "Discounts", "--spec-path"];
    let named = [&named[..], &["specs/discounts.md", "--test-command", tests], more].concat();
    site.play(scenario, &named).done()
}

#[test]
fn what_the_tests_leave_behind_is_neither_committed_nor_part_of_the_difference() {
    let site = Site::new();
    let tests = format!("echo again >> README.md; {UNTIDY}");
    let done = play(&site, &scenario(), &tests, &[]).exits(0);
    let run = done.document();
    let note = "note: the tests have changed README.md, which is not committed";
    assert_eq!(done.err.matches(note).count(), 2, "as it happens, and at the end: {}", done.err);
    let branch = run["branch_name"].as_str().expect("a branch");
    let files = site.git(&["diff", "--name-only", "main", branch]);
    assert_eq!(files, ".agent/plans/discounts.md\nsrc/total.js\ntest/total.test.js");
    let difference = site.artifact(&run, "changes.diff");
    assert!(difference.contains("Math.round") && !difference.contains("report"), "{difference}");
    let workspace = run["workspace_dir"].as_str().expect("a folder");
    assert!(std::path::Path::new(workspace).join("report.txt").is_file(), "it is left alone");
}

/// Implements something, and has no idea what to fix.
const CLUELESS: &str = r##"
[[session]]
name = "plan"
play = [{ say = "# Plan" }]
[[session]]
name = "implement"
play = [{ run = "echo '// hm' >> src/total.js" }, { say = "Done." }]
[[session]]
name = "fix"
play = [{ say = "I see nothing wrong." }]
"##;

#[test]
fn an_attempt_to_fix_that_changes_nothing_is_a_failure_whatever_the_tests_leave() {
    let site = Site::new();
    // They change a file of the history, too.
    let tests = format!("echo again >> README.md; {UNTIDY}");
    let done = play(&site, CLUELESS, &tests, &[]);
    let run = done.document();
    assert_eq!(steps(&run)[4..], ["run-tests FAILED"]);
    let said = failure(done);
    assert!(said.contains("scripted changed no file; it says: I see nothing wrong."), "{said}");
    let branch = run["branch_name"].as_str().expect("a branch");
    assert_eq!(site.subjects(&format!("main..{branch}")), ["Plan: Discounts", "Discounts"]);
}

/// Does its work, is cut off before it can say so, and finds everything done at the second attempt.
const CUT_OFF: &str = r##"
[[session]]
name = "plan"
play = [{ say = "# Plan" }]
[[session]]
name = "implement"
attempt = 1
play = [{ run = "echo '// Math.round' >> src/total.js" }, { fail = { kind = "api", message = "overloaded" } }]
[[session]]
name = "implement"
attempt = 2
play = [{ say = "It is all there." }]
"##;

#[test]
fn what_a_session_has_done_before_it_failed_is_committed_and_counts_for_the_next() {
    let site = Site::new();
    let run = play(&site, CUT_OFF, UNTIDY, &[]).exits(0).document();
    let branch = run["branch_name"].as_str().expect("a branch");
    let subjects = site.subjects(&format!("main..{branch}"));
    assert_eq!(subjects, ["Plan: Discounts", "Discounts (unfinished)"]);
}
