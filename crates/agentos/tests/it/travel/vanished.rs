//! Runs whose workspaces vanish: a cache is wiped, a folder is deleted.

use std::fs;

use super::site::{Site, file};
use crate::support::wait_until;

/// A step that leaves a file that is not committed, then something to wait for.
const SLOW: &str = r#"
  await ctx.run("one", async (ctx) => ctx.shell("echo kept > untracked.txt"));
  await ctx.run("slow", async (ctx) => ctx.shell(`touch ${ctx.input.at}; while [ ! -e ${ctx.input.go} ]; do sleep 0.02; done`));
  return (await ctx.run("two", async (ctx) => ctx.shell("cat untracked.txt"))).stdout;
"#;

#[test]
fn what_was_kept_is_in_a_workspace_that_is_made_again() {
    for kind in ["worktree", "clone"] {
        let site = Site::new(SLOW);
        let (at, go) = (site.outside("at"), site.outside("go"));
        let (one, two) = (format!("at={}", at.display()), format!("go={}", go.display()));
        let arguments =
            ["run", "work", "--json", "--workspace", kind, "--input", &one, "--input", &two];
        let run = site.begin(&arguments);
        wait_until("it is in the second step", || at.exists());
        let workspace = site.show(&site.only())["workspace_dir"].clone();
        fs::remove_dir_all(workspace.as_str().expect("a folder")).expect("it is removed");
        fs::write(&go, "").expect("a file");
        let run = run.done().exits(0).document();
        assert_eq!(run["output"], "kept\n", "{run:#}");
        let said = run["comments"].to_string();
        assert!(said.contains("its files are those of snapshot"), "{said}");
        assert_eq!(run["comments"].as_array().map(Vec::len), Some(1), "{said}");
    }
}

#[test]
fn a_retry_finds_what_was_kept_in_a_workspace_that_has_vanished() {
    let site = Site::new(
        r#"
  await ctx.run("one", async (ctx) => ctx.shell("echo kept > untracked.txt"));
  await ctx.run("gate", async (ctx) => ctx.shell(`test -e ${ctx.input.ok}`), { retry: false });
  return (await ctx.run("two", async (ctx) => ctx.shell("cat untracked.txt"))).stdout;
"#,
    );
    let ok = site.outside("ok");
    let failed = site.ends(&["run", "work", "--input", &format!("ok={}", ok.display())], 1);
    fs::remove_dir_all(failed["workspace_dir"].as_str().expect("a folder")).expect("it is gone");
    fs::write(&ok, "").expect("a file");
    let mended = site.ends(&["retry", failed["run_id"].as_str().expect("a name")], 0);
    assert_eq!(mended["output"], "kept\n", "{mended:#}");
    assert_eq!(file(&mended, "untracked.txt"), "kept\n");
}

#[test]
fn what_a_run_that_waits_has_done_is_kept() {
    let site = Site::new(
        r#"
  await ctx.run("one", async (ctx) => ctx.shell("echo kept > untracked.txt"));
  await ctx.waitFor("go");
  return (await ctx.run("two", async (ctx) => ctx.shell("cat untracked.txt"))).stdout;
"#,
    );
    let run = site.run(&["run", "work", "--detach"]).exits(0).out.trim().to_owned();
    wait_until("it waits", || site.show(&run)["waiting"]["kind"] == "signal");
    let workspace = site.show(&run)["workspace_dir"].clone();
    fs::remove_dir_all(workspace.as_str().expect("a folder")).expect("it is removed");
    site.run(&["signal", &run, "go"]).exits(0);
    wait_until("it has ended", || !site.show(&run)["completed_at"].is_null());
    assert_eq!(site.show(&run)["output"], "kept\n", "{:#}", site.show(&run));
}
