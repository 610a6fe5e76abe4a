//! `simple-sdlc`: from a specification to a pull request.

use std::fs;

use super::site::{Site, comments, failure, kept, scenario, steps};

pub(super) const STEPS: [&str; 6] =
    ["load-spec", "setup-branch", "generate-plan", "implement", "run-tests", "create-pr"];

#[test]
fn a_spec_becomes_a_plan_code_that_passes_its_tests_and_a_pull_request() {
    let site = Site::new();
    let run = site.simple(&scenario(), &["--draft"]).exits(0).document();
    assert_eq!(steps(&run), STEPS);
    assert_eq!(
        kept(&run),
        ["plan.md DOCUMENT", "test-report.md TEST_REPORT", "changes.diff OTHER"]
    );
    let report = site.artifact(&run, "test-report.md");
    assert!(report.contains("Run 1: failed (exit status 1)"), "{report}");
    assert!(report.contains("Run 2: passed") && report.contains("$ node --test"), "{report}");
    assert!(site.artifact(&run, "changes.diff").contains("+  return Math.round"));

    let branch = run["branch_name"].as_str().expect("a branch");
    let range = format!("main..{branch}");
    let subjects = ["Plan: Discounts", "Discounts", "Make the tests pass: Discounts"];
    assert_eq!(site.subjects(&range), subjects);
    let body = site.git(&["log", "-1", "--format=%b", &format!("{branch}~1")]);
    assert!(body.starts_with("total() takes a discount in percent"), "{body}");
    let plan = site.git(&["show", &format!("{branch}:.agent/plans/discounts.md")]);
    assert_eq!(plan, site.artifact(&run, "plan.md").trim_end());
    // What was pushed is what is here.
    let pushed = site.git(&["ls-remote", "origin", &format!("refs/heads/{branch}")]);
    assert!(pushed.starts_with(&site.git(&["rev-parse", branch])), "{pushed}");
    let [pull] = &site.forge.pulls()[..] else { panic!("{:?}", site.forge.pulls()) };
    assert_eq!((pull.title.as_str(), pull.base.as_str()), ("Discounts", "main"));
    assert_eq!((pull.head.as_str(), pull.draft), (branch, true));
    assert!(pull.body.contains("total() takes a discount in percent"), "{}", pull.body);
    assert!(pull.body.contains(".agent/plans/discounts.md"), "{}", pull.body);
    let url = run["output"]["prUrl"].as_str().expect("an address");
    assert!(url.ends_with("/acme/shop/pull/1"), "{url}");
    assert_eq!((&run["pr_url"], &run["output"]["fixes"]), (&run["output"]["prUrl"], &1.into()));

    let said = comments(&run).join("\n");
    for words in [
        "The plan is in .agent/plans/discounts.md",
        "The tests fail (exit status 1): attempt 1 of 3 to fix them",
        "The tests pass after 1 attempt to fix them",
        "scripted changed 1 file (+1 −1)",
        &format!("Opened {url}"),
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let names: Vec<&str> = run["agent_sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|session| session["name"].as_str())
        .collect();
    assert_eq!(names, ["plan", "implement", "fix"]);
    // What AgentOS itself does in the repository is no news.
    assert!(!said.contains("While it ran"), "{said}");
    // The checkout itself is as it was.
    assert_eq!(site.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_test_command_is_found_and_a_project_without_one_is_refused_before_an_agent_begins() {
    let site = Site::new();
    let found = ["--feature-name", "Discounts", "--spec-path", "specs/discounts.md"];
    let with = |more: &[&'static str]| [&["simple-sdlc"], &found[..], more].concat();
    let run = site.play(&scenario(), &with(&[])).done().exits(0).document();
    assert!(comments(&run).iter().any(|said| said.ends_with("tests: npm test")), "{run:#}");

    site.git(&["rm", "--quiet", "package.json"]);
    site.git(&["commit", "--quiet", "--message=no tests"]);
    let done = site.play(&scenario(), &with(&[])).done();
    let run = done.document();
    assert_eq!(steps(&run), ["load-spec", "setup-branch FAILED"]);
    assert!(failure(done).contains("--test-command"));
    assert_eq!(run["agent_sessions"].as_array().map(Vec::len), Some(0));
}

#[test]
fn what_is_missing_is_said_before_anything_starts() {
    let site = Site::new();
    let named = ["simple-sdlc", "--feature-name", "Discounts", "--spec-path", "nowhere.md"];
    let wrong = site.play(&scenario(), &named).done();
    assert!(wrong.err.contains("nowhere.md"), "{wrong:#?}");
    assert_eq!(wrong.code, Some(2), "{wrong:#?}");
    let wrong = site.play(&scenario(), &["simple-sdlc", "--feature-name", "Discounts"]).done();
    assert!(wrong.exits(2).err.contains("input.specPath"));

    fs::write(site.root.join("empty.md"), " \n").expect("a file");
    let arguments = ["simple-sdlc", "--feature-name", "D", "--spec-path", "empty.md"];
    assert!(failure(site.play(&scenario(), &arguments).done()).contains("the spec is empty"));

    site.git(&["remote", "remove", "origin"]);
    let said = failure(site.simple(&scenario(), &[]));
    assert!(said.contains("no remote") && said.contains("build-feature"), "{said}");
}

#[test]
fn uncommitted_changes_of_the_checkout_are_left_out_with_a_notice() {
    let site = Site::new();
    fs::write(site.root.join("src/total.js"), "broken").expect("a file");
    let done = site.simple(&scenario(), &[]).exits(0);
    assert!(done.err.contains("uncommitted"), "{}", done.err);
    assert_eq!(fs::read_to_string(site.root.join("src/total.js")).expect("mine"), "broken");
}

#[test]
fn a_plan_that_is_ignored_is_not_named_as_a_file_of_the_pull_request() {
    let site = Site::new();
    fs::write(site.root.join(".gitignore"), ".agent/\n").expect("a file");
    site.git(&["add", ".gitignore"]);
    site.git(&["commit", "--quiet", "--message=ignore"]);
    let run = site.simple(&scenario(), &[]).exits(0).document();
    let branch = run["branch_name"].as_str().expect("a branch");
    let subjects = ["Discounts", "Make the tests pass: Discounts"];
    assert_eq!(site.subjects(&format!("main..{branch}")), subjects);
    let [pull] = &site.forge.pulls()[..] else { panic!("{:?}", site.forge.pulls()) };
    assert!(!pull.body.contains(".agent/plans"), "{}", pull.body);
    assert!(
        pull.body.contains("The plan is the artifact `plan.md` of simple-sdlc-"),
        "{}",
        pull.body
    );
}

#[test]
fn a_base_that_has_moved_on_is_told_of() {
    let site = Site::new();
    site.git(&["checkout", "--quiet", "-b", "elsewhere"]);
    fs::write(site.root.join("src/total.js"), "// another way\n").expect("a file");
    site.git(&["commit", "--quiet", "--all", "--message=in conflict"]);
    site.git(&["push", "--quiet", "origin", "elsewhere:main"]);
    site.git(&["checkout", "--quiet", "main"]);
    let run = site.simple(&scenario(), &[]).exits(0).document();
    let said = comments(&run).join("\n");
    assert!(said.contains("main has 1 commit that this branch does not have"), "{said}");
}

const IDLE: &str = "[[session]]\nname = \"plan\"\nplay = [{ say = \"# Plan\" }]\n\
                    [[session]]\nplay = [{ say = \"There is nothing to do.\" }]\n";

#[test]
fn an_agent_that_changes_nothing_is_a_failure_and_no_empty_pull_request() {
    let site = Site::new();
    let done = site.simple(IDLE, &[]);
    let run = done.document();
    assert_eq!(steps(&run)[3..], ["implement FAILED"]);
    let said = failure(done);
    assert!(said.contains("scripted changed no file; it says: There is nothing to do."), "{said}");
    // What is built in is in no file of the project.
    let told = site.simple(IDLE, &[]).exits(1).err;
    assert!(told.contains("note: it failed at built-in simple-sdlc (lib/sdlc.ts:"), "{told}");
    assert!(
        told.contains("`agentos init --examples`") && !told.contains(".agent/workflows"),
        "{told}"
    );
    assert!(told.contains("note: `agentos retry simple-sdlc-"), "{told}");
    assert_eq!(site.git(&["ls-remote", "origin", "refs/heads/agentos/*"]), "");
    assert_eq!(site.forge.pulls().len(), 0);
}

/// A plan, and a change that does not help, as often as somebody asks.
const STUBBORN: &str = r##"
[[session]]
name = "plan"
play = [{ say = "# Plan" }]
[[session]]
play = [{ run = "echo '// hm' >> src/total.js" }, { say = "Better now?" }]
"##;

#[test]
fn tests_that_never_pass_end_the_run_at_its_limit() {
    let site = Site::new();
    let done = site.simple(STUBBORN, &["--max-fixes", "2"]);
    let run = done.document();
    assert_eq!(steps(&run)[4..], ["run-tests FAILED"]);
    let report = site.artifact(&run, "test-report.md");
    assert!(report.contains("Run 3: failed") && !report.contains("Run 4"), "{report}");
    let said = failure(done);
    assert!(said.contains("tests still fail after 2 attempts to fix them"), "{said}");
    // With the last output.
    assert!(said.contains("a discount is taken off"), "{said}");
    let branch = run["branch_name"].as_str().expect("a branch");
    assert_eq!(site.subjects(&format!("main..{branch}")).len(), 4);
}
