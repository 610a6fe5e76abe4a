//! Commands about a run find it in whatever worktree it is.

use std::fs;

use super::{DATABASE, Site};
use crate::support::{name, wait_until};

#[test]
fn a_run_is_shown_answered_and_cancelled_from_another_worktree() {
    let site = Site::new();
    let one = site.worktree("one");
    let done = name(&site.greet(&one));
    assert_eq!(site.stand.show(&site.root, &done)["work_dir"], *one.to_string_lossy());
    let logs = site.stand.run(&site.root, &["logs", &done]).exits(0);
    assert_eq!(logs.out, site.stand.run(&one, &["logs", &done]).exits(0).out);
    assert!(!logs.out.is_empty());
    site.stand.run(&site.root, &["artifacts", &done]).exits(0);

    site.stand.run(&one, &["run", "ask", "--detach"]).exits(0);
    let asked = name(&site.stand.only(&one, "ask"));
    let asks = || site.stand.show(&one, &asked)["waiting"]["kind"] == "approval";
    wait_until("it asks", asks);
    site.stand.run(&site.root, &["approve", &asked]).exits(0);
    site.stand.until_status(&site.root, &asked, "COMPLETED");

    site.stand.run(&one, &["run", "listen", "--detach"]).exits(0);
    let listening = name(&site.stand.only(&one, "listen"));
    site.stand.run(&site.root, &["signal", &listening, "go"]).exits(0);
    site.stand.until_status(&one, &listening, "COMPLETED");

    site.stand.run(&one, &["run", "nap", "--input", "ms=600000", "--detach"]).exits(0);
    let napping = name(&site.stand.only(&one, "nap"));
    site.stand.run(&site.root, &["cancel", &napping]).exits(0);
    assert_eq!(site.stand.show(&one, &napping)["status"], "CANCELLED");
    assert!(!site.root.join(DATABASE).exists(), "nothing was made where the commands were called");
}

#[test]
fn a_beginning_that_fits_two_worktrees_names_both() {
    let site = Site::new();
    let one = site.worktree("one");
    let (here, there) = (site.greet(&site.root), site.greet(&one));
    let told = site.stand.run(&site.root, &["show", "greet"]).exits(2);
    for (run, worktree) in [(&here, "main"), (&there, "one")] {
        assert!(told.err.contains(&format!("{} ({worktree})", name(run))), "{told:#?}");
    }
    site.stand.run(&site.root, &["show", "nobody"]).exits(3);
}

#[test]
fn a_run_whose_worktree_is_gone_is_still_found_in_a_database_that_was_named() {
    let site = Site::new();
    let (one, custom) = (site.worktree("one"), site.stand.at("custom.db"));
    let run = site.stand.call(&one, &["run", "greet", "--name", "Ada", "--json"]);
    let run = run.env("AGENTOS_WORKFLOW_DB", &custom).done().exits(0).document();
    fs::remove_dir_all(&one).expect("it is removed");
    assert_eq!(site.stand.show(&site.root, &name(&run))["id"], run["id"]);
    site.stand.run(&site.root, &["cancel", &name(&run)]).exits(0);
}
