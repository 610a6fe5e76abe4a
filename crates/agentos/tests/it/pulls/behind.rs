//! What becomes of work whose base has gone on.

use serde_json::json;

use super::{Site, WORK, message};

fn open(policy: &str) -> String {
    format!(
        "  return await ctx.git.createPr({{ title: \"Add a basket\", onBehind: \"{policy}\" }});"
    )
}

#[test]
fn work_that_is_behind_is_counted_told_and_opened() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}  return await ctx.git.createPr({{ title: \"Add\" }});"));
    site.somebody_else("main", "a", "1\n");
    site.somebody_else("main", "a", "2\n");
    let output = site.output("ship");
    assert_eq!((&output["behind"], &output["rebased"]), (&json!(2), &json!(false)));
    let body = &site.forge.pulls()[0].body;
    assert!(body.contains("`main` has 2 commits that this branch does not have."), "{body}");
    let log = site.call(&["logs", "ship"]).done().exits(0).out;
    assert!(log.contains("`agentos/basket` is 2 commits behind `main`"), "{log}");
}

#[test]
fn work_that_is_behind_can_be_rebased_first_also_when_it_was_pushed_before() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}  await ctx.git.push();\n{}", open("rebase")));
    let theirs = site.somebody_else("main", "a", "1\n");
    let output = site.output("ship");
    assert_eq!((&output["behind"], &output["rebased"]), (&json!(0), &json!(true)));
    assert_eq!(output["pushed"]["outcome"], "rewritten");
    let tip = site.git(&["rev-parse", "agentos/basket"]);
    assert_eq!(site.there("agentos/basket"), Some(tip.clone()));
    assert_eq!(site.git(&["rev-parse", "agentos/basket~1"]), theirs);
    assert_eq!(
        (&site.show("ship")["commit_sha"], &output["commitSha"]),
        (&json!(tip), &json!(tip))
    );
}

#[test]
fn a_conflict_takes_everything_back_and_names_the_files() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{}", open("rebase")));
    site.somebody_else("main", "basket.txt", "milk\n");
    let failed = site.fails("ship");
    let said = message(&failed);
    assert!(said.contains("basket.txt") && said.contains("onBehind"), "{said}");
    assert_eq!(site.git(&["status", "--porcelain"]), "");
    assert_eq!(site.git(&["symbolic-ref", "--short", "HEAD"]), "agentos/basket");
    assert_eq!(site.git(&["show", "HEAD:basket.txt"]), "eggs");
    assert_eq!((site.there("agentos/basket"), site.forge.pulls().len()), (None, 0));
}

#[test]
fn work_that_is_behind_can_be_refused() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{}", open("fail")));
    site.somebody_else("main", "a", "1\n");
    let failed = site.fails("ship");
    assert!(message(&failed).contains("is 1 commit behind `main`"), "{}", message(&failed));
    assert_eq!((site.there("agentos/basket"), site.forge.pulls().len()), (None, 0));
}

#[test]
fn changes_that_are_not_committed_are_not_mixed_into_a_rebase() {
    let site = Site::new();
    let edit = "  await ctx.files.write(\"README.md\", \"half done\\n\");\n";
    site.workflow("ship", &format!("{WORK}{edit}{}", open("rebase")));
    site.somebody_else("main", "a", "1\n");
    let failed = site.fails("ship");
    assert!(message(&failed).contains("not committed"), "{}", message(&failed));
    assert_eq!(site.git(&["status", "--porcelain"]), " M README.md");
}
