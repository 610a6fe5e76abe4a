//! `agentos diff`.

use std::fs;

use super::site::Site;
use crate::support::{assert_seen, name};

const STEPS: &str = r#"
  await ctx.run("write", async (ctx) => {
    await ctx.files.write("notes/a.txt", "one\ntwo\n");
    await ctx.files.write("b.txt", "b\n");
  });
  await ctx.run("build", async (ctx) => ctx.runCli("build", claude, "Build it"));
  await ctx.run("change", async (ctx) => ctx.shell("printf 'one\\n2\\nthree\\n' > notes/a.txt; rm b.txt; printf 'a\\0b' > image.bin; git add -A; git -c user.name=a -c user.email=a@b commit -qm change"));
  await ctx.run("rest", async () => {});
"#;

fn site() -> Site {
    let site = Site::new(STEPS);
    for (name, text, tokens) in [("one", "first", 100), ("two", "second", 250)] {
        let items = format!(
            "{{ write = {{ file = \"built.txt\", content = \"{text}\\n\" }} }},\n\
             {{ tokens = {{ input = {tokens}, output = 10, cost_usd = 0.02 }} }}"
        );
        let scenario = format!("[[session]]\nplay = [\n{items}\n]\n");
        fs::write(site.root.join(format!("{name}.toml")), scenario).expect("a scenario");
    }
    site
}

#[test]
fn what_a_run_a_step_and_two_runs_have_done_is_told() {
    let site = site();
    let run = site.ends(&["run", "work", "--agent", "claude=scripted:one.toml"], 0);
    let run = name(&run);
    let seen = |arguments: &[&str]| site.run(arguments).exits(0).seen();
    assert_seen!(&site.stand, "diff_run", seen(&["diff", &run]));
    assert_seen!(&site.stand, "diff_run_stat", seen(&["diff", &run, "--stat"]));
    assert_seen!(&site.stand, "diff_step", seen(&["diff", &run, "--step", "change"]));
    assert_seen!(&site.stand, "diff_step_of_nothing", seen(&["diff", &run, "--step", "rest"]));
    let arguments = ["fork", &run, "--from-step", "build", "--agent", "claude=scripted:two.toml"];
    let forked = name(&site.ends(&arguments, 0));
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\bwork-[a-z]{6}\b", "work-[six]");
    settings.add_filter(r" *\b(\d+ m )?\d+(\.\d+)? m?s\b", " [span]");
    settings.add_filter(r"STATUS +TIME", "STATUS  TIME");
    settings.bind(|| {
        assert_seen!(&site.stand, "diff_against", seen(&["diff", &run, "--against", &forked]));
    });
    let document = site.run(&["diff", &run, "--against", &forked, "--json"]).exits(0).document();
    assert_eq!(document["files_changed"], 1, "{document:#}");
    assert_eq!(document["runs"]["one"]["tokens"], 110);
    assert_eq!(document["runs"]["other"]["tokens"], 260);
    assert_eq!(document["runs"]["steps"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_piped_patch_can_be_applied() {
    let site = site();
    let run = site.ends(&["run", "work", "--agent", "claude=scripted:one.toml"], 0);
    let patch = site.run(&["diff", &name(&run), "--step", "write"]).exits(0).out;
    let file = site.outside("patch");
    fs::write(&file, patch).expect("a file");
    site.stand.git(&site.root, &["apply", &file.to_string_lossy()]);
    assert_eq!(
        fs::read_to_string(site.root.join("notes/a.txt")).expect("it is there"),
        "one\ntwo\n"
    );
}

#[test]
fn a_run_that_still_runs_shows_what_it_has_done_so_far() {
    let site = Site::new(
        r#"
  await ctx.run("write", async (ctx) => ctx.files.write("a.txt", "a\n"));
  await ctx.waitFor("go");
"#,
    );
    let run = site.run(&["run", "work", "--detach"]).exits(0).out.trim().to_owned();
    crate::support::wait_until("it waits", || site.show(&run)["waiting"]["kind"] == "signal");
    let told = site.run(&["diff", &run, "--stat", "--json"]).exits(0).document();
    assert_eq!(told["files"][0]["path"], "a.txt", "{told:#}");
    site.run(&["signal", &run, "go"]).exits(0);
    crate::support::wait_until("it is over", || site.show(&run)["status"] == "COMPLETED");
    let refs = site.stand.git(&site.root, &["for-each-ref", "--format=%(refname)", "refs/agentos"]);
    assert!(!refs.contains("now-"), "nothing is left of a look: {refs}");
}

#[test]
fn a_piped_patch_has_what_is_in_files_that_are_no_text() {
    let site = Site::new(r#"await ctx.shell("printf 'a\\0b' > image.bin");"#);
    let run = site.ends(&["run", "work"], 0);
    let patch = site.run(&["diff", &name(&run)]).exits(0).out;
    let file = site.outside("patch");
    fs::write(&file, patch).expect("a file");
    site.stand.git(&site.root, &["apply", &file.to_string_lossy()]);
    assert_eq!(fs::read(site.root.join("image.bin")).expect("it is there"), b"a\0b");
}

#[test]
fn what_is_too_long_to_be_a_patch_does_not_pretend_to_be_one() {
    let site = Site::new(r#"await ctx.shell("seq 1 2500000 > long.txt");"#);
    let run = site.ends(&["run", "work"], 0);
    let cut = site.run(&["diff", &name(&run)]).exits(1);
    assert!(cut.err.contains("no patch"), "{}", cut.err);
    site.run(&["diff", &name(&run), "--stat"]).exits(0);
}
