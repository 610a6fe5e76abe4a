//! Runs that start runs never wait for one another's slots.

use super::site::Site;

/// Invokes itself until it is deep enough, with something to do before and after.
const DEEPER: &str = r#"
  await ctx.shell("true");
  const below = ctx.input.depth > 0 ? await ctx.invoke("deeper", { depth: ctx.input.depth - 1 }) : 0;
  await ctx.shell("true");
  return below + 1;
"#;

fn deep(config: &str) -> Site {
    let site = Site::new();
    let input = "input: { type: \"object\", properties: { depth: { type: \"number\" } } }";
    site.template("deeper", &format!("concurrency: 1, {input}"), DEEPER);
    site.configure(config);
    site
}

#[test]
fn one_slot_is_enough_for_a_run_and_whatever_it_invokes() {
    let site = deep("[limits]\nruns_per_repo = 1\n");
    let done = site.run(&["run", "deeper", "--depth", "3", "--json"]).exits(0).document();
    assert_eq!(done["output"], 4);
    let background = site.run(&["run", "deeper", "--depth", "3", "--detach"]).exits(0);
    let other = site.call(&["run", "deeper", "--depth", "2", "--json"]).start();
    site.until_status(background.out.trim(), "COMPLETED");
    assert_eq!(other.done().exits(0).document()["output"], 3);
}

#[test]
fn a_command_of_a_run_may_start_a_run_though_there_is_one_slot() {
    let site = Site::new();
    let binary = env!("CARGO_BIN_EXE_agentos");
    site.template(
        "outer",
        "",
        &format!(r#"return (await ctx.shell("{binary} run inner --workspace none")).exitCode;"#),
    );
    site.template("inner", "concurrency: 1", r#"await ctx.shell("true");"#);
    site.configure_user("[limits]\nruns = 1\n");
    let done = site.run(&["run", "outer", "--json"]).exits(0).document();
    assert_eq!(done["output"], 0);
}

#[test]
fn who_works_beside_a_child_that_waits_is_waited_for() {
    let site = Site::new();
    // The parent is at work, so the child is not; as soon as it only waits, the child is.
    let body = r#"
      const [, child] = await Promise.all([ctx.shell("sleep 0.2"), ctx.invoke("child", {})]);
      return child;
    "#;
    site.template("parent", "", body);
    site.template("child", "", r#"return (await ctx.shell("echo hi")).stdout.trim();"#);
    site.configure("[limits]\nruns_per_repo = 1\n");
    let done = site.run(&["run", "parent", "--json"]).exits(0).document();
    assert_eq!(done["output"], "hi");
}
