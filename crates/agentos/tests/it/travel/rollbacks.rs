//! `onRetry: "rollback"`.

use std::fs;
use std::path::Path;

use super::site::{Site, file, step};

/// Makes a mess in its first attempt, and looks in its second whether it is gone.
const MESS: &str = r#"
  await ctx.run("before", async (ctx) => ctx.shell("mkdir -p src empty && printf 'a\\r\\n' > src/a.txt && chmod 755 src/a.txt && ln -sfn a.txt src/link"));
  return ctx.run("work", async (ctx) => {
    const found = await digest(ctx);
    if (ctx.attempt === 1) ctx.set("found", found);
    if (found !== ctx.get("found")) throw new NonRetryableError(`attempt ${ctx.attempt} finds other files`);
    await ctx.run("inner", async (ctx) => ctx.shell("rm -rf src empty; echo new > new.txt; git add -A; git -c user.name=a -c user.email=a@b commit -qm mess; echo more > README.md"));
    if (ctx.attempt < 3) throw new Error("again");
    return found;
  }, { onRetry: "rollback", retry: { maxAttempts: 3, delay: 1, jitter: false } });
"#;

#[test]
fn a_further_attempt_finds_the_files_as_the_first_one_did() {
    for kind in ["worktree", "clone"] {
        let site = Site::new(MESS);
        let run = site.ends(&["run", "work", "--workspace", kind], 0);
        assert_eq!(step(&run, "work")["attempt_number"], 3, "{run:#}");
        assert_eq!(run["comments"].as_array().map(Vec::len), Some(0), "{run:#}");
        assert_eq!(file(&run, "new.txt"), "new\n");
    }
}

#[test]
fn without_it_a_further_attempt_finds_what_the_one_before_has_left() {
    let site = Site::new(&MESS.replace("onRetry: \"rollback\", ", ""));
    let run = site.ends(&["run", "work"], 1);
    let said = run["error"]["message"].as_str().expect("a message");
    assert_eq!(said, "attempt 2 finds other files");
}

#[test]
fn an_attempt_that_has_changed_nothing_needs_no_way_back() {
    let site = Site::new(
        r#"
  await ctx.run("work", async (ctx) => {
    if (ctx.attempt === 1) throw new Error("again");
    await ctx.files.write("a.txt", "a");
  }, { onRetry: "rollback", retry: { maxAttempts: 2, delay: 1 } });
"#,
    );
    // Not even where there is none.
    let run = site.ends(&["run", "work", "--workspace", "none"], 0);
    assert_eq!(step(&run, "work")["attempt_number"], 2);
}

/// An attempt that is taken back, with a step inside that has finished.
const INNER: &str = r#"
  return ctx.run("work", async (outer) => {
    if (ctx.input.word === "well" && outer.attempt > 1) throw new NonRetryableError("nothing was to fail");
    await outer.run("inner", async (ctx) => ctx.shell("echo made > inner.txt"));
    return outer.run("check", async (ctx) => {
      const found = await ctx.files.read("inner.txt");
      if (ctx.input.word !== "well" && outer.attempt === 1) throw new Error("again");
      return found;
    }, { retry: false });
  }, { onRetry: "rollback", retry: { maxAttempts: 2, delay: 1 } });
"#;

#[test]
fn what_an_attempt_has_left_is_kept_when_it_is_taken_back() {
    let word = "input: { type: \"object\", properties: { word: { type: \"string\" } } }";
    let site = Site::configured(word, INNER);
    let run = site.ends(&["run", "work", "--input", "word=ill"], 0);
    assert_eq!(run["output"], "made\n", "{run:#}");
    let name = crate::support::name(&run);
    let told = site.run(&["diff", &name, "--step", "2", "--json"]).exits(0).document();
    assert_eq!(told["files"][0]["path"], "inner.txt", "{told:#}");
    // The step after it, in the attempt that was taken back: it finds what its attempt had made.
    let forked = site.ends(&["fork", &name, "--from-step", "3", "--input", "word=well"], 0);
    assert_eq!(forked["output"], "made\n", "{forked:#}");
}

#[test]
fn files_that_are_halfway_back_are_brought_there_before_anything_else_is_done() {
    let site = Site::new(
        r#"
  await ctx.run("one", async (ctx) => ctx.shell("echo one > a.txt; echo one > b.txt"));
  await ctx.run("two", async (ctx) => {
    await ctx.shell("echo two > a.txt; echo two > b.txt");
    await ctx.shell(`test -e ${ctx.input.ok}`, { name: "gate" });
  }, { retry: false });
  return (await ctx.shell("cat a.txt b.txt")).stdout;
"#,
    );
    let ok = site.outside("ok");
    let input = format!("ok={}", ok.display());
    let failed = site.ends(&["run", "work", "--input", &input], 1);
    // As if somebody had been interrupted on the way back to before the second step.
    let kept = [
        "log",
        "--format=%H%n%B",
        &format!("refs/agentos/runs/{}", failed["id"].as_str().expect("an id")),
    ];
    let log = site.stand.git(&site.root, &kept);
    let two = log.lines().find(|line| line.contains("\"number\":2"));
    let said: serde_json::Value = serde_json::from_str(two.expect("it is there")).expect("JSON");
    let refs = format!("refs/agentos/runs/{}~1", failed["id"].as_str().expect("an id"));
    let commit = site.stand.git(&site.root, &["rev-parse", &refs]).trim().to_owned();
    let snapshot = serde_json::json!({
        "commit": commit, "number": 2, "label": said["label"], "at": said["at"]
    });
    let workspace = failed["workspace_dir"].as_str().expect("a folder");
    let private = site.stand.git(Path::new(workspace), &["rev-parse", "--absolute-git-dir"]);
    let note = Path::new(private.trim()).join("agentos/snapshot/returning.json");
    fs::write(&note, serde_json::json!({ "snapshot": snapshot }).to_string()).expect("a note");
    fs::write(Path::new(workspace).join("a.txt"), "one\n").expect("half of it");
    fs::write(&ok, "").expect("a file");
    fs::write(Path::new(workspace).join("left.txt"), "").expect("a file");
    let name = crate::support::name(&failed);
    let mended = site.ends(&["retry", &name], 0);
    assert_eq!(mended["output"], "two\ntwo\n", "{mended:#}");
    assert!(!Path::new(workspace).join("left.txt").exists(), "it went back first: {mended:#}");
    assert!(!note.exists());
    let said = mended["comments"].to_string();
    assert!(said.contains("halfway back"), "{said}");
    // Nothing is in the way of keeping files from then on.
    site.run(&["diff", &crate::support::name(&mended), "--step", "two"]).exits(0);
}
