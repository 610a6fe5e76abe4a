//! The input that a run takes along to the workflow as it is now: what that does not know is left out, what it has got since
//! has its default, and what is missing is refused. Alike for `resume`, `retry` and `fork`, on the command line and over HTTP.

use std::fs;

use serde_json::{Value, json};

use super::{BROKEN, Place};
use crate::mcp::client::Client;
use crate::server::stage::Server;
use crate::support::{name, wait_until};

const WAITS: &str = "await ctx.waitFor(\"go\");\nreturn ctx.input;";

impl Place {
    /// The workflow has this body and takes such an input from now on.
    pub(super) fn takes(&self, body: &str, schema: &Value) {
        self.write(body);
        let file = self.root.join(".agent/workflows/templates/work.ts");
        let text = fs::read_to_string(&file).expect("it is there");
        let with = format!("name: \"work\", input: {schema}");
        fs::write(&file, text.replace("name: \"work\"", &with)).expect("a template");
    }

    /// Waits for an event with an input that has `old` and `name`.
    fn with_an_input(&self) -> String {
        self.takes(WAITS, &before());
        let arguments =
            ["--workspace", "none", "--detach", "--input", "old=1", "--input", "name=Ada"];
        let run = self.call(&[&Self::RUN[..], &arguments].concat()).exits(0).out.trim().to_owned();
        self.wait(&run);
        run
    }
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn before() -> Value {
    json!({ "type": "object", "properties": { "old": text(), "name": text() }, "required": ["old"] })
}

/// Does not know `old` any more, and has a default for `tag`.
fn after() -> Value {
    let tag = json!({ "type": "string", "default": "v1" });
    json!({ "type": "object", "properties": { "name": text(), "tag": tag }, "required": ["tag"] })
}

/// Wants a `tag`, for which there is no default.
fn missing() -> Value {
    json!({ "type": "object", "properties": { "name": text(), "tag": text() }, "required": ["tag"] })
}

const LEFT_OUT: &str = "the input `old` is left out: `work` as it is now does not know it";

fn taken() -> Value {
    json!({ "name": "Ada", "tag": "v1" })
}

#[test]
fn a_resumed_run_has_the_input_that_the_latest_workflow_takes() {
    let place = Place::new(WAITS);
    let run = place.with_an_input();
    let before = place.show(&run);
    place.takes(WAITS, &missing());
    for arguments in [&["resume", &run, "--latest"][..], &["resume", &run, "--latest", "--dry-run"]]
    {
        let refused = place.call(arguments).exits(2).err;
        assert!(refused.contains("`input.tag`"), "{refused}");
        let other = format!("agentos fork {run} --from-step STEP --latest --input KEY=VALUE");
        assert!(refused.contains(&other), "{refused}");
        assert_eq!(place.show(&run), before, "nothing has changed");
    }
    place.takes(WAITS, &after());
    let plan = place.call(&["resume", &run, "--latest", "--dry-run", "--json"]).exits(0).document();
    assert_eq!(plan["notices"], json!([LEFT_OUT]));
    assert_eq!(place.show(&run), before, "nothing has changed");
    let told = place.call(&["resume", &run, "--latest", "--detach"]).exits(0).err;
    assert!(told.contains(LEFT_OUT), "{told}");
    place.wait(&run);
    assert_eq!(place.show(&run)["input"], taken());
    place.call(&["db", "check"]).exits(0);
    // What is made out of it later begins with that, too.
    place.takes(&format!("{WAITS}// again"), &after());
    let told = place.call(&["resume", &run, "--latest", "--detach"]).exits(0).err;
    assert!(!told.contains("left out"), "{told}");
    place.wait(&run);
    place.call(&["signal", &run, "go"]).exits(0);
    assert_eq!(place.stand.until_status(&place.root, &run, "COMPLETED")["output"], taken());
    place.call(&["db", "check"]).exits(0);
}

#[test]
fn a_run_that_is_made_with_the_latest_workflow_has_the_input_that_it_takes() {
    let place = Place::new(BROKEN);
    place.stand.git(&place.root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    place.takes(BROKEN, &before());
    let arguments = ["--json", "--input", "old=1", "--input", "name=Ada"];
    let run = name(&place.call(&[&Place::RUN[..], &arguments].concat()).exits(1).document());
    let retry = ["retry", &run, "--latest", "--json"];
    let fork = ["fork", &run, "--from-step", "prepare", "--latest", "--json"];
    place.takes("return ctx.input;", &missing());
    for arguments in [&retry[..], &fork] {
        let refused = place.call(arguments).exits(2).err;
        assert!(refused.contains("`input.tag`") && refused.contains("--input"), "{refused}");
    }
    let given = [&fork[..], &["--input", "tag=v2"]].concat();
    let forked = place.call(&given).exits(0);
    assert!(forked.err.contains(LEFT_OUT), "{}", forked.err);
    assert_eq!(forked.document()["output"], json!({ "name": "Ada", "tag": "v2" }));
    let misspelt = place.call(&[&given[..], &["--input", "old=2"]].concat()).exits(2).err;
    assert!(misspelt.contains("`input.old` is not known"), "what is given now counts: {misspelt}");
    place.takes("return ctx.input;", &after());
    for arguments in [&retry[..], &fork] {
        let made = place.call(arguments).exits(0);
        assert!(made.err.contains(LEFT_OUT), "{}", made.err);
        assert_eq!((&made.document()["output"], &made.document()["input"]), (&taken(), &taken()));
    }
}

#[test]
fn the_api_and_agents_go_by_the_same_rule() {
    let place = Place::new(WAITS);
    let run = place.with_an_input();
    let server = Server::start(&place.stand, &place.root);
    let path = format!("/api/executions/{run}");
    let latest = json!({ "latest": true });
    place.takes(WAITS, &missing());
    let refused = server.post(&format!("{path}/resume"), &latest).is(422).json();
    assert_eq!(refused["type"], "urn:agentos:problem:wrong-input");
    assert!(refused["hint"].as_str().unwrap().contains("/fork"), "{refused}");
    place.takes(WAITS, &after());
    let resumed = server.post(&format!("{path}/resume"), &latest).is(200).json();
    let goes_on = "the run goes on with the latest source";
    assert_eq!(resumed["notes"], json!([LEFT_OUT, goes_on]));
    let shown = || server.get(&path).is(200).json();
    wait_until("it waits again", || shown()["waiting"]["kind"] == "signal");
    assert_eq!(shown()["input"], taken());
    server.post(&format!("{path}/cancel"), &json!({})).is(200);
    place
        .takes("return ctx.input;", &json!({ "type": "object", "properties": { "name": text() } }));
    let made = server.post(&format!("{path}/retry"), &latest).is(201).json();
    let left_out = LEFT_OUT.replace("old", "tag");
    assert_eq!(made["notes"], json!([left_out]));
    assert_eq!(
        server.get(&format!("/api/executions/{}", name(&made))).is(200).json()["notes"],
        json!(null)
    );
    let made = server.until_status(&name(&made), "COMPLETED");
    assert_eq!(made["output"], json!({ "name": "Ada" }));
    server.stop();
    place.takes(
        "return [ctx.input];",
        &json!({ "type": "object", "properties": { "tag": text() } }),
    );
    let mut client = Client::allowed(&place.stand, &place.root, "run");
    let (made, beside) = client.told("retry_run", json!({ "run": run, "latest": true }));
    let left_out = LEFT_OUT.replace("old", "name");
    assert!(beside.contains(&left_out), "{beside}");
    let made = name(&serde_json::from_str(&made).expect("a document"));
    let made = place.stand.until_status(&place.root, &made, "COMPLETED");
    assert_eq!(made["output"], json!([{ "tag": "v1" }]));
    client.close();
}
