//! What is executed only after its user has approved it: the repository's setup command, and an `.envrc`.

use std::fs;
use std::path::{Path, PathBuf};

use super::site::{Site, name_of, steps};
use crate::support::{lines, wait_until};

/// A step in the words of a list.
fn step(name: &str, status: &str) -> (String, String) {
    (name.to_owned(), status.to_owned())
}

#[test]
fn a_setup_is_the_first_step_of_a_run_and_waits_for_its_approval() {
    let site = Site::new();
    let log = site.stand.at("setups");
    site.configure(&format!("[workspace]\nsetup = \"echo set up; echo x >> {}\"\n", log.display()));
    let (id, _) = site.waits(&["work"], "approval");
    assert!(!log.exists());
    let asked = site.run(&["approve", "--show", &id]).exits(0).out;
    assert!(asked.contains("setup command of this repository") && asked.contains("echo set up"));
    let shown = site.run(&["show", &id]).exits(0).out;
    assert!(shown.contains("waits for approval") && shown.contains("setup"), "{shown}");
    site.run(&["approve", &id]).exits(0);
    let run = site.until_status(&id, "COMPLETED");
    assert_eq!(steps(&run)[0], step("shell: setup", "COMPLETED"));
    let first = &run["steps"][0];
    assert!(first["duration"].is_number() && first["output"]["exitCode"] == 0, "{first:#}");
    assert!(site.run(&["logs", &id]).exits(0).out.contains("set up"));
    assert_eq!(lines(&log), ["x"]);
    // Once approved, it is for every workspace; where it was done it is not done again.
    let again = site.run(&["run", "work", "--json", "--workspace-id", "fix"]).exits(0).document();
    assert_eq!(steps(&again).len(), 2);
    let same = site.run(&["run", "work", "--json", "--workspace-id", "fix"]).exits(0).document();
    assert_eq!(steps(&same).len(), 1, "{same:#}");
    assert_eq!(lines(&log), ["x", "x"]);
}

#[test]
fn a_setup_that_nobody_approves_ends_the_run() {
    let site = Site::new();
    site.configure("[workspace]\nsetup = \"touch no\"\n");
    let (id, path) = site.waits(&["work"], "approval");
    site.run(&["approve", "--deny", &id]).exits(0);
    let run = site.until_status(&id, "FAILED");
    assert!(
        run["error"]["message"].as_str().expect("why").contains("did not approve it"),
        "{run:#}"
    );
    assert!(!path.join("no").exists());
}

#[test]
fn a_setup_that_fails_fails_the_run_and_a_retry_executes_it_again() {
    let site = Site::new();
    let (log, mended) = (site.stand.at("setups"), site.stand.at("mended"));
    let command =
        format!("echo x >> {}; echo why >&2; test -e {}", log.display(), mended.display());
    site.configure(&format!("[workspace]\nsetup = \"{command}\"\n"));
    let failed = site.run(&["run", "work", "--json", "--allow-setup"]).exits(1);
    let run = failed.document();
    assert_eq!(steps(&run), [step("shell: setup", "FAILED")]);
    assert!(run["error"]["message"].as_str().expect("why").contains("why"), "{run:#}");
    fs::write(&mended, "").expect("a file");
    let retried = site.run(&["retry", &name_of(&failed), "--json"]).exits(0).document();
    assert_eq!(steps(&retried)[0], step("shell: setup", "COMPLETED"));
    assert_eq!(retried["workspace_dir"], run["workspace_dir"]);
    assert_eq!(lines(&log), ["x", "x"]);
}

#[test]
fn a_setup_outlives_whoever_is_killed_and_is_executed_once() {
    let site = Site::new();
    let (log, go) = (site.stand.at("setups"), site.stand.at("go"));
    let command =
        format!("echo x >> {}; until [ -e {} ]; do sleep 0.01; done", log.display(), go.display());
    site.configure(&format!("[workspace]\nsetup = \"{command}\"\n"));
    let killed = site.call(&["run", "work", "--allow-setup"]).start();
    wait_until("it is set up", || !lines(&log).is_empty());
    killed.kill();
    let id = crate::support::name(&site.stand.only(&site.root, "work"));
    fs::write(&go, "").expect("a file");
    let run = site.run(&["resume", &id, "--json"]).exits(0).document();
    assert_eq!(steps(&run)[0], step("shell: setup", "COMPLETED"));
    assert_eq!(lines(&log), ["x"]);
}

#[test]
fn a_workspace_that_is_made_again_is_set_up_again() {
    let site = Site::new();
    let log = site.stand.at("setups");
    site.configure(&format!("[workspace]\nsetup = \"echo x >> {}\"\n", log.display()));
    let (id, path) = site.waits(&["ask", "--allow-setup"], "approval");
    fs::remove_dir_all(&path).expect("it is there");
    site.run(&["approve", &id]).exits(0);
    wait_until("it is over", || site.show(&id)["completed_at"].is_string());
    assert_eq!(lines(&log), ["x", "x"]);
}

fn direnv() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("direnv"));
    found.into_iter().find(|at| at.exists()).expect("direnv; `cargo xtask test` installs it")
}

fn with_envrc() -> Site {
    let site = Site::new();
    fs::write(site.root.join(".envrc"), "export FROM_ENVRC=first\n").expect("a file");
    site.template("env", "return (await ctx.shell('echo $FROM_ENVRC')).stdout.trim();");
    let change = "echo export FROM_ENVRC=changed > .envrc";
    site.template(
        "change",
        &format!("await ctx.shell('{change}'); return (await ctx.shell('echo $FROM_ENVRC')).stdout.trim();"),
    );
    site.commit("an envrc");
    direnv();
    site
}

#[test]
fn an_envrc_that_is_not_allowed_makes_the_run_wait_for_its_user() {
    let site = with_envrc();
    let (id, _) = site.waits(&["env"], "approval");
    let shown = site.run(&["show", &id]).exits(0).out;
    assert!(shown.contains("is not approved") && shown.contains("agentos approve"), "{shown}");
    let listed = site.run(&["status"]).exits(0).out;
    assert!(listed.contains("approval"), "{listed}");
    site.run(&["approve", &id]).exits(0);
    assert_eq!(site.until_status(&id, "COMPLETED")["output"], "first");
}

#[test]
fn an_envrc_that_an_agent_has_changed_is_not_executed_before_its_user_has_seen_it() {
    let site = with_envrc();
    let allow = site.stand.call_program(&direnv(), &site.root, &["allow"]);
    allow.done().exits(0);
    let (id, path) = site.waits(&["change"], "approval");
    let asked = site.run(&["approve", "--show", &id]).exits(0).out;
    assert!(asked.contains("not what it was when the workspace was made"), "{asked}");
    // What is approved is what was asked about: another change is another question.
    fs::write(Path::new(&path).join(".envrc"), "export FROM_ENVRC=again\n").expect("a file");
    let since = site.show(&id)["waiting"]["since"].clone();
    site.run(&["approve", &id]).exits(0);
    wait_until("it asks again", || {
        let run = site.show(&id);
        run["waiting"]["kind"] == "approval" && run["waiting"]["since"] != since
    });
    site.run(&["approve", &id]).exits(0);
    assert_eq!(site.until_status(&id, "COMPLETED")["output"], "again");
}
