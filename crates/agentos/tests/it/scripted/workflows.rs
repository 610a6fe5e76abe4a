//! Whole workflows with agents: deterministic, parallel, resumed across steps, mended, retried.

use std::fs;

use serde_json::{Value, json};

use super::stage::{Stage, session};
use crate::commands::site::files_below;

const BODY: &str = r#"
  const plan = await ctx.run("plan", async () => ctx.runCli("plan", claude, "Make a plan", {
    schema: { type: "object", properties: { steps: { type: "integer" } }, required: ["steps"] },
  }));
  const [left, right] = await Promise.all([
    ctx.run("left", async () => ctx.runCli("left", claude, "Do the left half")),
    ctx.run("right", async () => ctx.runCli("right", codex, "Do the right half")),
  ]);
  const review = await ctx.run("review", async () => ctx.runCli("review", claude, "Look at it", { resume: "left" }));
  return {
    steps: plan.json.steps, same: review.sessionId === left.sessionId, other: right.sessionId !== left.sessionId,
    usage: left.usage, cost: [plan.cost, right.cost], said: [left.text, right.text, review.text], why: review.exitReason,
  };
"#;

const SCENARIO: &str = r#"
model = "scripted-1"

[[session]]
name = "plan"
play = [{ think = "How hard can it be?" }, { say = "Three steps." }, { tokens = { input = 100, output = 10, cost_usd = 0.01 } }]

[[session]]
name = "plan"
prompt = "Say it again"
play = [{ say = "```json\n{\"steps\": 3}\n```" }, { tokens = { input = 120, output = 5, cost_usd = 0.01 } }]

[[session]]
name = "left"
play = [
  { write = { file = "src/left.txt", content = "left\n" } },
  { run = "cat src/left.txt" },
  { tokens = { input = 50, output = 5, cached = 20 } },
  { say = "The left half is there." },
]

[[session]]
name = "right"
agent = "codex"
play = [{ write = { file = "src/right.txt", content = "right\n" } }, { tokens = { input = 7, output = 1 } }, { say = "So is the right one." }]

[[session]]
name = "review"
play = [{ patch = { file = "src/left.txt", find = "left", replace = "LEFT" } }, { retry = "429" }, { say = "Better." }]
"#;

/// What is kept of a run, with everything replaced that is new each time.
fn kept(stage: &Stage, run: &Value) -> String {
    let id = run["id"].as_str().expect("an id");
    let folder = stage.site.repo.join(".agent/workflows/executions").join(id).join("artifacts");
    let mut text = String::new();
    let mut files = files_below(&folder);
    // Folders are named after ids.
    files.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    for path in files {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let said = fs::read_to_string(&path).expect("a file");
        text.push_str(&format!("## {name}\n{said}"));
    }
    let sessions = run["agent_sessions"].as_array().expect("a list");
    for (number, session) in sessions.iter().enumerate() {
        let id = session["session_id"].as_str().expect("an id");
        text = text.replace(id, &format!("<session {number}>"));
    }
    text
}

#[test]
fn a_scenario_drives_a_whole_workflow_and_does_the_same_twice() {
    let (one, other) = (Stage::new(BODY, SCENARIO), Stage::new(BODY, SCENARIO));
    let run = one.run().exits(0).document();
    insta::assert_json_snapshot!("workflow_output", run["output"]);
    assert_eq!(one.lines("src/left.txt"), ["LEFT"]);
    assert_eq!(one.lines("src/right.txt"), ["right"]);
    let sessions = run["agent_sessions"].as_array().expect("a list");
    let rows: Vec<Value> = sessions
        .iter()
        .map(|row| {
            let step = row["workflow_step_id"].clone();
            let steps = run["steps"].as_array().expect("a list");
            let step = steps.iter().find(|known| known["id"] == step).expect("its step");
            json!([
                row["name"],
                row["agent"],
                row["model"],
                row["status"],
                step["name"],
                row["input_tokens"],
                row["output_tokens"],
                row["cached_tokens"],
                row["cost_usd"],
                row["exit_code"]
            ])
        })
        .collect();
    insta::assert_json_snapshot!("workflow_sessions", rows);
    let first = kept(&one, &run);
    insta::assert_snapshot!("workflow_files", first);
    let artifacts = run["artifacts"].as_array().expect("a list");
    assert_eq!(artifacts.len(), 8, "a stream and a transcript of each session");
    for artifact in artifacts {
        let session = sessions.iter().find(|row| row["id"] == artifact["agent_session_id"]);
        let session = session.expect("it belongs to a session");
        assert_eq!(artifact["type"], "SESSION_FILE");
        let name = artifact["name"].as_str().expect("a name");
        let (stem, _) = name.split_once('.').expect("an extension");
        assert_eq!(session["name"], *stem);
        assert_eq!(artifact["step_id"], session["workflow_step_id"]);
        let path = one.site.repo.join(artifact["storage_path"].as_str().expect("a path"));
        let size = path.metadata().expect("a file").len();
        assert_eq!(artifact["size_bytes"].as_u64(), Some(size), "{}", path.display());
    }
    let again = other.run().exits(0).document();
    assert_eq!(again["output"], run["output"]);
    assert_eq!(kept(&other, &again), first);
}

#[test]
fn an_answer_that_stays_wrong_is_a_failure_that_says_so() {
    let stage = Stage::of_items("json: true", "{ say = \"no\" }");
    let (reason, message) = super::stage::trouble(stage.run());
    assert_eq!(reason, "answer");
    assert!(message.contains("there is no JSON in it"), "{message}");
    let asked = stage.said().iter().filter(|line| line.contains("asked for again")).count();
    assert_eq!(asked, 1, "it is mended once");
}

#[test]
fn an_answer_that_does_not_fit_its_schema_is_not_called_an_input() {
    let schema = r#"schema: { type: "object", properties: { steps: { type: "integer" } }, required: ["steps"] }"#;
    let stage = Stage::of_items(schema, r#"{ say = '{"setps": 3}' }"#);
    let (reason, message) = super::stage::trouble(stage.run());
    assert_eq!(reason, "answer");
    assert!(message.contains("the answer does not fit the schema"), "{message}");
    assert!(message.contains("`answer.steps` is missing"), "{message}");
    let said = stage.said().join("\n");
    assert!(!message.contains("input") && !said.contains("the input is not"), "{message}\n{said}");
}

#[test]
fn a_retried_step_goes_on_with_its_session_or_begins_a_fresh_one() {
    for (mode, same) in [("continue", true), ("fresh", false)] {
        let body = format!(
            "const ids: string[] = [];\n\
             const last = await ctx.run(\"step\", async () => ctx.runCli(\"build\", claude, \"Build it\", {{ onRetry: \"{mode}\" }}), \
             {{ retry: {{ maxAttempts: 2, delay: 1 }} }});\n return last.sessionId;"
        );
        let scenario = "[[session]]\nattempt = 1\nplay = [{ run = \"echo tried >> tried\" }, { fail = {} }]\n\
                        [[session]]\nplay = [{ say = \"second\" }]";
        let stage = Stage::new(&body, scenario);
        let run = stage.run().exits(0).document();
        let ids: Vec<&Value> = sessions(&run).iter().map(|row| &row["session_id"]).collect();
        assert_eq!((ids.len(), ids[0] == ids[1]), (2, same), "{mode}");
        assert_eq!(run["output"], *ids[1]);
        assert_eq!(stage.lines("tried").len(), 1);
    }
}

fn sessions(run: &Value) -> &Vec<Value> {
    run["agent_sessions"].as_array().expect("a list")
}

#[test]
fn a_retried_run_plays_the_same_scenario() {
    let items = "{ run = \"test -e mended\" }, { say = \"done\" }";
    let stage = Stage::of_items("", items);
    stage.run().exits(1);
    fs::write(stage.site.repo.join("mended"), "").expect("a file");
    let run = stage.site.only_run();
    let retried = stage.site.call(&["retry", "--json", &run]).exits(0).document();
    assert_eq!(retried["output"]["text"], "done");
    assert_eq!(session(&retried)["model"], "scripted");
}

#[test]
fn a_retried_run_goes_on_with_a_session_of_the_old_one() {
    let body = r#"
      const plan = await ctx.run("plan", async () => ctx.runCli("plan", claude, "plan"));
      const review = await ctx.run("review", async () => ctx.runCli("review", claude, "review", { resume: "plan" }),
        { retry: { maxAttempts: 1 } });
      return plan.sessionId === review.sessionId;
    "#;
    let scenario = "[[session]]\nname = \"plan\"\nplay = [{ say = \"planned\" }]\n\
                    [[session]]\nname = \"review\"\nplay = [{ run = \"test -e mended\" }, { say = \"fine\" }]";
    let stage = Stage::new(body, scenario);
    stage.run().exits(1);
    fs::write(stage.site.repo.join("mended"), "").expect("a file");
    let retried = stage.site.call(&["retry", "--json", &stage.site.only_run()]).exits(0).document();
    assert_eq!(retried["output"], true, "{}", stage.said().join("\n"));
}

#[test]
fn a_session_that_there_never_was_can_not_be_resumed() {
    let stage = Stage::of_items("resume: \"nobody\"", "{ say = \"x\" }");
    let run = stage.run().exits(1).document();
    let message = session(&run)["error"]["message"].as_str().expect("a message");
    assert!(message.contains("no earlier session of this run is called `nobody`"), "{message}");
}

#[test]
fn who_takes_whose_place_is_checked_before_anything_begins() {
    let stage = Stage::of_items("", "{ say = \"x\" }");
    let wrong = |agent: &str| {
        stage.site.call(&["run", "work", "--workspace", "none", "--agent", agent]).exits(2).err
    };
    assert!(wrong("claude").contains("--agent NAME=OTHER"));
    assert!(wrong("codx=scripted:scenario.toml").contains("there is no agent `codx`"));
    assert!(wrong("claude=codex:scenario.toml").contains("`codex` plays no scenario"));
    let twice = ["claude=codex", "--agent", "claude=scripted:scenario.toml"];
    let twice = stage.site.call(&[&["run", "work", "--agent"][..], &twice[..]].concat()).exits(2);
    assert!(twice.err.contains("is taken already"), "{}", twice.err);
    let named = Stage::new(r#"await ctx.runCli("a", agent("claude:x"), "do");"#, "");
    let named = named.run().exits(1).document();
    assert!(named["error"].to_string().contains("there is no agent `claude:x`"), "{named:#}");
    assert!(wrong("claude=nobody").contains("there is no agent `nobody`"));
    assert!(wrong("claude=scripted").contains("no scenario"));
    assert!(wrong("claude=scripted:missing.toml").contains("can't be read"));
    fs::write(stage.site.repo.join("bad.toml"), "[[sesion]]").expect("a file");
    assert!(wrong("claude=scripted:bad.toml").contains("sesion"));
}

#[test]
fn a_session_of_another_agent_can_not_be_gone_on_with() {
    let body = r#"
      await ctx.runCli("left", claude, "Do the left half");
      await ctx.runCli("right", codex, "Do the right half", { resume: "left" });
    "#;
    let stage = Stage::new(body, "[[session]]\nplay = [{ run = \"echo x >> began\" }]");
    let run = stage.run().exits(1).document();
    let error = run["error"].to_string();
    assert!(error.contains("`left` is a session of `claude`"), "{error}");
    assert_eq!(stage.lines("began").len(), 1);
}

#[test]
fn calls_that_go_on_with_one_session_take_their_turns() {
    let body = r#"
      await ctx.runCli("plan", claude, "Plan it");
      await Promise.all(["a", "b", "c"].map((name) => ctx.runCli(name, claude, "Go on", { resume: "plan" })));
    "#;
    let alone = r#"{ run = "mkdir alone && sleep 0.2 && rmdir alone" }"#;
    let part = format!("[[session]]\nplay = [{alone}]\n");
    let stage = Stage::new(body, &part.repeat(4));
    stage.run().exits(0);
}

#[test]
fn the_example_that_is_printed_works_as_it_says() {
    let text = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
    let text = fs::read_to_string(text).expect("the documentation");
    let block = |fence: &str| -> String {
        let (_, rest) = text.split_once(&format!("```{fence}\n")).expect("a block");
        rest.split("```").next().unwrap_or_default().to_owned()
    };
    let stage = Stage::new("", "");
    let templates = stage.site.repo.join(".agent/workflows/templates");
    fs::write(templates.join("feature.ts"), block("ts")).expect("a template");
    fs::write(stage.site.repo.join("demo.toml"), block("toml")).expect("a scenario");
    let line = block("sh");
    let mut words: Vec<&str> = line.split_whitespace().skip(1).collect();
    words.push("--json");
    stage.site.call(&words).exits(0);
    assert_eq!(stage.lines("src/feature.txt"), ["done"]);
}

#[test]
fn any_command_is_an_agent_and_gets_only_its_own_keys() {
    let body = r#"
      const answer = await ctx.runCli("ask", agent("mine"), "what is there?");
      const claude = await ctx.runCli("other", agent("claude"), "and there?", { check: false });
      return { mine: answer.text, claude: claude.text };
    "#;
    let stage = Stage::new(body, "");
    let names = "env | cut -d= -f1 | sort | tr '\\\\n' ' '; echo; cat";
    let config = format!(
        "[agents.mine]\ncommand = [\"sh\", \"-c\", \"{names}; echo key $MY_KEY\"]\npass = [\"MY_KEY\"]\nenv = {{ ADDED = \"1\" }}\n\
         [agents.claude]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", \"{names}\"]\npass = [\"ANTHROPIC_API_KEY\"]\n"
    );
    fs::write(stage.site.repo.join(".agent/config.toml"), config).expect("a file");
    let mut command = stage.site.command(&["run", "work", "--json", "--workspace", "none"]);
    command.env("MY_KEY", "hunter2hunter2").env("ANTHROPIC_API_KEY", "sk-not-yours");
    let run = crate::commands::site::Process::start(command).done().exits(0).document();
    let mine = run["output"]["mine"].as_str().expect("text");
    assert!(
        mine.contains("ADDED ") && mine.contains("AGENT_WORKSPACE_ID ") && mine.contains(" PATH "),
        "{mine}"
    );
    assert!(!mine.contains("ANTHROPIC_API_KEY") && mine.contains("MY_KEY"), "{mine}");
    assert!(mine.ends_with("what is there?key ***"), "{mine}");
    let claude = run["output"]["claude"].as_str().expect("text");
    assert!(claude.contains("ANTHROPIC_API_KEY") && !claude.contains("MY_KEY"), "{claude}");
}

#[test]
fn show_and_logs_tell_of_sessions_in_plain_words() {
    let items = "{ think = \"hm\" }, { run = \"echo out\" }, { tokens = { input = 1200, output = 80, cost_usd = 0.05 } }, { say = \"All done.\" }";
    let stage = Stage::of_items("", items);
    stage.run().exits(0);
    let run = stage.site.only_run();
    let shown = stage.site.call(&["show", &run]).exits(0).out;
    assert!(shown.contains("claude build  scripted  1200 in, 80 out  $0.05"), "{shown}");
    let logs = stage.site.call(&["logs", &run]).exits(0).out;
    for said in ["thinks: hm", "→ run {\"command\":\"echo out\"}", "← out", "All done."] {
        assert!(logs.contains(said), "{said}: {logs}");
    }
}

#[test]
fn doctor_knows_each_agent_and_reads_no_key() {
    let stage = Stage::of_items("", "");
    let tool = stage.site.repo.join("fake-claude");
    fs::write(&tool, "#!/bin/sh\necho '2.1.325 (Claude Code)'\n").expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&tool, mode).expect("it can be executed");
    let config = format!(
        "[agents.claude]\ncommand = {:?}\n[agents.codex]\ncommand = \"/nowhere/codex\"\n[agents.mine]\ncommand = [\"mine\"]\n",
        tool.display().to_string()
    );
    fs::write(stage.site.repo.join(".agent/config.toml"), config).expect("a file");
    let mut command = stage.site.command(&["doctor", "--json"]);
    command.env("ANTHROPIC_API_KEY", "sk-not-to-be-seen");
    let done = crate::commands::site::Process::start(command).done().exits(0);
    assert!(!done.out.contains("sk-not-to-be-seen"), "{}", done.out);
    let report = done.document();
    let agents = report["agents"].as_array().expect("a list");
    let named =
        |name: &str| agents.iter().find(|agent| agent["name"] == name).expect("it is there");
    assert_eq!(named("claude")["is_tested"], true);
    assert_eq!(named("claude")["credentials"], "key in ANTHROPIC_API_KEY");
    assert_eq!(named("codex")["version"], Value::Null);
    assert_eq!(named("mine")["problem"], Value::Null, "those of the configuration are there too");
    assert!(agents.iter().any(|agent| agent["name"] == "gemini"));
}

#[test]
fn the_example_of_the_documentation_works_as_it_says() {
    let stage = Stage::new("", "");
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    let templates = stage.site.repo.join(".agent/workflows/templates");
    fs::copy(examples.join("feature.ts"), templates.join("feature.ts")).expect("a template");
    let scenario = examples.join("feature.toml").display().to_string();
    let (claude, codex) =
        (format!("claude=scripted:{scenario}"), format!("codex=scripted:{scenario}"));
    let run =
        ["run", "feature", "--json", "--workspace", "none", "--agent", &claude, "--agent", &codex];
    let run = stage.site.call(&run).exits(0).document();
    assert_eq!(run["output"]["steps"], 2);
    assert_eq!(stage.lines("greeting.txt"), ["hello world"]);
    stage.site.call(&["check"]).exits(0);
}
