//! Runs that belong together: children, retries; and following what they say.

use crate::support::{Stand, assert_seen, lines, name, wait_until};

#[test]
fn children_are_driven_and_shown_with_their_parent() {
    let (stand, root) = Stand::with_repository();
    let run = stand.run(&root, &["run", "parent", "--json"]).exits(0).document();
    assert_eq!(run["output"].as_array().map(Vec::len), Some(3));
    let runs = stand.runs(&root);
    let children: Vec<_> =
        runs.iter().filter(|child| child["parent_run_id"] == run["id"]).collect();
    assert_eq!(children.len(), 3);
    for child in children {
        assert_eq!(
            (&child["status"], &child["worktree_id"]),
            (&"COMPLETED".into(), &"main".into())
        );
        let said = stand.run(&root, &["logs", &name(child)]).exits(0).out;
        assert!(said.contains("greeting child"), "{said}");
    }
    assert_seen!(&stand, "show_parent", stand.run(&root, &["show", "parent"]).exits(0).seen());
}

#[test]
fn a_parent_that_waits_can_be_interrupted_and_resumed_with_its_children() {
    let (stand, root) = Stand::with_repository();
    let process = stand.call(&root, &["run", "tree", "--input", "ms=100"]).start();
    wait_until("its children nap", || stand.runs(&root).iter().any(|run| run["workflow"] == "nap"));
    process.kill();
    let process = stand.call(&root, &["resume", "tree"]).start();
    wait_until("it asks", || stand.show(&root, "tree")["waiting"]["kind"] == "approval");
    stand.run(&root, &["approve", "tree"]).exits(0);
    let done = process.done().exits(0);
    assert!(done.out.ends_with("\"shipped\"\n"), "{done:#?}");
    let naps = stand.runs(&root).into_iter().filter(|run| run["workflow"] == "nap");
    assert_eq!(naps.filter(|nap| nap["status"] == "COMPLETED").count(), 2, "each child once");
}

/// Its children wait for something that never comes.
const COUPLE: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "couple", workspace: "none" }, async (ctx) => {
    await Promise.all([ctx.invoke("listen", {}), ctx.invoke("listen", {})]);
});
"#;

#[test]
fn a_cancelled_parent_takes_its_children_along() {
    let (stand, root) = Stand::with_repository();
    let folder = root.join(".agent/workflows/templates");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("couple.ts"), COUPLE).unwrap();
    let mut process = stand.call(&root, &["run", "couple"]).start();
    wait_until("its children listen", || {
        stand.runs(&root).iter().filter(|run| run["waiting"]["kind"] == "signal").count() == 2
    });
    stand.run(&root, &["cancel", "couple"]).exits(0);
    wait_until("it has ended", || process.has_ended().is_some());
    let runs = stand.runs(&root);
    let mut named: Vec<&str> = runs.iter().filter_map(|run| run["workflow"].as_str()).collect();
    named.sort_unstable();
    assert_eq!(named, ["couple", "listen", "listen"]);
    assert!(runs.iter().all(|run| run["status"] == "CANCELLED"), "{runs:#?}");
}

#[test]
fn a_retry_keeps_what_was_finished() {
    let (stand, root) = Stand::with_repository();
    let (mends, counted) = (stand.at("mended"), stand.at("counted"));
    let given = [format!("file={}", mends.display()), format!("counted={}", counted.display())];
    let failed = stand.run(&root, &["run", "mend", "--input", &given[0], "--input", &given[1]]);
    assert!(failed.exits(1).out.contains("it is still broken"));
    let old = stand.show(&root, "mend");
    std::fs::write(&mends, "").unwrap();
    let retried = stand.run(&root, &["retry", "--json", "mend"]).exits(0);
    let new = retried.document();
    assert_eq!((&new["status"], &new["output"]), (&"COMPLETED".into(), &"mended".into()));
    assert_eq!(new["forked_from"], old["id"]);
    assert_eq!(lines(&counted), ["prepared"], "finished work is kept");
    assert_eq!(stand.show(&root, &name(&old))["status"], "FAILED", "what has ended stays so");
    let again = stand.run(&root, &["retry", &name(&new)]).exits(4);
    assert!(again.err.contains("has not failed"), "{again:#?}");
    let detached = stand.run(&root, &["retry", "--detach", &name(&old)]).exits(0);
    stand.until_status(&root, detached.out.trim_end(), "COMPLETED");
    assert_eq!(lines(&counted), ["prepared"]);
}

#[test]
fn following_a_log_ends_with_the_run() {
    let (stand, root) = Stand::with_repository();
    let run = stand.run(&root, &["run", "--detach", "tree", "--input", "ms=50"]).exits(0).out;
    let run = run.trim_end();
    let mut following = stand.call(&root, &["logs", "-f", run]).start();
    wait_until("it asks", || stand.show(&root, run)["waiting"]["kind"] == "approval");
    assert!(following.has_ended().is_none(), "the run has not ended");
    stand.run(&root, &["approve", run]).exits(0);
    let told = following.done().exits(0).out;
    assert_eq!(told.matches("the first look is always wrong").count(), 2, "{told}");
    let later = stand.run(&root, &["logs", run, "--json"]).exits(0).out;
    assert_eq!(later.lines().count(), 2);
    assert_eq!(stand.run(&root, &["logs", run, "--level", "error"]).exits(0).out, "");
    let step = stand.run(&root, &["logs", run, "--step", "99"]).exits(3);
    assert!(step.err.contains("has no step 99"), "{step:#?}");
}
