//! Workflows in TypeScript, by the real binary: found, started, killed, edited under a run, and reported when broken.

use std::fs;
use std::path::Path;

use crate::support::{Done, Process, Stand, lines, name, wait_until};

fn agentos() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_agentos"))
}

fn run(stand: &Stand, root: &Path, arguments: &[&str]) -> Done {
    stand.call_program(agentos(), root, arguments).done()
}

fn start(stand: &Stand, root: &Path, arguments: &[&str]) -> Process {
    stand.call_program(agentos(), root, arguments).start()
}

fn write(root: &Path, file: &str, text: &str) {
    let folder = root.join(".agent/workflows/templates");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(file), text).expect("a template");
}

/// A workflow of this name with this body.
fn workflow(name: &str, body: &str) -> String {
    format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"{name}\" }}, async (ctx) => {{\n{body}\n}});\n"
    )
}

#[test]
fn init_writes_what_a_repository_needs_and_changes_nothing_that_is_there() {
    let (stand, root) = Stand::with_repository();
    let first = run(&stand, &root, &["init"]).exits(0).out;
    assert!(first.contains("wrote .agent/workflows/templates/hello.ts"), "{first}");
    let ignored = fs::read_to_string(root.join(".gitignore")).expect("it is made");
    assert_eq!(ignored, ".agentos/\n.agent/workflows/executions/\n");
    let template = root.join(".agent/workflows/templates/hello.ts");
    fs::write(&template, "// mine").expect("it is mine");
    let second = run(&stand, &root, &["init"]).exits(0).out;
    assert!(second.contains("kept  .agent/workflows/templates/hello.ts"), "{second}");
    assert_eq!(fs::read_to_string(&template).expect("it is there"), "// mine");
    assert_eq!(fs::read_to_string(root.join(".gitignore")).expect("it is there"), ignored);
}

#[test]
fn help_lists_inputs_in_the_order_in_which_their_author_wrote_them() {
    let (stand, root) = Stand::with_repository();
    let input = "{ properties: { title: {}, json: {}, brief: {}, base: {}, author: {} } }";
    let text = format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"ordered\", input: {input} }}, async () => 1);\n"
    );
    write(&root, "ordered.ts", &text);
    let help = run(&stand, &root, &["run", "ordered", "--help"]).exits(0).out;
    let inputs = help.split_once("\nInputs:").expect("they are listed").1;
    let words = inputs.split_whitespace().map(|word| word.trim_start_matches("--"));
    let names = words.filter_map(|word| {
        ["title", "json", "brief", "base", "author"]
            .into_iter()
            .find(|name| word.trim_end_matches("=VALUE") == *name)
    });
    // The names of our own flags come last, since they are none of the workflow's.
    assert_eq!(names.collect::<Vec<_>>(), ["title", "brief", "author", "json", "base"], "{help}");
}

#[test]
fn the_first_workflow_runs_at_once_and_its_inputs_are_flags() {
    let (stand, root) = Stand::with_repository();
    run(&stand, &root, &["init"]).exits(0);
    let help = run(&stand, &root, &["run", "hello", "--help"]).exits(0).out;
    assert!(help.contains("--name <STRING>"), "{help}");
    let wrong = run(&stand, &root, &["run", "hello"]).exits(2).err;
    assert!(wrong.contains("`input.name` is missing"), "{wrong}");
    let finished = run(&stand, &root, &["run", "hello", "--name", "world", "--json"]).exits(0);
    assert_eq!(finished.document()["output"]["greeting"], "Hello, world!");
    run(&stand, &root, &["check"]).exits(0);
}

#[test]
fn a_run_killed_inside_a_command_goes_on_and_repeats_nothing() {
    let (stand, root) = Stand::with_repository();
    let body = "  for (const name of [\"one\", \"two\", \"three\"]) {\n    \
                await ctx.run(name, async () => {\n      \
                await ctx.shell(`echo ${name} >> counted; while [ ! -e go ]; do sleep 0.02; done; echo ${name} done`);\n    \
                });\n    ctx.set(\"last\", name);\n  }\n  return ctx.get(\"last\");";
    write(&root, "slow.ts", &workflow("slow", body));
    let counted = root.join("counted");
    let process = start(&stand, &root, &["run", "slow", "--workspace", "none"]);
    wait_until("the first command has begun", || lines(&counted).len() == 1);
    process.kill();
    // The command waits for this, and goes on without anybody.
    fs::write(root.join("go"), "").expect("a file");
    let resumed = run(&stand, &root, &["resume", "slow", "--json"]).exits(0).document();
    assert_eq!(resumed["output"], "three");
    assert_eq!(lines(&counted), ["one", "two", "three"], "each ran once");
    let logs = run(&stand, &root, &["logs", "slow"]).exits(0).out;
    assert_eq!(logs.matches("one done").count(), 1, "{logs}");
}

#[test]
fn a_thrown_error_shows_the_line_of_the_template() {
    let (stand, root) = Stand::with_repository();
    let body = "  await ctx.run(\"break\", { retry: false } as never, async () => { throw new Error(\"no luck\"); });";
    let body = body.replace("{ retry: false } as never, ", "");
    let body = body.replace("});", "}, { retry: { maxAttempts: 1 } });");
    write(&root, "luck.ts", &workflow("luck", &body));
    let told = run(&stand, &root, &["run", "luck"]).exits(1).err;
    assert!(told.contains("it failed at .agent/workflows/templates/luck.ts:3:"), "{told}");
    let shown = run(&stand, &root, &["show", "luck", "--json"]).exits(0).document();
    let error = shown["error"].to_string();
    assert!(error.contains("no luck") && error.contains("templates/luck.ts:3:"), "{error}");
}

#[test]
fn a_broken_template_is_reported_with_its_line_and_the_others_work() {
    let (stand, root) = Stand::with_repository();
    write(&root, "good.ts", &workflow("good", "  return 1;"));
    write(
        &root,
        "broken.ts",
        "import { createWorkflow } from \"agentos\";\nexport default createWorkflow({,",
    );
    write(&root, "empty.ts", "export const nothing = 1;\n");
    write(&root, "twin.ts", &workflow("good", "  return 2;"));
    write(&root, "slash.ts", &workflow("a/b", "  return 3;"));
    let listed = run(&stand, &root, &["workflows"]).exits(0);
    assert!(listed.out.contains("good") && !listed.out.contains("broken"), "{}", listed.out);
    for part in
        ["templates/broken.ts:2:", "templates/empty.ts", "already, in templates/good.ts", "`a/b`"]
    {
        assert!(listed.err.contains(part), "`{part}` is missing in {}", listed.err);
    }
    let refused = run(&stand, &root, &["run", "broken"]).exits(2).err;
    assert!(refused.contains("templates/broken.ts:2:"), "{refused}");
    assert_eq!(run(&stand, &root, &["run", "good", "--json"]).exits(0).document()["output"], 1);
    run(&stand, &root, &["check"]).exits(1);
}

#[test]
fn a_run_keeps_its_source_when_the_template_is_deleted_and_takes_the_latest_when_asked() {
    let (stand, root) = Stand::with_repository();
    let before = "  await ctx.run(\"first\", async () => { await ctx.shell(\"echo first >> counted\"); });\n  \
                  const said = await ctx.waitFor(\"go\");\n  return `old ${said}`;";
    write(&root, "edited.ts", &workflow("edited", before));
    let waits = |times: usize| {
        let runs = stand.runs(&root);
        runs.iter().filter(|run| run["waiting"]["kind"] == "signal").count() == times
    };
    run(&stand, &root, &["run", "edited", "--detach"]).exits(0);
    wait_until("it waits", || waits(1));
    let kept = name(&stand.only(&root, "edited"));
    fs::remove_file(root.join(".agent/workflows/templates/edited.ts")).expect("it is there");
    run(&stand, &root, &["signal", &kept, "go", "a"]).exits(0);
    assert_eq!(stand.until_status(&root, &kept, "COMPLETED")["output"], "old a");

    write(&root, "edited.ts", &workflow("edited", before));
    run(&stand, &root, &["run", "edited", "--detach"]).exits(0);
    wait_until("the other one waits, and no executor has it", || {
        waits(1) && stand.executors().is_empty()
    });
    let moved = name(
        &stand.runs(&root).into_iter().find(|run| run["status"] == "RUNNING").expect("it runs"),
    );
    write(&root, "edited.ts", &workflow("edited", &before.replace("`old", "`new")));
    let told = run(&stand, &root, &["resume", &moved, "--latest", "--detach"]).exits(0).err;
    assert!(told.contains("goes on with the latest source"), "{told}");
    run(&stand, &root, &["signal", &moved, "go", "b"]).exits(0);
    assert_eq!(stand.until_status(&root, &moved, "COMPLETED")["output"], "new b");
    assert_eq!(lines(&root.join("counted")), ["first", "first"], "once in each run");
}

#[test]
fn a_source_that_does_not_fit_what_a_run_has_done_is_refused_with_both_lines() {
    let (stand, root) = Stand::with_repository();
    let body = "  await ctx.sleep(1);\n  await ctx.waitFor(\"go\");";
    let body = body.replace("ctx.sleep(1)", "ctx.run(\"thing\", async () => 1)");
    write(&root, "other.ts", &workflow("other", &body));
    run(&stand, &root, &["run", "other", "--detach"]).exits(0);
    let waits = || stand.runs(&root).iter().any(|run| run["waiting"]["kind"] == "signal");
    wait_until("it waits, and no executor has it", || waits() && stand.executors().is_empty());
    let changed = body
        .replace("ctx.run(\"thing\", async () => 1)", "ctx.shell(\"true\", { name: \"thing\" })");
    write(&root, "other.ts", &workflow("other", &changed));
    let refused = run(&stand, &root, &["resume", "other", "--latest"]).exits(4).err;
    assert!(refused.contains("templates/other.ts:3"), "{refused}");
    run(&stand, &root, &["cancel", "other"]).exits(0);
}

#[test]
fn an_endless_loop_fails_its_run_within_the_limit_that_is_set() {
    let (stand, root) = Stand::with_repository();
    write(&root, "endless.ts", &workflow("endless", "  try { for (;;) {} } finally { return 1; }"));
    fs::write(root.join(".agent/config.toml"), "[script]\nturn_ms = 500\n").expect("a file");
    let failed = run(&stand, &root, &["run", "endless", "--json"]).exits(1).document();
    assert_eq!(failed["status"], "FAILED");
    let error = failed["error"].to_string();
    assert!(error.contains("used up its CPU time"), "it says which limit: {error}");
}

#[test]
fn a_run_invokes_workflows_as_they_are_then() {
    let (stand, root) = Stand::with_repository();
    let body = "  await ctx.waitFor(\"go\");\n  return await ctx.invoke(\"child\", {});";
    write(&root, "outer.ts", &workflow("outer", body));
    let process = start(&stand, &root, &["run", "outer", "--json"]);
    wait_until("it waits", || {
        stand.runs(&root).iter().any(|run| run["waiting"]["kind"] == "signal")
    });
    // Nobody knew of it when the run began.
    write(&root, "child.ts", &workflow("child", "  return \"new\";"));
    run(&stand, &root, &["signal", "outer", "go"]).exits(0);
    assert_eq!(process.done().exits(0).document()["output"], "new");
}

#[test]
fn output_without_a_last_line_break_is_shown_too() {
    let (stand, root) = Stand::with_repository();
    write(&root, "print.ts", &workflow("print", "  await ctx.shell(\"printf unfinished\");"));
    run(&stand, &root, &["run", "print"]).exits(0);
    let logs = run(&stand, &root, &["logs", "print"]).exits(0).out;
    assert!(logs.contains("| unfinished"), "{logs}");
}

#[test]
fn what_a_workflow_notes_is_kept_with_its_run() {
    let (stand, root) = Stand::with_repository();
    let body = r#"
        ctx.log.trace("t"); ctx.log.debug("d"); ctx.log.info("i", { n: 1 }); ctx.log.warn("w"); ctx.log.error("e"); ctx.log.fatal("f");
        await ctx.run("note", async () => {
          ctx.comment("on the step", { stars: 5 });
          ctx.commentExecution("on the run");
          ctx.set("kept", [1, { two: 2 }]);
          ctx.set("gone", true);
          ctx.delete("gone");
          if (ctx.attempt === 1) throw new Error("once");
        }, { retry: { delay: 1 }, onRetry: (error, attempt) => ctx.log.info(`again ${attempt}: ${error?.message}`) });
        await ctx.run("left out", async () => ctx.skip("no need"));
        return [ctx.has("kept"), ctx.has("gone"), ctx.get("kept")];"#;
    write(&root, "noted.ts", &workflow("noted", body));
    let noted = run(&stand, &root, &["run", "noted", "--json"]).exits(0).document();
    assert_eq!(noted["output"], serde_json::json!([true, false, [1, { "two": 2 }]]));
    let shown = run(&stand, &root, &["show", "noted", "--json"]).exits(0).document();
    let comments = shown["comments"].as_array().expect("a list");
    let said: Vec<(&str, bool)> = comments
        .iter()
        .map(|comment| (comment["message"].as_str().expect("text"), comment["step_id"].is_null()))
        .collect();
    let twice = [("on the step", false), ("on the run", true)].repeat(2);
    assert_eq!(said, twice, "each attempt says it: {comments:#?}");
    assert_eq!(shown["state"], serde_json::json!({ "kept": [1, { "two": 2 }] }));
    assert_eq!(shown["steps"][1]["status"], "SKIPPED");
    let logs = run(&stand, &root, &["logs", "noted", "--level", "trace"]).exits(0).out;
    let expected = [
        "trace t",
        "debug d",
        "info  i {\"n\":1}",
        "warn  w",
        "error e",
        "fatal f",
        "info  again 2: once",
    ];
    let said: Vec<&str> = logs.lines().filter_map(|line| Some(line.split_once("Z ")?.1)).collect();
    assert_eq!(said, expected, "{logs}");
}

#[test]
fn a_workflow_that_is_not_there_is_named_before_its_flags_are_complained_about() {
    let (stand, root) = Stand::with_repository();
    let wrong = run(&stand, &root, &["run", "nothing", "--brief", "x"]).exits(3).err;
    assert!(wrong.contains("there is no workflow `nothing`"), "{wrong}");
}
