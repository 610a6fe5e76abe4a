//! `issue`: from notes to a file that can be filed, in a repository and outside of every one.

use std::fs;

use serde_json::Value;

use super::site::{Site, failure, steps};
use crate::support::{Done, wait_until};

const SCENARIO: &str = r##"
[[session]]
name = "draft"
play = [{ say = "# Discounts for baskets\n\nPeople want them." }]
[[session]]
name = "review"
play = [{ say = '''```json
{ "verdict": "changes", "summary": "Who?", "remarks": ["Say who wants them"] }
```''' }]
[[session]]
name = "revise"
prompt = "Say who wants them"
play = [{ say = "```markdown\n# Discounts for baskets\n\nShop owners want them.\n```" }]
[[session]]
name = "review"
prompt = "round 2"
play = [{ say = '{ "verdict": "approve", "summary": "Clear.", "remarks": [] }' }]
"##;

#[test]
fn notes_become_an_issue_that_another_agent_has_approved() {
    let site = Site::new();
    fs::write(site.root.join("notes.md"), "discounts!\n").expect("a file");
    let play =
        |more: &[&str]| site.play(SCENARIO, &[&["issue", "--brief", "notes.md"], more].concat());
    let run = play(&[]).done().exits(0).document();
    assert_eq!(steps(&run), ["load-brief", "draft", "review", "revise", "review", "save"]);
    assert_eq!(run["output"]["file"], "issues/discounts-for-baskets.md");
    let file = site.root.join("issues/discounts-for-baskets.md");
    let text = "# Discounts for baskets\n\nShop owners want them.\n";
    assert_eq!(fs::read_to_string(&file).expect("it is saved"), text);
    // Nothing that is there is overwritten.
    let run = play(&[]).done().exits(0).document();
    assert_eq!(run["output"]["file"], "issues/discounts-for-baskets-2.md");
    let done = play(&["--output", "notes.md"]).done();
    assert_eq!(steps(&done.document()), ["load-brief FAILED"]);
    assert!(failure(done).contains("notes.md is there already"));
}

/// A run that has ended, and the file that it was to write; the test has written it before the run could. The author works
/// for a while, for longer if the test was too slow.
fn beaten() -> (Site, Done) {
    for ms in [500, 6_000, 60_000] {
        let site = Site::new();
        fs::write(site.root.join("notes.md"), "discounts!\n").expect("a file");
        let working = format!("play = [{{ wait = {ms} }}, {{ say");
        let slow = SCENARIO.replacen("play = [{ say", &working, 1);
        let running =
            site.play(&slow, &["issue", "--brief", "notes.md", "--output", "late.md"]).start();
        wait_until("the author works", || {
            let shown = site.call(&["show", "--json", "issue"]).done();
            let run = if shown.code == Some(0) { shown.document() } else { Value::Null };
            run["steps"].as_array().is_some_and(|steps| steps.len() > 1)
        });
        fs::write(site.root.join("late.md"), "mine\n").expect("a file");
        let done = running.done();
        if done.code != Some(0) {
            return (site, done);
        }
    }
    panic!("the run has saved its issue although there is a file of that name");
}

#[test]
fn a_file_that_appears_while_agents_work_is_not_overwritten_and_the_issue_is_kept() {
    let (site, done) = beaten();
    let run = done.document();
    assert_eq!(steps(&run).last().map(String::as_str), Some("save FAILED"));
    assert!(site.artifact(&run, "issue.md").contains("Shop owners want them."));
    assert!(failure(done).contains("late.md is there by now, and is not overwritten"));
    assert_eq!(fs::read_to_string(site.root.join("late.md")).expect("mine"), "mine\n");
}

#[test]
fn a_draft_that_is_never_approved_is_kept_and_the_run_fails() {
    let site = Site::new();
    fs::write(site.root.join("notes.md"), "discounts!\n").expect("a file");
    let done = site.play(SCENARIO, &["issue", "--brief", "notes.md", "--max-reviews", "1"]).done();
    let run = done.document();
    assert!(site.artifact(&run, "draft.md").contains("People want them"));
    let said = failure(done);
    assert!(said.contains("not approved in 1 round") && said.contains("Say who"), "{said}");
    assert!(!site.root.join("issues").exists());
}

#[test]
fn an_issue_is_written_outside_of_every_repository() {
    let mut site = Site::new();
    site.root = site.stand.folder("plain");
    fs::write(site.root.join("notes.md"), "discounts!\n").expect("a file");
    let done = site.play(SCENARIO, &["issue", "--brief", "notes.md"]).done().exits(0);
    assert!(site.root.join("issues/discounts-for-baskets.md").is_file(), "{done:#?}");
    assert!(done.err.contains(".agentos/issue_workflow.db"), "{}", done.err);
}
