//! `build-feature`: the same without a pull request.

use super::site::{Site, TESTS, kept, scenario, steps};

#[test]
fn a_feature_is_built_on_a_branch_and_nothing_is_pushed() {
    let site = Site::new();
    site.git(&["remote", "remove", "origin"]);
    let arguments = ["build-feature", "--feature-name", "Discounts", "--spec-path"];
    let arguments = [&arguments[..], &["specs/discounts.md", "--test-command", TESTS]].concat();
    let run = site.play(&scenario(), &arguments).done().exits(0).document();
    let named = ["load-spec", "setup-branch", "generate-plan", "implement", "run-tests"];
    assert_eq!(steps(&run), named);
    assert_eq!(
        kept(&run),
        ["plan.md DOCUMENT", "test-report.md TEST_REPORT", "changes.diff OTHER"]
    );
    let branch = run["output"]["branch"].as_str().expect("a branch");
    assert_eq!(run["output"]["commit"].as_str(), Some(site.git(&["rev-parse", branch]).as_str()));
    let text = site.git(&["show", &format!("{branch}:src/total.js")]);
    assert!(text.contains("Math.round"), "{text}");
}
