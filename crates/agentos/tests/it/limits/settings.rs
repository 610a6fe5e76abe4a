//! Settings that change while runs wait: every process that lives goes by the new ones.

use std::path::Path;

use serde_json::json;

use super::site::{HOLD, Site};
use crate::server::stage::{Server, id};
use crate::support::{name, sqlite, wait_until};

#[test]
fn a_limit_that_is_raised_lets_waiting_runs_begin_in_the_foreground_and_in_the_background() {
    let site = Site::new();
    site.hold("");
    site.configure("[limits]\nruns_per_repo = 1\n");
    let (holder, _) = site.foreground("hold");
    site.until_begun(1);
    let (waiter, waits) = site.foreground("hold");
    let detached = site.detached("hold");
    site.until_it_waits(&waits, "slot");
    site.until_it_waits(&detached, "slot");
    site.configure("[limits]\nruns_per_repo = 3\n");
    site.until_begun(3);
    site.go();
    holder.done().exits(0);
    waiter.done().exits(0);
    site.until_status(&detached, "COMPLETED");
    assert_eq!(site.most_at_once(), 3);
}

#[test]
fn the_background_executor_drives_more_runs_at_once_when_it_may() {
    let site = Site::new();
    site.hold("");
    site.configure("[run]\nconcurrency = 1\n");
    let first = site.detached("hold");
    site.until_begun(1);
    let second = site.detached("hold");
    assert_eq!(site.begun(), 1);
    site.configure("[run]\nconcurrency = 2\n");
    site.until_begun(2);
    site.go();
    site.until_status(&first, "COMPLETED");
    site.until_status(&second, "COMPLETED");
}

#[test]
fn a_run_that_waits_for_room_goes_on_when_less_has_to_stay_free() {
    let site = Site::new();
    site.template("brief", "", r#"await ctx.shell("true"); return "done";"#);
    site.configure("[workspace]\nmin_free_disk = \"900 TB\"\n");
    let call = ["run", "brief", "--workspace", "worktree"];
    let detached = site.run(&[&call[..], &["--detach"]].concat()).exits(0).out.trim().to_owned();
    let foreground = site.call(&[&call[..], &["--json"]].concat()).start();
    wait_until("both wait", || {
        site.runs().iter().filter(|run| run["waiting"]["kind"] == "disk").count() == 2
    });
    site.configure("[workspace]\nmin_free_disk = \"1 kB\"\n");
    assert_eq!(foreground.done().exits(0).document()["output"], "done");
    site.until_status(&detached, "COMPLETED");
}

#[test]
fn a_limit_that_is_raised_lets_a_waiting_run_of_a_server_begin() {
    let site = Site::new();
    site.hold("");
    site.configure("[limits]\nruns_per_repo = 1\n");
    let server = Server::of(site.call(&["serve", "--port", "0"]));
    let first = id(&server.execute("hold", &json!({})));
    site.until_begun(1);
    let second = id(&server.execute("hold", &json!({})));
    let path = format!("/api/executions/{second}");
    wait_until("the second waits", || {
        server.get(&path).is(200).json()["waiting"]["kind"] == "slot"
    });
    site.configure("[limits]\nruns_per_repo = 2\n");
    site.until_begun(2);
    site.go();
    server.until_status(&first, "COMPLETED");
    server.until_status(&second, "COMPLETED");
    assert_eq!((site.most_at_once(), site.begun()), (2, 2), "at once, and each of them once");
    server.stop();
}

/// That a waiting run begins shows that its process has read the changed files.
#[test]
fn workspaces_go_at_the_end_of_runs_that_began_before_the_settings_said_so() {
    let site = Site::new();
    let go = format!("-e {}/go", site.root.display());
    site.template("hold", "", &format!("await {};", HOLD.replace("-e go", &go)));
    site.stand.git(&site.root, &["add", "."]);
    site.stand.git(&site.root, &["commit", "--quiet", "-m", "a workflow"]);
    site.configure("[limits]\nruns_per_repo = 1\n");
    let server = Server::of(site.call(&["serve", "--port", "0"]));
    let execute = || {
        let input = json!({ "workspace": { "kind": "worktree" } });
        id(&server.post("/api/workflows/hold/execute", &input).is(201).json())
    };
    let first = execute();
    site.until_begun(1);
    let second = execute();
    let call = ["run", "hold", "--workspace", "worktree", "--json"];
    let foreground = site.call(&call).start();
    wait_until("two wait for a slot", || site.waiting() == 2);
    site.configure("[limits]\nruns_per_repo = 3\n[workspace]\ncleanup_on_complete = true\n");
    site.until_begun(3);
    site.go();
    let mut ended = vec![foreground.done().exits(0).document()];
    ended.extend([first, second].map(|run| server.until_status(&run, "COMPLETED")));
    for run in ended {
        let folder = run["workspace_dir"].as_str().expect("a workspace");
        wait_until("its workspace is gone", || !Path::new(folder).exists());
    }
    server.stop();
}

#[test]
fn a_server_backs_up_as_much_of_a_workspace_as_the_settings_say_now() {
    let site = Site::new();
    let command = "echo large.bin > .gitignore; head -c 2000000 /dev/urandom > large.bin";
    site.template("leave", "", &format!("await ctx.shell({command:?});"));
    site.configure("[workspace]\nbackup_max_size = \"1 MB\"\n");
    let server = Server::of(site.call(&["serve", "--port", "0"]));
    let input = json!({ "workspace": { "kind": "worktree", "id": "box" } });
    let run = id(&server.post("/api/workflows/leave/execute", &input).is(201).json());
    let run = server.until_status(&run, "COMPLETED");
    let large = Path::new(run["workspace_dir"].as_str().expect("a path")).join("large.bin");
    let clean = || server.post("/api/workspaces/box/clean", &json!({ "force": true }));
    let refused = clean();
    let why = refused.json()["detail"].to_string();
    assert!(refused.status != 200 && why.contains("workspace.backup_max_size"), "{why}");
    assert!(large.exists(), "nothing is removed without a backup");
    site.configure("[workspace]\nbackup_max_size = \"100 MB\"\n");
    wait_until("it may be backed up", || clean().status == 200);
    assert!(!large.exists());
    server.post("/api/workspaces/box/restore", &json!({})).is(200);
    assert_eq!(large.metadata().expect("it is back").len(), 2_000_000);
    server.stop();
}

/// The run is made to look a day old: the older one is, the longer it waits before it looks for room again.
#[test]
fn a_run_that_waits_for_room_and_is_taken_over_goes_by_the_settings_as_they_are_now() {
    let site = Site::new();
    site.template("brief", "", r#"await ctx.shell("true"); return "done";"#);
    site.configure("[workspace]\nmin_free_disk = \"900 TB\"\n");
    let call = ["run", "brief", "--workspace", "worktree", "--json"];
    let mut process = site.call(&call).start();
    let waits_for_room = || site.runs().into_iter().find(|run| run["waiting"]["kind"] == "disk");
    wait_until("it waits for room", || waits_for_room().is_some());
    let database = site.root.join(".agentos/issue_workflow.db");
    sqlite(&database, include_str!("day_old.sql"));
    let run = name(&waits_for_room().expect("it waits"));
    let mut until = String::new();
    let mut waits_for_minutes = || {
        let waiting = site.show(&run)["waiting"].clone();
        let time = |key: &str| waiting[key].as_str()?.parse::<jiff::Timestamp>().ok();
        let minutes = time("until")?.duration_since(time("since")?).as_mins();
        until = waiting["until"].as_str()?.to_owned();
        Some(minutes >= 4)
    };
    wait_until("it waits for minutes", || waits_for_minutes() == Some(true));
    process.stand_still(&database);
    site.configure("[workspace]\nmin_free_disk = \"1 kB\"\n");
    let done = site.run(&["resume", "--take-over", &run, "--json"]).exits(0).document();
    assert_eq!(done["output"], "done", "{done:#}");
    let ended = done["completed_at"].as_str().expect("a time");
    assert!(ended < until.as_str(), "it had to wait until {until}: {done:#}");
    assert_eq!(process.done().code, None, "the process that stood still was ended");
}
