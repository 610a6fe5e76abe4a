//! Who has a workspace: it is brought back for its run, and refused to others.

use std::fs;

use rustix::process::Signal;

use super::site::{Site, name_of};
use crate::support::{lines, wait_until};

#[test]
fn a_run_that_waits_goes_on_in_the_background_in_a_workspace_that_is_brought_back() {
    let site = Site::new();
    let (id, path) = site.waits(&["ask"], "approval");
    let refused = site.run(&["workspace", "clean", &id]).exits(4);
    assert!(refused.out.contains(&format!("belongs to the run {id}, which has not ended")));
    assert!(path.exists());
    site.run(&["workspace", "clean", &id, "--force"]).exits(0);
    assert!(!path.exists(), "it is backed up and removed");
    site.run(&["approve", &id]).exits(0);
    let run = site.until_status(&id, "COMPLETED");
    // What was not committed comes out of the backup.
    assert_eq!(run["output"], "before\n");
    let told = site.comments(&id);
    let backup = format!("it is as it was in refs/agentos/backup/{id}/1");
    let path = path.display();
    assert_eq!(told, [format!("the workspace {path} was gone; it was made again; {backup}")]);
    wait_until("it is left", || site.workspace(&id)["status"] == "released");
}

#[test]
fn a_run_whose_folder_somebody_deleted_goes_on_with_what_is_on_its_branch() {
    let site = Site::new();
    let body = format!(
        "await ctx.shell('echo kept > kept.txt; git add .; {} kept'); await ctx.approve('?'); \
         return (await ctx.shell('cat kept.txt')).stdout;",
        super::site::COMMIT
    );
    site.template("keep", &body);
    let (id, path) = site.waits(&["keep"], "approval");
    fs::remove_dir_all(&path).expect("it is there");
    site.run(&["approve", &id]).exits(0);
    assert_eq!(site.until_status(&id, "COMPLETED")["output"], "kept\n");
}

#[test]
fn a_retry_brings_back_the_workspace_of_the_run_that_failed() {
    let site = Site::new();
    let flag = site.stand.at("mended");
    let body = format!(
        "await ctx.shell('echo x > x.txt'); await ctx.shell('test -e {}');",
        flag.display()
    );
    site.template("fail", &body);
    let failed = site.run(&["run", "fail", "--json"]).exits(1);
    let (id, path) = (name_of(&failed), failed.document()["workspace_dir"].clone());
    fs::write(&flag, "").expect("a file");
    fs::remove_dir_all(path.as_str().expect("a path")).expect("it is there");
    let retried = site.run(&["retry", &id, "--json"]).exits(0).document();
    assert_eq!((&retried["workspace_dir"], &retried["status"]), (&path, &"COMPLETED".into()));
    assert_eq!(site.workspace(&id)["status"], "released");
    let failed = site.run(&["run", "fail", "--json", "--workspace-id", "mine"]).exits(0);
    assert_eq!(failed.document()["workspace_id"], "mine");
}

#[test]
fn short_runs_in_the_background_leave_their_workspaces() {
    let site = Site::new();
    site.template("short", "return 1;");
    let started: Vec<_> =
        (0..6).map(|_| site.call(&["run", "short", "--detach"]).start()).collect();
    let ids: Vec<String> =
        started.into_iter().map(|run| run.done().exits(0).out.trim().to_owned()).collect();
    for id in ids {
        site.until_status(&id, "COMPLETED");
        wait_until("it is left", || site.workspace(&id)["status"] == "released");
    }
}

#[test]
fn one_workspace_is_for_one_run_at_a_time() {
    let site = Site::new();
    let (id, path) = site.waits(&["wait", "--workspace-id", "fix"], "signal");
    let refused = site.run(&["run", "work", "--workspace-id", "fix"]).exits(4);
    assert!(refused.err.contains(&format!("is in use by the run {id}")), "{}", refused.err);
    assert_eq!(site.stand.runs(&site.root).len(), 1, "nothing was made");
    // Whoever looks into it does not take it away from the run.
    let looked = site.run(&["workspace", "run", "fix", "--", "pwd"]).exits(0);
    assert_eq!(looked.out.trim_end(), path.to_string_lossy());
    assert!(looked.err.contains(&format!("the run {id} works in it too")), "{}", looked.err);
    assert_eq!(site.workspace("fix")["status"], "in_use");
    site.run(&["signal", &id, "go"]).exits(0);
    site.until_status(&id, "COMPLETED");
    wait_until("it is left", || site.workspace("fix")["status"] == "released");
    site.run(&["run", "work", "--workspace-id", "fix"]).exits(0);
}

#[test]
fn a_command_that_was_killed_does_not_keep_its_workspace() {
    let site = Site::new();
    let (began, end) = (site.stand.at("began"), site.stand.at("end"));
    let script = format!(
        "echo $$ > {}; until [ -e {} ]; do sleep 0.01; done",
        began.display(),
        end.display()
    );
    let mut killed = site.call(&["workspace", "run", "box", "--", "sh", "-c", &script]).start();
    wait_until("it works", || !lines(&began).is_empty());
    let refused = site.run(&["run", "work", "--workspace-id", "box"]).exits(4);
    assert!(refused.err.contains("in use by somebody's command"), "{}", refused.err);
    killed.send(Signal::KILL);
    // What it has started lives on, and would keep us waiting.
    fs::write(&end, "").expect("a file");
    assert_eq!(killed.done().code, None, "it was killed");
    assert_eq!(site.workspace("box")["status"], "in_use", "nobody could write it down");
    site.run(&["run", "work", "--workspace-id", "box"]).exits(0);
    assert_eq!(site.workspace("box")["status"], "released");
}
