//! Where there is no way back, and who is in the way.

use std::fs;

use super::site::Site;

fn message(run: &serde_json::Value) -> &str {
    run["error"]["message"].as_str().expect("a message")
}

/// `beside` is at work when `work` begins, and until it has failed once.
const BESIDE: &str = r#"
  const beside = ctx.run("beside", async (ctx) => ctx.shell("touch begun; while [ ! -e failed ]; do sleep 0.02; done"));
  while (!(await ctx.run("look", async (ctx) => ctx.files.exists("begun")))) await ctx.sleep(10);
  try {
    await ctx.run("work", async (ctx) => {
      await ctx.files.write("a.txt", "a");
      throw new Error("again");
    }, OPTIONS);
  } catch (error) {
    ctx.set("said", error.message);
  }
  await ctx.files.write("failed", "");
  await beside;
  return ctx.get("said");
"#;

#[test]
fn a_step_that_overlapped_with_another_one_is_not_rolled_back() {
    let options = r#"{ onRetry: "rollback", retry: { maxAttempts: 2, delay: 1 } }"#;
    let site = Site::new(&BESIDE.replace("OPTIONS", options));
    let run = site.ends(&["run", "work"], 0);
    let said = run["output"].as_str().expect("a text");
    assert_eq!(
        said,
        "the files can't go back to the start of `work`: `beside` worked on them at the same time"
    );
}

#[test]
fn a_run_is_not_forked_from_where_another_step_was_at_work() {
    let site = Site::new(&BESIDE.replace("OPTIONS", "{ retry: false }"));
    let run = site.ends(&["run", "work"], 0);
    let run = run["run_id"].as_str().expect("a name");
    let refused = site.run(&["fork", run, "--from-step", "work"]).exits(4);
    let said = format!("`beside` was at work on the files of {run} when `work` began");
    assert!(refused.err.contains(&said), "{}", refused.err);
    let refused = site.run(&["diff", run, "--step", "work"]).exits(4);
    assert!(
        refused.err.contains("`beside` worked on the files at the same time"),
        "{}",
        refused.err
    );
    let listed = site.run(&["workspace", "list", "--json"]).exits(0).document();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "nothing is left of it");
}

const AGAIN: &str = r#"
  await ctx.run("work", async (ctx) => {
    await ctx.files.write("a.txt", "a");
    throw new Error("again");
  }, { onRetry: "rollback", retry: { maxAttempts: 3, delay: 1 } });
"#;

#[test]
fn the_checkout_itself_is_not_rolled_back() {
    let site = Site::new(AGAIN);
    let run = site.ends(&["run", "work", "--workspace", "none"], 1);
    assert!(message(&run).contains("the run works in the checkout itself"), "{run:#}");
    assert_eq!(run["steps"][0]["attempt_number"], 2, "that can't be retried: {run:#}");
    let name = run["run_id"].as_str().expect("a name");
    let refused = site.run(&["fork", name, "--from-step", "1"]).exits(4);
    assert!(refused.err.contains("works in the checkout itself"), "{}", refused.err);
    site.run(&["diff", name]).exits(4);
}

#[test]
fn whoever_switches_snapshots_off_has_no_way_back() {
    let site = Site::new(AGAIN);
    fs::write(site.root.join(".agent/config.toml"), "[workspace]\nsnapshots = \"never\"\n")
        .expect("a configuration");
    let run = site.ends(&["run", "work"], 1);
    assert!(message(&run).contains("snapshots are switched off"), "{run:#}");
    let name = run["run_id"].as_str().expect("a name");
    let refused = site.run(&["fork", name, "--from-step", "1"]).exits(4);
    assert!(refused.err.contains("were not kept as they were"), "{}", refused.err);
}

#[test]
fn a_step_that_there_is_not_or_that_could_be_several_is_told() {
    let site = Site::new(
        r#"
  await ctx.run("same", async (ctx) => ctx.files.write("a.txt", "a"));
  await ctx.run("same", async (ctx) => ctx.files.write("b.txt", "b"));
"#,
    );
    let run = site.ends(&["run", "work"], 0);
    let name = run["run_id"].as_str().expect("a name");
    let told = site.run(&["fork", name, "--from-step", "same"]).exits(2);
    assert!(told.err.contains("`same` could be step 1 or 2 of"), "{}", told.err);
    site.run(&["fork", name, "--from-step", "other"]).exits(3);
    site.run(&["fork", name, "--from-step", "3"]).exits(3);
    site.run(&["fork", name, "--from-step", "2", "--workspace", "none"]).exits(2);
    site.run(&["fork", name, "--from-step", "2", "--workspace", "nest"]).exits(2);
}

#[test]
fn what_can_not_be_kept_is_told_on_the_run_and_the_run_goes_on() {
    let site = Site::new(
        r#"
  await ctx.run("one", async (ctx) => ctx.shell("mkfifo pipe"));
  await ctx.run("two", async (ctx) => ctx.files.write("a.txt", "a"));
  return "done";
"#,
    );
    let run = site.ends(&["run", "work"], 0);
    let comments = run["comments"].as_array().expect("a list");
    // Whether git can keep such a thing is not for this test to say, but if not, it is said once.
    assert!(comments.len() <= 1, "{comments:#?}");
    let name = run["run_id"].as_str().expect("a name");
    site.run(&["fork", name, "--from-step", "one"]).exits(0);
}

#[test]
fn what_was_not_kept_is_told_as_it_is() {
    let site = Site::new(
        r#"
  await ctx.run("outer", async (ctx) => {
    await ctx.run("inner", async (ctx) => ctx.files.write("a.txt", "a"));
    await ctx.shell("echo b > b.txt");
  });
"#,
    );
    let run = site.ends(&["run", "work", "--workspace", "worktree"], 0);
    let name = run["run_id"].as_str().expect("a name");
    let told = site.run(&["diff", name, "--step", "inner"]).exits(4);
    assert!(told.err.contains("were not kept as they were when `inner` ended"), "{}", told.err);
    let told = site.run(&["fork", name, "--from-step", "inner", "--workspace", "jj"]).exits(4);
    assert!(told.err.contains("can't be forked into one of the kind jj"), "{}", told.err);
}

#[test]
fn an_operation_outside_of_a_step_is_told_by_what_it_does() {
    let site = Site::new(
        r#"
  await ctx.shell("echo one > a.txt");
  const all = [ctx.shell("touch begun; while [ ! -e go ]; do sleep 0.02; done")];
  all.push(ctx.run("look", async (ctx) => { while (!(await ctx.files.exists("begun"))) await ctx.sleep(10); }));
  await all[1];
  await ctx.shell("echo two > b.txt; touch go");
  await all[0];
"#,
    );
    let run = site.ends(&["run", "work"], 0);
    let run = run["run_id"].as_str().expect("a name");
    let forked = site.run(&["fork", run, "--from-step", "1"]).exits(0).err;
    assert!(forked.contains("goes on from step 1 `shell: echo one > a.txt` of"), "{forked}");
    let refused = site.run(&["diff", run, "--step", "4"]).exits(4).err;
    let waiting = "`shell: touch begun; while [ ! -e go ]; do sleep 0.02; done`";
    let two = "`shell: echo two > b.txt; touch go`";
    let said = format!("{waiting} worked on the files at the same time as {two}");
    assert!(refused.contains(&said), "{refused}");
    let refused = site.run(&["fork", run, "--from-step", "4"]).exits(4).err;
    let said = format!("{waiting} was at work on the files of {run} when {two} began");
    assert!(refused.contains(&said), "{refused}");
}
