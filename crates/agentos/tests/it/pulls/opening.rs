//! A pull request is opened, found again, and known to its run.

use agentos_testing::forge::{LABEL, REVIEWER};
use serde_json::json;

use super::{OPEN, Site, WORK};

#[test]
fn a_workflow_opens_a_pull_request_and_its_run_knows_it() {
    let site = Site::new();
    site.workflow(
        "ship",
        &format!(
            "{WORK}  return await ctx.git.createPr({{ title: \"Add a basket\", body: \"What it does.\", draft: true, labels: \
             [\"{LABEL}\"], reviewers: [\"{REVIEWER}\", \"nobody\"] }});"
        ),
    );
    let done = site.call(&["run", "ship", "--json"]).done().exits(0);
    let output = done.document()["output"].clone();
    let [pull] = &site.forge.pulls()[..] else { panic!("{:?}", site.forge.pulls()) };
    assert_eq!(
        (pull.repository.as_str(), pull.title.as_str(), pull.head.as_str(), pull.base.as_str()),
        ("acme/shop", "Add a basket", "agentos/basket", "main")
    );
    assert!(pull.draft && pull.labels == [LABEL], "{pull:?}");
    let url = format!("{}/acme/shop/pull/1", site.forge.url());
    assert_eq!(output["prUrl"], url.as_str());
    let said = format!("its pull request is {url}");
    assert!(done.err.contains(&said), "{}", done.err);
    assert!(site.call(&["show", "ship"]).done().exits(0).out.contains(&url));
    assert_eq!(
        (&output["number"], &output["created"], &output["behind"], &output["forge"]),
        (&json!(1), &json!(true), &json!(0), &json!("github"))
    );
    assert_eq!(output["pushed"]["outcome"], "created");
    let note = output["note"].as_str().expect("a note");
    assert!(note.contains("nobody"), "{note}");
    let tip = site.git(&["rev-parse", "agentos/basket"]);
    assert_eq!(site.there("agentos/basket"), Some(tip.clone()));
    let run = site.show("ship");
    assert_eq!((&run["pr_url"], &run["branch_name"]), (&json!(url), &json!("agentos/basket")));
    assert_eq!(run["commit_sha"], tip.as_str());
    let upstream = site.git(&["rev-parse", "--abbrev-ref", "agentos/basket@{upstream}"]);
    assert_eq!(upstream, "origin/agentos/basket");
}

#[test]
fn another_run_of_the_same_branch_finds_the_open_pull_request() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}{OPEN}"));
    assert_eq!(site.output("ship")["created"], true);
    site.workflow("again", OPEN);
    let again = site.output("again");
    assert_eq!((&again["created"], &again["number"]), (&json!(false), &json!(1)));
    assert!(again["note"].as_str().is_some_and(|note| note.contains("open pull request")));
    assert_eq!((site.forge.pulls().len(), site.posts()), (1, 1));
    site.forge.close(1);
    let another = site.output("again");
    assert_eq!((&another["created"], &another["number"]), (&json!(true), &json!(2)));
}

#[test]
fn a_fork_opens_a_pull_request_for_its_own_branch_and_the_old_one_stays() {
    let site = Site::new();
    // Whoever works in a workspace of its own is on a branch of its own.
    let work = WORK.replace("await ctx.git.ensureBranch(\"agentos/basket\");", "");
    let open = format!("  await ctx.run(\"open\", async (ctx) => {{\n{OPEN}\n}});");
    site.workflow("ship", &format!("{work}{open}"));
    let call = |arguments: &[&str]| site.call(arguments).without("AGENTOS_WORKSPACE_KIND").done();
    let run = call(&["run", "ship", "--json"]).exits(0).document();
    let fork = call(&["fork", "ship", "--from-step", "open", "--json"]).exits(0).document();
    let heads: Vec<String> = site.forge.pulls().into_iter().map(|pull| pull.head).collect();
    assert_eq!(json!(heads), json!([run["branch_name"], fork["branch_name"]]));
    assert_ne!(run["pr_url"], fork["pr_url"]);
    assert_eq!(site.show(run["run_id"].as_str().expect("a name"))["pr_url"], run["pr_url"]);
}
