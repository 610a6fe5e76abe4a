//! Branches that are pushed.

use agentos_testing::jj;
use serde_json::json;

use super::{OPEN, Site, WORK, message, program};
use crate::support::{is_alive, wait_until};

#[test]
fn a_branch_is_pushed_again_after_its_commit_was_amended() {
    let site = Site::new();
    site.workflow(
        "ship",
        &format!(
            "{WORK}  const first = await ctx.git.push();\n  const again = await ctx.git.push();\n\
             await ctx.shell(\"git commit --quiet --amend -m better\");\n\
             let refused; try {{ await ctx.git.push({{ force: false }}); }} catch (error) {{ refused = error.name; }}\n\
             const amended = await ctx.git.push({{ setUpstream: false }});\n\
             return [first.outcome, again.outcome, refused, amended.outcome, amended.previous === first.commitSha, first.branch];"
        ),
    );
    let expected =
        json!(["created", "unchanged", "NonRetryableError", "rewritten", true, "agentos/basket"]);
    assert_eq!(site.output("ship"), expected);
    let tip = site.git(&["rev-parse", "agentos/basket"]);
    assert_eq!(site.there("agentos/basket"), Some(tip.clone()));
    assert_eq!(site.show("ship")["commit_sha"], tip.as_str());
}

#[test]
fn every_kind_of_workspace_pushes_its_branch() {
    for kind in ["worktree", "clone"] {
        let site = Site::new();
        let work = WORK.replace("await ctx.git.ensureBranch(\"agentos/basket\");", "");
        site.workflow("ship", &format!("{work}{OPEN}"));
        let done = site.call(&["run", "ship", "--json", "--workspace", kind]).done().exits(0);
        let run = done.document();
        let branch = run["branch_name"].as_str().expect("a branch").to_owned();
        assert_eq!(
            site.there(&branch).map(serde_json::Value::String),
            Some(run["commit_sha"].clone()),
            "{kind}"
        );
        assert_eq!(site.forge.pulls()[0].head, branch, "{kind}");
        assert_eq!(run["pr_url"], run["output"]["prUrl"], "{kind}");
    }
}

#[test]
fn a_workspace_of_jj_pushes_its_bookmark_and_rebases_it_first() {
    let site = Site::new();
    let work = WORK.replace("await ctx.git.ensureBranch(\"agentos/basket\");", "");
    let open = OPEN.replace("body:", "onBehind: \"rebase\", body:");
    site.workflow("ship", &format!("{work}  await ctx.git.push();\n{open}"));
    let (folder, path) = (jj::folder(), std::env::var("PATH").expect("a path"));
    let path = format!("{}:{path}", folder.display());
    let init =
        site.stand.call_program(&folder.join("jj"), &site.root, &["git", "init", "--colocate"]);
    init.done().exits(0);
    let theirs = site.somebody_else("main", "a", "1\n");
    let call = site.call(&["run", "ship", "--json", "--workspace", "jj"]).env("PATH", path);
    let run = call.done().exits(0).document();
    let output = &run["output"];
    assert_eq!((&output["rebased"], &output["behind"]), (&json!(true), &json!(0)));
    assert_eq!(output["pushed"]["outcome"], "rewritten");
    let branch = run["branch_name"].as_str().expect("a branch");
    let there = site.there(branch).expect("it was pushed");
    assert_eq!((&run["commit_sha"], site.forge.pulls()[0].head.as_str()), (&json!(there), branch));
    assert_eq!(site.git(&["rev-parse", &format!("{there}~1")]), theirs);
}

#[test]
fn what_a_remote_rejects_is_told_and_not_tried_again() {
    let site = Site::new();
    site.remote_hook(
        "pre-receive",
        "echo \"$$\" >> tries; echo 'no pushes on Fridays' >&2; exit 1",
    );
    site.workflow(
        "ship",
        &format!("{WORK}  await ctx.run(\"push\", async (ctx) => {{ await ctx.git.push(); }});"),
    );
    let failed = site.fails("ship");
    let said = message(&failed);
    for part in ["rejected", "pre-receive hook declined", "no pushes on Fridays"] {
        assert!(said.contains(part), "`{part}` is missing in {said}");
    }
    let tries = std::fs::read_to_string(site.remote.join("tries")).expect("it was tried");
    assert_eq!(tries.lines().count(), 1);
}

#[test]
fn somebody_elses_commits_stop_a_push_and_the_pull_request() {
    let site = Site::new();
    site.workflow("ship", &format!("{WORK}  await ctx.git.push();\n  await ctx.waitFor(\"go\");\n  await ctx.files.write(\"b\", \"2\");\n  await ctx.git.commit(\"b\", {{ all: true }});\n{OPEN}"));
    let process = site.call(&["run", "ship", "--json"]).start();
    wait_until("it waits", || {
        site.stand.runs(&site.root).iter().any(|run| run["waiting"]["kind"] == "signal")
    });
    let theirs = site.somebody_else("agentos/basket", "c", "3\n");
    site.call(&["signal", "ship", "go"]).done().exits(0);
    let failed = process.done().exits(1).document();
    let said = message(&failed);
    assert!(said.contains("commits of somebody else") && said.contains(&theirs[..10]), "{said}");
    assert_eq!((site.there("agentos/basket"), site.forge.pulls().len()), (Some(theirs), 0));
}

#[test]
fn a_hook_of_ones_own_can_refuse_a_push() {
    let site = Site::new();
    program(&site.root.join(".git/hooks/pre-push"), "echo 'run the tests first'; exit 1");
    site.workflow("ship", &format!("{WORK}  await ctx.git.push();"));
    let failed = site.fails("ship");
    assert_eq!(message(&failed), "the hook `pre-push` refused: run the tests first");
    assert_eq!(site.there("agentos/basket"), None);
}

#[test]
fn without_a_remote_both_say_how_to_make_one() {
    let site = Site::new();
    site.git(&["remote", "remove", "origin"]);
    for call in ["await ctx.git.push();", "await ctx.git.createPr({ title: \"T\" });"] {
        site.workflow("ship", &format!("{WORK}  {call}"));
        let failed = site.fails("ship");
        assert!(message(&failed).contains("`git remote add origin URL`"), "{}", message(&failed));
    }
}

#[test]
fn a_remote_that_can_not_be_reached_is_tried_a_few_times() {
    let site = Site::new();
    site.git(&["remote", "set-url", "origin", "http://127.0.0.1:9/shop.git"]);
    site.workflow("ship", &format!("{WORK}  await ctx.git.push();"));
    let failed = site.fails("ship");
    let said = message(&failed);
    assert!(said.contains("also not after 4 tries"), "{said}");
    assert_eq!(failed["error"]["kind"], "error", "another attempt may help");
}

#[test]
fn mistakes_in_the_call_are_told() {
    let site = Site::new();
    for (options, part) in [
        ("{ force: true }", "force"),
        ("{ branch: \"--all\" }", "can't be the name of a branch"),
        ("{ remote: \"upstream\" }", "there is no remote `upstream` (there is origin)"),
        ("{ to: \"x\" }", "to"),
    ] {
        site.workflow("ship", &format!("{WORK}  await ctx.git.push({options});"));
        let failed = site.fails("ship");
        assert!(message(&failed).contains(part), "{options}: {}", message(&failed));
    }
}

#[test]
fn a_cancelled_run_ends_the_push_that_waits_for_its_remote() {
    let site = Site::new();
    let begun = site.stand.at("begun.mark");
    site.remote_hook(
        "pre-receive",
        &format!("echo $$ > {}; while :; do sleep 0.05; done", begun.display()),
    );
    site.workflow("ship", &format!("{WORK}  await ctx.git.push();"));
    let process = site.call(&["run", "ship", "--json"]).start();
    wait_until("it has begun", || {
        std::fs::read_to_string(&begun).is_ok_and(|pid| pid.ends_with('\n'))
    });
    site.call(&["cancel", "ship"]).done().exits(0);
    assert_eq!(process.done().document()["status"], "CANCELLED");
    let pid = std::fs::read_to_string(&begun).expect("who it is");
    let pid = pid.trim().parse().expect("an id");
    wait_until("the hook is gone", || !is_alive(pid));
}
