//! Settings that change while runs wait: every process that lives goes by the new ones.

use super::site::Site;
use crate::support::wait_until;

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
