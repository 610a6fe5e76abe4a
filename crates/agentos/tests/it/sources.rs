//! Runs and the workflow as it is now: `resume --latest`, `retry --latest` and `fork --latest` by the real binary.

mod files;
mod inputs;
mod rows;
mod served;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Done, Stand, lines, name, wait_until};

/// A repository with one workflow, `work`, whose agent plays a scenario.
struct Place {
    stand: Stand,
    root: PathBuf,
}

const SCENARIO: &str = r#"
[[session]]
name = "plan"
play = [{ say = "A plan." }, { tokens = { input = 100, output = 10, cost_usd = 0.25 } }]

[[session]]
play = [{ say = "Built." }, { tokens = { input = 100, output = 10, cost_usd = 0.5 } }]
"#;

impl Place {
    fn new(body: &str) -> Self {
        let (stand, root) = Stand::with_repository();
        fs::write(root.join("scenario.toml"), SCENARIO).expect("a scenario");
        let place = Self { stand, root };
        place.write(body);
        place
    }

    /// The workflow has this body from now on.
    fn write(&self, body: &str) {
        let folder = self.root.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "import {{ createWorkflow, claude }} from \"agentos\";\n\
             export default createWorkflow({{ name: \"work\" }}, async (ctx) => {{\n{body}\n}});\n"
        );
        fs::write(folder.join("work.ts"), text).expect("a template");
    }

    fn call(&self, arguments: &[&str]) -> Done {
        let agentos = Path::new(env!("CARGO_BIN_EXE_agentos"));
        let call = self.stand.call_program(agentos, &self.root, arguments);
        call.without("AGENTOS_WORKSPACE_KIND").done()
    }

    const RUN: [&'static str; 4] = ["run", "work", "--agent", "claude=scripted:scenario.toml"];

    /// Starts a run in the checkout and leaves it where it waits for an event.
    fn until_it_waits(&self) -> String {
        let run = self.call(&[&Self::RUN[..], &["--workspace", "none", "--detach"]].concat());
        let run = run.exits(0).out.trim().to_owned();
        self.wait(&run);
        run
    }

    /// Waits until the run waits for an event and no process drives it.
    fn wait(&self, run: &str) {
        wait_until("it waits, and no executor is left", || {
            self.show(run)["waiting"]["kind"] == "signal" && self.stand.executors().is_empty()
        });
    }

    fn show(&self, run: &str) -> Value {
        self.call(&["show", run, "--json"]).exits(0).document()
    }

    fn runs(&self) -> usize {
        self.stand.runs(&self.root).len()
    }
}

/// The names of rows, each with one of its fields.
fn named<'a>(rows: &'a Value, field: &str) -> Vec<(&'a str, &'a Value)> {
    let rows = rows.as_array().expect("a list");
    rows.iter().map(|row| (row["name"].as_str().expect("a name"), &row[field])).collect()
}

/// A step in which an agent works, something is said and something is kept.
fn step(name: &str) -> String {
    format!(
        "await ctx.run(\"{name}\", async (ctx) => {{\n\
         await ctx.runCli(\"{name}\", claude, \"Do it\");\n\
         ctx.comment(\"{name} is done\");\n\
         await ctx.artifact(\"{name}.md\", {{ content: \"{name}\", type: \"DOCUMENT\" }});\n\
         await ctx.shell(\"echo {name} >> counted\");\n}});\n"
    )
}

fn work(second: &str, end: &str) -> String {
    format!("{}{}await ctx.waitFor(\"go\");\nreturn \"{end}\";", step("plan"), step(second))
}

#[test]
fn a_source_that_fails_in_the_trial_is_refused_and_nothing_changes() {
    let place = Place::new(&work("implement", "old"));
    let run = place.until_it_waits();
    let before = place.show(&run);
    let at_once = "throw new Error(\"boom\");".to_owned();
    let in_a_step = work("implement", "new").replace(
        "await ctx.waitFor",
        "await ctx.run(\"lint\", async () => { throw new Error(\"boom\"); });\nawait ctx.waitFor",
    );
    let beside = format!("const all = ctx.waitFor(\"other\");\n{at_once}");
    for body in [at_once, in_a_step, beside] {
        place.write(&body);
        for arguments in
            [&["resume", &run, "--latest"][..], &["resume", &run, "--latest", "--dry-run"]]
        {
            let refused = place.call(arguments).exits(4).err;
            assert!(refused.contains("boom"), "{refused}");
            assert!(refused.contains("templates/work.ts:"), "it tells where: {refused}");
            assert_eq!(place.show(&run), before, "nothing changes under\n{body}");
        }
    }
    let sql = include_str!("sources/version.sql");
    let kept = place.call(&["query", sql, "--json"]).exits(0).document();
    assert_eq!(kept["items"], json!([{ "version": 1 }]), "what is refused is not kept");
    place.call(&["signal", &run, "go"]).exits(0);
    assert_eq!(place.stand.until_status(&place.root, &run, "COMPLETED")["output"], "old");
    assert_eq!(lines(&place.root.join("counted")), ["plan", "implement"]);
}

/// `implement` and the wait behind it have not been asked for by the source that has `construct` in the place of it.
fn tells_what_would_change(place: &Place, run: &str) {
    let dry = ["resume", run, "--latest", "--dry-run"];
    let told = place.call(&dry).exits(0).out;
    let told: Vec<Vec<&str>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
    for line in [
        &["kept", "1", "/plan#1"][..],
        &["not", "asked", "for", "yet", "2", "/implement#1"],
        &["not", "asked", "for", "yet", "3", "wait:", "go"],
        &["new", "4", "/construct#1"],
    ] {
        assert!(told.contains(&line.to_vec()), "{line:?} is missing in {told:#?}");
    }
    let plan = place.call(&[&dry[..], &["--json"]].concat()).exits(0).document();
    let construct = json!({ "step_number": 4, "path": "/construct#1", "name": "construct" });
    assert_eq!(plan["added"], json!([construct]));
    let wait = json!({ "step_number": 3, "path": "/wait:go#1", "name": "wait: go" });
    let implement = json!({ "step_number": 2, "path": "/implement#1", "name": "implement" });
    assert_eq!(plan["not_asked_for_yet"], json!([implement, wait]));
    assert_eq!(plan["superseded"], json!([]), "the new source has not come to its end");
}

#[test]
fn what_another_source_does_not_ask_for_stays_on_record_as_superseded() {
    let place = Place::new(&work("implement", "old"));
    let run = place.until_it_waits();
    let before = place.show(&run);
    assert_eq!(before["cost_usd"], json!(0.75));
    place.write(&work("construct", "new"));
    tells_what_would_change(&place, &run);
    assert_eq!(place.show(&run), before, "a dry run changes nothing");

    place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
    place.wait(&run);
    let after = place.show(&run);
    let numbers: Vec<u64> = after["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["step_number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    let steps = named(&after["steps"], "superseded");
    let no = &json!(false);
    assert_eq!(
        steps,
        [("plan", no), ("implement", &json!(true)), ("wait: go", no), ("construct", no)]
    );
    let of = |document: &Value, list: &str, number: usize| -> Vec<Value> {
        let step = &document["steps"][number - 1]["id"];
        let field = if list == "agent_sessions" { "workflow_step_id" } else { "step_id" };
        let rows = document[list].as_array().expect("a list").iter();
        rows.filter(|row| row[field] == *step).map(|row| row["id"].clone()).collect()
    };
    for number in [1, 2] {
        let (was, is) = (&before["steps"][number - 1], &after["steps"][number - 1]);
        assert_eq!((&was["id"], &was["output"]), (&is["id"], &is["output"]));
        assert_eq!((&was["status"], &was["started_at"]), (&is["status"], &is["started_at"]));
        for list in ["artifacts", "comments", "agent_sessions"] {
            let was = of(&before, list, number);
            assert_eq!(of(&after, list, number), was, "{list} of step {number}");
            assert!(!was.is_empty(), "{list} of step {number}");
        }
    }
    let sessions = named(&after["agent_sessions"], "superseded");
    assert_eq!(sessions, [("plan", no), ("implement", &json!(true)), ("construct", no)]);
    assert_eq!(after["cost_usd"], json!(1.25), "what is superseded was paid for all the same");
    let sql = include_str!("sources/superseded.sql");
    let rows = place.call(&["query", sql, "--json"]).exits(0).document();
    assert_eq!(named(&rows["items"], "superseded")[1], ("implement", &json!(1)), "{rows}");
    for step in ["2", "implement"] {
        let refused = place.call(&["fork", &run, "--from-step", step]).exits(4).err;
        assert!(refused.contains("it is superseded"), "{refused}");
    }
    let shown = place.call(&["show", &run]).exits(0).out;
    let line = shown.lines().find(|line| line.contains("2 implement")).expect("it is shown");
    assert!(line.contains("superseded"), "{shown}");
    place.call(&["db", "check"]).exits(0);
    place.call(&["signal", &run, "go"]).exits(0);
    assert_eq!(place.stand.until_status(&place.root, &run, "COMPLETED")["output"], "new");
    assert_eq!(lines(&place.root.join("counted")), ["plan", "implement", "construct"]);
    place.call(&["db", "check"]).exits(0);
}

#[test]
fn a_step_that_comes_back_is_found_again_with_its_number() {
    let place = Place::new(&work("implement", "old"));
    let run = place.until_it_waits();
    let before = place.show(&run);
    place.write("await ctx.waitFor(\"go\");");
    place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
    place.wait(&run);
    let away = place.show(&run);
    let (yes, no) = (&json!(true), &json!(false));
    assert_eq!(
        named(&away["steps"], "superseded"),
        [("plan", yes), ("implement", yes), ("wait: go", no)]
    );
    assert_eq!(away["cost_usd"], before["cost_usd"]);
    place.write(&work("implement", "again"));
    place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
    place.wait(&run);
    let back = place.show(&run);
    for list in ["steps", "artifacts", "comments", "agent_sessions"] {
        let ids = |document: &Value| -> Vec<Value> {
            document[list].as_array().unwrap().iter().map(|row| row["id"].clone()).collect()
        };
        assert_eq!(ids(&back), ids(&before), "{list}");
    }
    assert_eq!(
        named(&back["steps"], "superseded"),
        [("plan", no), ("implement", no), ("wait: go", no)]
    );
    assert_eq!(named(&back["steps"], "status"), named(&before["steps"], "status"));
    assert_eq!(lines(&place.root.join("counted")), ["plan", "implement"], "nothing is repeated");
    place.call(&["db", "check"]).exits(0);
}

const BROKEN: &str = "await ctx.run(\"prepare\", async (ctx) => ctx.shell(\"echo prepared >> counted\"));\n\
    await ctx.run(\"build\", async () => { throw new Error(\"a bug\"); }, { retry: { maxAttempts: 1 } });\n\
    return \"never\";";

#[test]
fn a_fixed_workflow_mends_a_failed_run() {
    let place = Place::new(BROKEN);
    let arguments = [&Place::RUN[..], &["--workspace", "none", "--json"]].concat();
    let failed = place.call(&arguments).exits(1).document();
    let run = name(&failed);
    let command = format!("agentos retry {run} --latest");
    let shown = place.call(&["show", &run]).exits(0).out;
    assert!(!shown.contains("--latest"), "nothing has changed yet: {shown}");
    place.write(&BROKEN.replace("throw new Error(\"a bug\");", "").replace("never", "fixed"));
    let shown = place.call(&["show", &run]).exits(0).out;
    assert!(shown.contains("has changed since") && shown.contains(&command), "{shown}");
    let noted = place.call(&["show", &run, "--json"]).exits(0).err;
    assert!(noted.contains(&command), "{noted}");
    let refused = place.call(&["resume", &run, "--latest"]).exits(2).err;
    assert!(refused.contains(&command), "{refused}");
    let same = place.call(&["retry", &run, "--json"]).exits(4).err;
    assert!(same.contains("a bug") && same.contains("has changed since"), "{same}");
    assert!(same.contains(&command), "{same}");
    assert_eq!(place.runs(), 1, "a run that fails at once is not made");
    let mended = place.call(&["retry", &run, "--latest", "--json"]).exits(0).document();
    assert_eq!(mended["output"], "fixed");
    assert_eq!((&mended["forked_from"], &mended["definition_version"]), (&failed["id"], &json!(2)));
    assert_ne!(mended["definition_hash"], failed["definition_hash"]);
    assert_eq!(
        lines(&place.root.join("counted")),
        ["prepared"],
        "what had finished is not repeated"
    );

    // One that fails as well is refused, and leaves no run behind.
    let runs = place.runs();
    place.write(&BROKEN.replace("a bug", "another bug"));
    let refused = place.call(&["retry", &run, "--latest"]).exits(4).err;
    assert!(
        refused.contains("another bug") && refused.contains("templates/work.ts:4"),
        "{refused}"
    );
    assert_eq!(place.runs(), runs);
}

#[test]
fn a_run_that_goes_on_with_the_latest_workflow_has_the_defaults_of_that() {
    let place = Place::new(BROKEN);
    let arguments = [&Place::RUN[..], &["--workspace", "worktree", "--json"]].concat();
    let run = name(&place.call(&arguments).exits(1).document());
    place.write("return ctx.input.tag;");
    let file = place.root.join(".agent/workflows/templates/work.ts");
    let text = fs::read_to_string(&file).expect("it is there");
    let input = "name: \"work\", input: { type: \"object\", properties: { tag: { type: \"string\", default: \"v1\" } }, required: [\"tag\"] }";
    fs::write(&file, text.replace("name: \"work\"", input)).expect("a template");
    let fork = ["fork", &run, "--latest", "--from-step", "prepare", "--json"];
    let forked = place.call(&fork).exits(0).document();
    assert_eq!(forked["output"], "v1");
    let forked = place.call(&[&fork[..], &["--input", "tag=v2"]].concat()).exits(0).document();
    assert_eq!(forked["output"], "v2");
    let mended = place.call(&["retry", &run, "--latest", "--json"]).exits(0).document();
    assert_eq!((&mended["output"], &mended["input"]["tag"]), (&json!("v1"), &json!("v1")));
}

#[test]
fn an_input_that_the_latest_workflow_does_not_take_is_refused() {
    let place = Place::new(BROKEN);
    let arguments = [&Place::RUN[..], &["--workspace", "none", "--json"]].concat();
    let run = name(&place.call(&arguments).exits(1).document());
    let file = place.root.join(".agent/workflows/templates/work.ts");
    let text = fs::read_to_string(&file).expect("it is there");
    let input = "name: \"work\", input: { type: \"object\", properties: { tag: { type: \"string\" } }, required: [\"tag\"] }";
    fs::write(&file, text.replace("name: \"work\"", input)).expect("a template");
    let refused = place.call(&["retry", &run, "--latest"]).exits(2).err;
    assert!(refused.contains("the input is not what the workflow takes"), "{refused}");
}

#[test]
fn a_fork_goes_on_with_the_latest_workflow() {
    let steps = |word: &str| {
        format!(
            "const one = await ctx.run(\"one\", async (ctx) => (await ctx.shell(\"echo one\")).stdout.trim());\n\
             const two = await ctx.run(\"two\", async (ctx) => (await ctx.shell(\"echo {word}\", {{ name: \"say\" }})).stdout.trim());\n\
             return `${{one}} ${{two}}`;"
        )
    };
    let place = Place::new(&steps("two"));
    // Only with a commit there are workspaces.
    place.stand.git(&place.root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let first = place.call(&["run", "work", "--json"]).exits(0).document();
    assert_eq!(first["output"], "one two");
    let run = name(&first);
    place.write(&steps("three"));
    let old = place.call(&["fork", &run, "--from-step", "two", "--json"]).exits(0);
    assert_eq!(old.document()["output"], "one two");
    assert!(old.err.contains("`--latest` forks with it as it is now"), "{}", old.err);
    let ended = place.call(&["resume", &run, "--latest"]).exits(2).err;
    assert!(ended.contains(&format!("agentos fork {run} --from-step STEP --latest")), "{ended}");
    let new = place.call(&["fork", &run, "--from-step", "two", "--latest", "--json"]).exits(0);
    assert_eq!(new.document()["output"], "one three");
    assert_eq!(new.document()["definition_version"], 2);
    place.write("throw new Error(\"boom\");");
    let runs = place.runs();
    let refused = place.call(&["fork", &run, "--from-step", "two", "--latest"]).exits(4).err;
    assert!(refused.contains("boom"), "{refused}");
    assert_eq!(place.runs(), runs);
}

#[test]
fn a_source_that_has_nothing_left_to_do_completes_its_run() {
    let place = Place::new(&work("implement", "old"));
    let run = place.until_it_waits();
    place.write(&format!("{}return \"early\";", step("plan")));
    let told = place.call(&["resume", &run, "--latest", "--dry-run"]).exits(0).out;
    assert!(told.contains("with that the run is COMPLETED"), "{told}");
    assert!(told.contains("superseded    2  /implement#1"), "{told}");
    assert!(told.contains("superseded    3  wait: go") && !told.contains("for yet"), "{told}");
    let ended = place.call(&["resume", &run, "--latest", "--json"]).exits(0).document();
    assert_eq!((&ended["status"], &ended["output"]), (&json!("COMPLETED"), &json!("early")));
    let (yes, no) = (&json!(true), &json!(false));
    assert_eq!(
        named(&ended["steps"], "superseded"),
        [("plan", no), ("implement", yes), ("wait: go", yes)]
    );
    assert_eq!(ended["cost_usd"], json!(0.75));
    place.call(&["db", "check"]).exits(0);
}

#[test]
fn what_a_superseded_step_has_changed_can_still_be_shown() {
    let writes = |name: &str| {
        format!(
            "await ctx.run(\"{name}\", async (ctx) => ctx.shell(\"echo {name} > {name}.txt\", {{ name: \"{name}\" }}));\n"
        )
    };
    let body =
        |second: &str| format!("{}{}await ctx.waitFor(\"go\");", writes("one"), writes(second));
    let place = Place::new(&body("two"));
    place.stand.git(&place.root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let run = place.call(&["run", "work", "--detach"]).exits(0).out.trim().to_owned();
    place.wait(&run);
    place.write(&body("three"));
    place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
    place.wait(&run);
    let steps = place.show(&run)["steps"].clone();
    assert_eq!(named(&steps, "superseded")[1], ("two", &json!(true)), "{steps:#}");
    for (step, file) in [("one", "one.txt"), ("2", "two.txt"), ("three", "three.txt")] {
        let diff = place.call(&["diff", &run, "--step", step, "--json"]).exits(0).document();
        assert_eq!(diff["files"].as_array().map(Vec::len), Some(1), "{step}: {diff:#}");
        assert_eq!(diff["files"][0]["path"], file, "{diff:#}");
    }
}
