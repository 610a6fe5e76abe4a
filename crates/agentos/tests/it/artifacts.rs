//! Files and artifacts, by the real binary: told, copied, and whole after any number of deaths.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Done, Stand, assert_seen, wait_until};

fn run(stand: &Stand, root: &Path, arguments: &[&str]) -> Done {
    stand.call_program(Path::new(env!("CARGO_BIN_EXE_agentos")), root, arguments).done()
}

/// A workflow of the name `keep` with this body.
fn write(root: &Path, body: &str) {
    let folder = root.join(".agent/workflows/templates");
    fs::create_dir_all(&folder).expect("a folder");
    let input =
        "{ type: \"object\", properties: { brief: { type: \"string\", format: \"file\" } } }";
    let text = format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"keep\", input: {input} }}, async (ctx) => {{\n{body}\n}});\n"
    );
    fs::write(folder.join("keep.ts"), text).expect("a template");
}

const KEEPS: &str = r##"
  await ctx.run("test", async () => {
    await ctx.files.write("out/index.html", "<p>all good</p>");
    await ctx.files.write("out/img/dot.png", new Uint8Array([137, 80, 78, 71]));
    await ctx.artifact("report", { file: "out", type: "TEST_REPORT", metadata: { tests: 7 } });
  });
  await ctx.artifact("notes.md", { content: "# Notes\n", type: "DOCUMENT" });
  return await ctx.artifact("log", { content: "one\n", type: "LOG_FILE" });
"##;

#[test]
fn what_a_run_has_kept_is_listed_and_shown() {
    let (stand, root) = Stand::with_repository();
    write(&root, KEEPS);
    let done = run(&stand, &root, &["run", "keep", "--workspace", "none", "--json"]).exits(0);
    let output = &done.document()["output"];
    assert_eq!((&output["name"], &output["sizeBytes"]), (&json!("log"), &json!(4)));
    assert_eq!(output["mimeType"], "text/plain");
    assert_seen!(&stand, "artifacts", run(&stand, &root, &["artifacts", "keep"]).exits(0).seen());
    let show = run(&stand, &root, &["show", "keep"]).exits(0).out;
    let (_, table) = show.split_once("ARTIFACT").expect("a table");
    assert_seen!(&stand, "artifacts_shown", format!("ARTIFACT{table}"));
    let names = |arguments: &[&str]| -> Vec<String> {
        let words = [&["artifacts", "keep", "--json"], arguments].concat();
        let listing = run(&stand, &root, &words).exits(0).document();
        let items = listing["items"].as_array().expect("a list").iter();
        items.map(|item| item["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&["--step", "test"]), ["report/img/dot.png", "report/index.html"]);
    assert_eq!(names(&["--step", "2"]), ["notes.md"]);
    assert_eq!(names(&["--type", "log_file"]), ["log"]);
    assert_eq!(names(&["--type", "SCREENSHOT"]), [] as [&str; 0]);
    for (title, words) in [
        ("artifacts_none", &["--type", "SCREENSHOT"][..]),
        ("artifacts_no_step", &["--step", "nine"]),
        ("artifacts_no_type", &["--type", "POEM"]),
        ("artifacts_force_alone", &["--force"]),
    ] {
        let words = [&["artifacts", "keep"], words].concat();
        assert_seen!(&stand, title, run(&stand, &root, &words).seen());
    }
}

#[test]
fn copies_are_whole_and_never_take_the_place_of_anything() {
    let (stand, root) = Stand::with_repository();
    write(&root, KEEPS);
    run(&stand, &root, &["run", "keep", "--workspace", "none"]).exits(0);
    let words = ["artifacts", "keep", "--download", "copies"];
    let told = run(&stand, &root, &words).exits(0).out;
    let expected =
        "copies/report/img/dot.png\ncopies/report/index.html\ncopies/notes.md\ncopies/log\n";
    assert_eq!(told, expected);
    let text = |path: &str| fs::read_to_string(root.join(path)).expect("a file");
    assert_eq!(text("copies/report/index.html"), "<p>all good</p>");
    fs::write(root.join("copies/log"), "mine").expect("a file");
    fs::remove_file(root.join("copies/notes.md")).expect("a file");
    let refused = run(&stand, &root, &words).exits(4);
    assert_seen!(&stand, "artifacts_in_the_way", refused.err);
    assert_eq!(text("copies/log"), "mine");
    assert!(!root.join("copies/notes.md").exists(), "nothing was copied");
    run(&stand, &root, &[&words[..], &["--force"]].concat()).exits(0);
    assert_eq!(text("copies/log"), "one\n");
    // Somebody writes to what was kept: that is no copy of it any more.
    let listing = run(&stand, &root, &["artifacts", "keep", "--json"]).exits(0).document();
    let kept = root.join(listing["items"][3]["storage_path"].as_str().expect("a path"));
    fs::write(kept, "two\n").expect("a file");
    let changed = run(&stand, &root, &["artifacts", "keep", "--download", "again"]).exits(1).err;
    assert!(changed.contains("`log` is not what was kept"), "{changed}");
    assert!(!root.join("again/log").exists());
}

#[test]
fn what_is_damaged_or_gone_does_not_keep_anybody_from_the_rest() {
    let (stand, root) = Stand::with_repository();
    write(&root, KEEPS);
    run(&stand, &root, &["run", "keep", "--workspace", "none"]).exits(0);
    let listing = run(&stand, &root, &["artifacts", "keep", "--json"]).exits(0).document();
    let kept = |number: usize| {
        root.join(listing["items"][number]["storage_path"].as_str().expect("a path"))
    };
    fs::remove_file(kept(0)).expect("a file");
    fs::write(kept(1), "<p>all bad</p>").expect("a file");
    let done = run(&stand, &root, &["artifacts", "keep", "--download", "copies"]).exits(1);
    assert_seen!(&stand, "artifacts_damaged", done.seen());
    assert_eq!(files(&root.join("copies")).len(), 2, "and nothing half");
    let words = ["artifacts", "keep", "--download", "more", "--json"];
    let document = run(&stand, &root, &words).exits(1).document();
    let copied = |number: usize| document["items"][number]["downloaded_to"].as_str();
    assert_eq!([copied(0), copied(2)], [None, Some("more/notes.md")]);
}

#[test]
fn what_an_attempt_has_kept_says_which_it_was() {
    let (stand, root) = Stand::with_repository();
    let body = r##"
  await ctx.run("flaky", async () => {
    await ctx.artifact("log", { content: "attempt\n" });
    if (!(await ctx.files.exists("second"))) {
      await ctx.files.write("second", "");
      throw new Error("once more");
    }
  }, { retry: { maxAttempts: 2, delay: 1 } });
"##;
    write(&root, body);
    run(&stand, &root, &["run", "keep", "--workspace", "none"]).exits(0);
    let seen = run(&stand, &root, &["artifacts", "keep"]).exits(0).seen();
    assert!(seen.contains("flaky (attempt 2)"), "{seen}");
    assert_eq!(seen.matches("flaky").count(), 2, "{seen}");
}

/// Whatever it does to what is not its own, and what it is told.
const REACHES: &str = r##"
  const said = [];
  const attempt = async (act: () => Promise<unknown>) => {
    try { said.push(await act()); } catch (error) { said.push((error as Error).message); }
  };
  const input = (ctx.input.brief as string).slice((ctx.input.brief as string).indexOf(".agent"));
  await attempt(() => ctx.files.write(input, "mine"));
  await attempt(() => ctx.files.write(input.replace(/context.*/, "metadata.json"), "{}"));
  await attempt(() => ctx.files.delete(".agent/workflows/executions", { recursive: true }));
  await attempt(() => ctx.files.delete(".agent", { recursive: true }));
  said.push((await ctx.files.list("**")).filter((path) => path.includes("executions")));
  said.push((await ctx.artifact("all", { file: ".agent" })).files);
  said.push(await ctx.files.read(ctx.input.brief as string));
  return said;
"##;

#[test]
fn a_run_in_the_project_itself_leaves_the_folders_of_runs_alone() {
    let (stand, root) = Stand::with_repository();
    write(&root, REACHES);
    fs::write(root.join("brief.md"), "brief\n").expect("a file");
    let words = ["run", "keep", "--workspace", "none", "--json", "--brief", "brief.md"];
    let output = run(&stand, &root, &words).exits(0).document()["output"].clone();
    for number in 0..4 {
        let said = output[number].as_str().expect("a refusal");
        assert!(said.contains("` belongs to others"), "{said}");
    }
    assert_eq!(output[4], json!([]));
    assert_eq!(output[5], 1, "the template");
    assert_eq!(output[6], "brief\n");
}

/// Everything that can be done with files, one thing after the other; in the middle it waits for the file `go`.
const BUSY: &str = r##"
  await ctx.run("prepare", async () => {
    await ctx.files.write("work/plan.md", "plan\n".repeat(2000));
    await ctx.files.copy(ctx.input.brief as string, "work/brief.md");
    await ctx.files.copy("work/brief.md", "work/second.md");
    await ctx.files.write("work/bytes", new Uint8Array(5000).fill(7));
    await ctx.files.write("work/gone", "");
    await ctx.files.delete("work/gone");
  });
  await ctx.shell("while [ -e brief.md ] && [ ! -e go ]; do sleep 0.02; done");
  await ctx.artifact("text", { content: "text\n".repeat(2000) });
  await ctx.run("keep", async () => {
    await ctx.artifact("file", { file: "work/large" });
    await ctx.artifact("folder", { file: "work" });
    await ctx.artifact("file", { file: "work/plan.md" });
  });
  const bytes = await ctx.files.read("work/bytes", { encoding: "bytes" });
  return { listed: await ctx.files.list("work/*"), gone: await ctx.files.exists("work/gone"), sum: bytes.reduce((a, b) => a + b, 0) };
"##;

const LISTED: [&str; 5] =
    ["work/brief.md", "work/bytes", "work/large", "work/plan.md", "work/second.md"];

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn check_kept(root: &Path, document: &Value) {
    let output = &document["output"];
    assert_eq!(output, &json!({ "listed": LISTED, "gone": false, "sum": 35_000 }));
    let rows = document["artifacts"].as_array().expect("a list");
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().expect("a name")).collect();
    let expected = [
        "text",
        "file",
        "folder/brief.md",
        "folder/bytes",
        "folder/large",
        "folder/plan.md",
        "folder/second.md",
        "file",
    ];
    assert_eq!(names, expected, "one row for each");
    let paths: BTreeSet<PathBuf> =
        rows.iter().map(|row| root.join(row["storage_path"].as_str().expect("a path"))).collect();
    assert_eq!(paths.len(), rows.len());
    let id = document["id"].as_str().expect("an id");
    let folder = root.join(".agent/workflows/executions").join(id).join("artifacts");
    assert_eq!(files(&folder).into_iter().collect::<BTreeSet<_>>(), paths, "and nothing else");
    assert_eq!(files(&root.join("work")).len(), LISTED.len(), "nothing is left beside the files");
    for row in rows {
        let path = root.join(row["storage_path"].as_str().expect("a path"));
        assert_eq!(fs::metadata(path).expect("a file").len(), row["size_bytes"], "{row}");
    }
}

#[test]
fn killed_again_and_again_a_run_keeps_everything_once_and_whole() {
    let (stand, root) = Stand::with_repository();
    write(&root, BUSY);
    fs::write(root.join("brief.md"), "be brief\n".repeat(1000)).expect("an input");
    fs::create_dir(root.join("work")).expect("a folder");
    let large = fs::File::create(root.join("work/large")).expect("a file");
    large.set_len(8 << 20).expect("a size");
    let agentos = Path::new(env!("CARGO_BIN_EXE_agentos"));
    let begin = ["run", "keep", "--workspace", "none", "--brief", "brief.md"];
    let seen = || {
        let kept = files(&root.join(".agent/workflows/executions")).into_iter();
        let kept = kept.filter(|path| path.iter().any(|part| part == "artifacts"));
        kept.chain(files(&root.join("work"))).collect::<BTreeSet<_>>()
    };
    let (mut deaths, mut words, mut known) = (0, &begin[..], seen());
    // It is killed as soon as there is a file that was never there before, finished or not.
    loop {
        let mut process = stand.call_program(agentos, &root, words).start();
        wait_until("there is another file", || {
            process.has_ended().is_some() || !seen().is_subset(&known)
        });
        process.send(Signal::KILL);
        let ended = process.done().code;
        known.append(&mut seen());
        words = match ended {
            None => {
                deaths += 1;
                fs::write(root.join("go"), "").expect("a file");
                &["resume", "keep"]
            }
            // It was killed before there was a run.
            Some(3) => &begin,
            Some(_) => break,
        };
    }
    let document = run(&stand, &root, &["show", "keep", "--json"]).exits(0).document();
    assert_eq!(document["status"], "COMPLETED", "{}", document["error"]);
    // How often depends on how soon a new file is seen; the first time it could not go on before.
    assert!(deaths > 0, "it was never caught at work");
    check_kept(&root, &document);
    let copied = run(&stand, &root, &["artifacts", "keep", "--download", "copies"]).exits(0);
    assert_eq!(copied.out.lines().count(), 8, "and all of it is what was kept");
}
