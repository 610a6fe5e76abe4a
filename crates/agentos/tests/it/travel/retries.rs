//! `agentos retry` with files.

use std::fs;

use super::site::{Site, file};
use crate::support::lines;

#[test]
fn a_retry_repeats_nothing_that_had_finished_and_finds_the_files_as_they_are() {
    let site = Site::new(
        r#"
  const count = ctx.input.count;
  await ctx.run("one", async (ctx) => ctx.shell(`echo one >> ${count}; echo one > one.txt`));
  await ctx.run("two", async (ctx) => {
    await ctx.shell(`echo two >> ${count}; echo half > two.txt`);
    await ctx.shell(`test -e ${count}.ok`, { name: "check" });
  }, { retry: false });
  return (await ctx.shell("cat one.txt two.txt")).stdout;
"#,
    );
    let count = site.outside("count");
    let input = format!("count={}", count.display());
    let failed = site.ends(&["run", "work", "--input", &input], 1);
    let name = failed["run_id"].as_str().expect("a name").to_owned();
    fs::write(site.outside("count.ok"), "").expect("a file");
    let mended = site.ends(&["retry", &name], 0);
    assert_eq!(mended["output"], "one\nhalf\n");
    assert_eq!(lines(&count), ["one", "two", "two"]);
    assert_eq!(mended["workspace_dir"], failed["workspace_dir"]);
    assert_eq!(mended["forked_from"], failed["id"]);
    assert_eq!(file(&mended, "two.txt"), "half\n");
    let shown = site.run(&["show", mended["run_id"].as_str().expect("a name")]).exits(0).out;
    assert!(shown.contains("forked from"), "{shown}");
    // What the mended run began with was done by the failed one: its files are found there.
    let new = mended["run_id"].as_str().expect("a name");
    let forked = site.ends(&["fork", new, "--from-step", "one"], 0);
    assert_eq!(forked["output"], "one\nhalf\n");
    assert_eq!(lines(&count), ["one", "two", "two", "one", "two"]);
    // The second step of the mended run found what the failed one had left.
    let shell = site.run(&["diff", new, "--step", "two", "--json"]).exits(0).document();
    assert_eq!(shell["files_changed"], 0, "{shell:#}");
}
