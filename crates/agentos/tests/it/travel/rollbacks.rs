//! `onRetry: "rollback"`.

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
