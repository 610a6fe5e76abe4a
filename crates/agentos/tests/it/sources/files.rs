//! Defaults that are files, of the workflow as it is now: they are copied for a run as for a new one, or refused if they are
//! missing. Alike for `resume`, `retry` and `fork`, on the command line and over HTTP.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{BROKEN, Place};
use crate::server::stage::Server;
use crate::support::name;

const WAITS: &str = "await ctx.waitFor(\"go\");\nreturn \"nothing read\";";

/// Reads the file that its input names after it has waited.
const READS: &str = "await ctx.waitFor(\"go\");\nreturn await ctx.files.read(ctx.input.brief);";

fn file() -> Value {
    json!({ "type": "string", "format": "file" })
}

/// Takes a file `spec`.
fn before() -> Value {
    json!({ "type": "object", "properties": { "spec": file() } })
}

/// Takes a file `brief` as well, this one if nothing is said.
fn after(default: &str) -> Value {
    let brief = json!({ "type": "string", "format": "file", "default": default });
    json!({ "type": "object", "properties": { "spec": file(), "brief": brief } })
}

impl Place {
    fn has(&self, file: &str, text: &str) {
        fs::write(self.root.join(file), text).expect("a file");
    }

    /// Waits for an event, without an input.
    fn until_it_waits_for_input(&self) -> String {
        self.takes(WAITS, &before());
        self.until_it_waits()
    }

    /// The command is refused for want of the file, and nothing has changed.
    fn lacks_a_file(&self, arguments: &[&str], run: &str) {
        let (shown, runs) = (self.show(run), self.runs());
        let refused = self.call(arguments).exits(2).err;
        assert!(refused.contains("`brief`") && refused.contains("notes.md"), "{refused}");
        assert!(refused.contains("--input"), "{refused}");
        assert_eq!((self.show(run), self.runs()), (shown, runs));
    }
}

#[test]
fn a_resumed_run_has_a_copy_of_a_file_that_the_latest_workflow_has_for_a_default() {
    let place = Place::new(WAITS);
    let run = place.until_it_waits_for_input();
    place.takes(READS, &after("notes.md"));
    let dry = ["resume", &run, "--latest", "--dry-run"];
    place.lacks_a_file(&["resume", &run, "--latest"], &run);
    place.lacks_a_file(&dry, &run);
    place.has("notes.md", "be kind");
    place.call(&dry).exits(0);
    let context = place.show(&run)["context_dir"].as_str().expect("a folder").to_owned();
    let copy = Path::new(&context).join("brief/notes.md");
    assert!(!copy.exists(), "nothing has changed");
    place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
    place.wait(&run);
    assert_eq!(fs::read_to_string(copy).expect("a copy"), "be kind");
    assert_eq!(place.show(&run)["input"], json!({ "brief": "notes.md" }), "as it was given");
    place.has("notes.md", "be something else");
    // The copy that it has is not made again.
    place.takes(&format!("{READS}// again"), &after("notes.md"));
    place.call(&["resume", &run, "--latest", "--detach"]).exits(0);
    place.wait(&run);
    place.call(&["signal", &run, "go"]).exits(0);
    assert_eq!(place.stand.until_status(&place.root, &run, "COMPLETED")["output"], "be kind");
    place.call(&["db", "check"]).exits(0);
}

#[test]
fn a_run_that_reads_the_files_of_another_one_leaves_those_as_they_are() {
    let place = Place::new(WAITS);
    let waits = "await ctx.waitFor(\"go\");\nthrow new Error(\"a bug\");";
    let first = json!({ "type": "object", "properties": { "brief": file() } });
    place.takes(waits, &first);
    place.has("notes.md", "as it was");
    let given = ["--workspace", "none", "--detach", "--input", "brief=notes.md"];
    let old = place.call(&[&Place::RUN[..], &given].concat()).exits(0).out.trim().to_owned();
    place.wait(&old);
    place.call(&["signal", &old, "go"]).exits(0);
    place.stand.until_status(&place.root, &old, "FAILED");
    // The new run reads the copy of the old one, until its workflow has another input of the same name.
    place.takes(&format!("await ctx.waitFor(\"again\");\n{waits}"), &before());
    let new = place.call(&["retry", &old, "--latest", "--detach"]).exits(0).out.trim().to_owned();
    place.wait(&new);
    place.has("notes.md", "as it is");
    let reads = "await ctx.waitFor(\"again\");\nreturn await ctx.files.read(ctx.input.brief);";
    place.takes(reads, &after("notes.md"));
    place.call(&["resume", &new, "--latest", "--detach"]).exits(0);
    place.wait(&new);
    place.call(&["signal", &new, "again"]).exits(0);
    let output = place.stand.until_status(&place.root, &new, "COMPLETED")["output"].clone();
    let context = place.show(&old)["context_dir"].as_str().expect("a folder").to_owned();
    let copy = fs::read_to_string(Path::new(&context).join("brief/notes.md")).expect("a copy");
    assert_eq!((&output, copy.as_str()), (&json!("as it is"), "as it was"));
}

#[test]
fn a_run_that_is_made_with_the_latest_workflow_has_copies_of_all_its_files() {
    let place = Place::new(BROKEN);
    place.stand.git(&place.root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    place.has("spec.md", "a spec");
    place.takes(BROKEN, &before());
    let arguments = [&Place::RUN[..], &["--json", "--input", "spec=spec.md"]].concat();
    let run = name(&place.call(&arguments).exits(1).document());
    let retry = ["retry", &run, "--latest", "--json"];
    let fork = ["fork", &run, "--from-step", "prepare", "--latest", "--json"];
    let reads = "const read = (name) => ctx.files.read(ctx.input[name]);\n\
                 return [await read(\"spec\"), await read(\"brief\")];";
    place.takes(reads, &after("notes.md"));
    for arguments in [&retry[..], &fork] {
        place.lacks_a_file(arguments, &run);
    }
    place.lacks_a_file(&["retry", &run, "--latest", "--detach"], &run);
    place.has("notes.md", "be kind");
    // What the run has is its copy.
    fs::remove_file(place.root.join("spec.md")).expect("it is there");
    let mut made = Vec::new();
    for arguments in [&retry[..], &fork] {
        let document = place.call(arguments).exits(0).document();
        assert_eq!(document["output"], json!(["a spec", "be kind"]), "{document:#}");
        assert_eq!(document["input"], json!({ "spec": "spec.md", "brief": "notes.md" }));
        let context = document["context_dir"].as_str().expect("a folder").to_owned();
        let copy = Path::new(&context).join("brief/notes.md");
        assert_eq!(fs::read_to_string(copy).expect("a copy"), "be kind");
        made.push(context);
    }
    made.push(place.show(&run)["context_dir"].as_str().expect("a folder").to_owned());
    made.dedup();
    assert_eq!(made.len(), 3, "each has copies of its own: {made:?}");
    place.call(&["db", "check"]).exits(0);
}

#[test]
fn over_http_a_default_that_is_a_file_has_to_be_in_the_project() {
    let place = Place::new(WAITS);
    let run = place.until_it_waits_for_input();
    let server = Server::start(&place.stand, &place.root);
    let path = format!("/api/executions/{run}");
    let latest = json!({ "latest": true });
    place.takes(READS, &after("notes.md"));
    server.post(&format!("{path}/resume"), &latest).refuses("wrong-input");
    place.takes(READS, &after("/etc/passwd"));
    server.post(&format!("{path}/resume"), &latest).refuses("outside-project");
    place.takes(READS, &after("notes.md"));
    place.has("notes.md", "be kind");
    server.post(&format!("{path}/resume"), &latest).is(200);
    server.post(&format!("{path}/signal"), &json!({ "event": "go" })).is(200);
    assert_eq!(server.until_status(&run, "COMPLETED")["output"], "be kind");
    let cancelled = place.until_it_waits_for_input();
    let path = format!("/api/executions/{cancelled}");
    server.post(&format!("{path}/cancel"), &json!({})).is(200);
    place.takes("return await ctx.files.read(ctx.input.brief);", &after("/etc/passwd"));
    server.post(&format!("{path}/retry"), &latest).refuses("outside-project");
    place.takes("return await ctx.files.read(ctx.input.brief);", &after("notes.md"));
    let made = server.post(&format!("{path}/retry"), &latest).is(201).json();
    assert_eq!(server.until_status(&name(&made), "COMPLETED")["output"], "be kind");
    server.stop();
}
