//! `issue`: from notes to a file that can be filed, in a repository and outside of every one.

use std::fs;

use super::site::{Site, failure, steps};

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
