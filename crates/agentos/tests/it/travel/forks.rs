//! `agentos fork`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::site::{Site, file, step};
use crate::support::{lines, name, wait_until};

/// An agent builds; then the files are looked at.
const BUILD: &str = r#"
  await ctx.run("plan", async (ctx) => ctx.shell(`echo planned >> ${ctx.input.count}; echo plan > plan.txt`));
  await ctx.run("build", async (ctx) => ctx.runCli("build", claude, "Build it"));
  return (await ctx.run("look", async (ctx) => ctx.shell("cat plan.txt built.txt"))).stdout;
"#;

fn scenario(site: &Site, name: &str, items: &str) {
    let text = format!("[[session]]\nplay = [\n{items}\n]\n");
    fs::write(site.root.join(name), text).expect("a scenario");
}

#[test]
fn a_run_is_forked_with_another_agent_while_it_still_runs() {
    let site = Site::new(BUILD);
    let (go, count) = (site.outside("go"), site.outside("count"));
    let wait = format!(r#"{{ run = "while [ ! -e {} ]; do sleep 0.02; done" }}"#, go.display());
    let write =
        |text: &str| format!(r#"{{ write = {{ file = "built.txt", content = "{text}\n" }} }}"#);
    scenario(&site, "slow.toml", &format!("{},\n{wait},\n{}", write("half"), write("slow")));
    scenario(&site, "fast.toml", &write("fast"));
    let input = format!("count={}", count.display());
    let arguments =
        ["run", "work", "--json", "--input", &input, "--agent", "claude=scripted:slow.toml"];
    let first = site.begin(&arguments);
    let run = site.only();
    let built = || {
        let run = site.show(&run);
        run["workspace_dir"].as_str().map(|dir| Path::new(dir).join("built.txt").exists())
    };
    wait_until("the agent is at work", || built() == Some(true));
    let arguments = ["fork", &run, "--from-step", "build", "--agent", "claude=scripted:fast.toml"];
    let forked = site.ends(&arguments, 0);
    assert_eq!(forked["output"], "plan\nfast\n");
    assert_eq!(site.show(&run)["status"], "RUNNING");
    fs::write(go, "").expect("a file");
    let first = first.done().exits(0).document();
    assert_eq!(first["output"], "plan\nslow\n");
    assert_eq!(lines(&count), ["planned"], "what had finished is not repeated");
    assert_ne!(first["workspace_dir"], forked["workspace_dir"]);
    assert_eq!(forked["forked_from"], first["id"]);
    let branch = format!("agentos/{}", name(&forked));
    assert_eq!(forked["branch_name"], *branch);
}

/// Steps that each add to what the one before has left.
const STEPS: &str = r#"
  const seen = [];
  for (const name of ["a", "b", "c"]) {
    seen.push(await ctx.run(name, async (ctx) => {
      const found = await digest(ctx);
      await ctx.shell(`echo ${name} ${ctx.input.word} >> log.txt; mkdir -p ${name}; echo ${name} > ${name}/file`, { name: "log" });
      return found;
    }));
  }
  return { seen, log: await ctx.files.read("log.txt") };
"#;

const WORD: &str = r#"input: { type: "object", properties: { word: { type: "string", maxLength: 5 } }, required: ["word"] }"#;

#[test]
fn a_fork_has_its_files_as_they_were_when_the_step_began() {
    let site = Site::configured(WORD, STEPS);
    let first = site.ends(&["run", "work", "--input", "word=x"], 0);
    let run = name(&first);
    for (number, wanted) in ["a", "b", "c"].into_iter().enumerate() {
        let forked = site.ends(&["fork", &run, "--from-step", wanted], 0);
        assert_eq!(forked["output"], first["output"], "from {number}");
    }
    // A step at which nothing has happened since.
    let again = site.ends(&["fork", &run, "--from-step", "4"], 0);
    assert_eq!(again["output"]["log"], first["output"]["log"]);
    // And a fork of a fork, from before where it began itself.
    let older = site.ends(&["fork", &name(&again), "--from-step", "b"], 0);
    assert_eq!(older["output"], first["output"]);
    assert_eq!(file(&older, "log.txt"), "a x\nb x\nc x\n");
}

#[test]
fn two_forks_of_one_step_do_not_meet() {
    let site = Site::configured(WORD, STEPS);
    let first = site.ends(&["run", "work", "--input", "word=x"], 0);
    let run = name(&first);
    let begun: Vec<_> = ["l", "r"]
        .iter()
        .map(|word| {
            let input = format!("word={word}");
            site.begin(&["fork", &run, "--from-step", "b", "--input", &input, "--json"])
        })
        .collect();
    let forks: Vec<Value> = begun.into_iter().map(|fork| fork.done().exits(0).document()).collect();
    for (fork, word) in forks.iter().zip(["l", "r"]) {
        assert_eq!(file(fork, "log.txt"), format!("a x\nb {word}\nc {word}\n"));
        assert_eq!(fork["input"]["word"], word);
    }
    assert_ne!(forks[0]["workspace_dir"], forks[1]["workspace_dir"]);
    assert_eq!(file(&first, "log.txt"), "a x\nb x\nc x\n", "the first one is as it was");
}

#[test]
fn another_input_has_to_fit_and_is_told_where_finished_work_saw_the_old_one() {
    let site = Site::configured(WORD, STEPS);
    let first = site.ends(&["run", "work", "--input", "word=x"], 0);
    let run = name(&first);
    let wrong = site.run(&["fork", &run, "--from-step", "b", "--input", "word=muchtoolong"]);
    assert!(wrong.exits(2).err.contains("word"), "the field is named");
    let forked = site.run(&["fork", &run, "--from-step", "b", "--input", "word=y"]).exits(0);
    let told = "had finished and is asked for with something else now; its answer is kept";
    assert!(forked.err.contains(told), "{}", forked.err);
}

#[test]
fn a_fork_goes_on_in_the_background_and_after_its_workspace_was_cleaned() {
    let site = Site::configured(WORD, STEPS);
    let first = site.ends(&["run", "work", "--input", "word=x"], 0);
    let run = name(&first);
    site.run(&["workspace", "clean", "--force", &run]).exits(0);
    assert!(!Path::new(first["workspace_dir"].as_str().expect("a path")).exists());
    let named = site.run(&["fork", &run, "--from-step", "b", "--detach"]).exits(0);
    let forked = named.out.trim().to_owned();
    wait_until("it is over", || site.show(&forked)["status"] == "COMPLETED");
    let forked = site.show(&forked);
    assert_eq!(forked["output"], first["output"]);
    assert_eq!(step(&forked, "b")["status"], "COMPLETED");
}

#[test]
fn a_step_of_a_fork_takes_as_long_as_it_takes_there() {
    let site = Site::new(
        r#"
  await ctx.run("a", async (ctx) => ctx.shell("true"));
  await ctx.run("b", async (ctx) => ctx.shell("true"));
"#,
    );
    let first = site.ends(&["run", "work"], 0);
    let over = first["completed_at"].as_str().expect("a time");
    let forked = site.ends(&["fork", &name(&first), "--from-step", "b"], 0);
    let began = step(&forked, "b")["started_at"].as_str().expect("a time");
    assert!(began >= over, "{began} is in the new run, after {over}");
}

#[test]
fn what_sets_a_fork_up_leaves_the_files_as_they_were() {
    let site = Site::new(
        r#"
  await ctx.run("a", async (ctx) => ctx.shell("echo a > a.txt; echo more >> setup.txt"));
  return (await ctx.run("b", async (ctx) => ctx.shell("cat a.txt setup.txt"))).stdout;
"#,
    );
    let log = site.outside("setups");
    let configure = |word: &str| {
        let setup = format!("echo {word} >> {}; echo s >> setup.txt; rm -f a.txt", log.display());
        let text = format!("[workspace]\nsetup = \"{setup}\"\n");
        fs::write(site.root.join(".agent/config.toml"), text).expect("a configuration");
    };
    configure("old");
    let first = site.ends(&["run", "work", "--allow-setup"], 0);
    assert_eq!(first["output"], "a\ns\nmore\n", "{first:#}");
    configure("new");
    let forked = site.ends(&["fork", &name(&first), "--from-step", "b"], 0);
    assert_eq!(forked["output"], first["output"], "{forked:#}");
    assert_eq!(lines(&log), ["old", "old"], "its own command, once in each workspace");
    let refs = site.stand.git(&site.root, &["for-each-ref", "--format=%(refname)", "refs/agentos"]);
    assert!(!refs.contains("setup-"), "nothing is left of it: {refs}");
}
