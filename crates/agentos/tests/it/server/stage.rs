//! A server with its client. Whatever it answers has to be what its description says.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::ChildStdout;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::http::{self, Answer, Request};
use crate::support::{Call, Process, Stand, wait_until};

/// A server that was started for a test.
pub(crate) struct Server {
    process: Process,
    /// `127.0.0.1:40123`
    pub(crate) address: String,
    /// What it said before it listened.
    pub(crate) said: Vec<String>,
    _output: BufReader<ChildStdout>,
    description: Value,
}

impl Server {
    /// In a checkout, on any port.
    pub(crate) fn start(stand: &Stand, folder: &Path) -> Self {
        Self::start_with(stand, folder, &[])
    }

    pub(crate) fn start_with(stand: &Stand, folder: &Path, variables: &[(&str, &str)]) -> Self {
        let mut call = stand.call(folder, &["serve", "--port", "0"]);
        for (name, value) in variables {
            call = call.env(name, value);
        }
        Self::of(call)
    }

    /// The server that this call starts.
    pub(crate) fn of(mut call: Call) -> Self {
        call.command.stderr(std::process::Stdio::inherit());
        let mut process = call.start();
        let mut output = BufReader::new(process.child().stdout.take().expect("a pipe"));
        let mut said = Vec::new();
        let address = loop {
            let mut line = String::new();
            assert_ne!(output.read_line(&mut line).expect("it speaks"), 0, "it ended: {said:?}");
            if let Some(address) = line.trim_end().strip_prefix("AgentOS is at http://") {
                break address.to_owned();
            }
            said.push(line.trim_end().to_owned());
        };
        let mut server = Self { process, address, said, _output: output, description: json!({}) };
        server.description = server.send("GET", "/api/openapi.json", &[], b"").is(200).json();
        server
    }

    /// Sends something, and takes whatever comes.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        http::send(&self.address, Request { method, path, headers, body })
    }

    /// The same, and the answer has to be one that is described.
    #[track_caller]
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let answer = self.send(method, path, headers, body);
        self.check(method, path, &answer);
        answer
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        self.ask("POST", path, &[("content-type", "application/json")], body.as_bytes())
    }

    #[track_caller]
    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, &[], b"")
    }

    /// Starts a run, and answers with its document.
    #[track_caller]
    pub(crate) fn execute(&self, workflow: &str, input: &Value) -> Value {
        let path = format!("/api/workflows/{workflow}/execute");
        self.post(&path, &json!({ "input": input })).is(201).json()
    }

    /// Waits until a run has this status.
    #[track_caller]
    pub(crate) fn until_status(&self, run: &str, status: &str) -> Value {
        let mut document = Value::Null;
        wait_until(&format!("{run} is {status}"), || {
            document = self.get(&format!("/api/executions/{run}")).is(200).json();
            document["status"] == status
        });
        document
    }

    pub(crate) fn project(&self) -> String {
        let projects = self.get("/api/projects").is(200).json();
        projects["items"][0]["id"].as_str().expect("a project").to_owned()
    }

    /// The id of a workflow.
    #[track_caller]
    pub(crate) fn workflow(&self, name: &str) -> Value {
        let all = self.get("/api/workflows").is(200).json();
        let found = all["items"].as_array().expect("a list").iter().find(|one| one["name"] == name);
        found.unwrap_or_else(|| panic!("there is no {name} in {all}")).clone()
    }

    /// Tells it to end, and waits for that.
    pub(crate) fn stop(mut self) {
        self.process.send(Signal::TERM);
        let done = self.process.done();
        assert_eq!(done.code, Some(0), "{done:?}");
    }

    pub(crate) fn pid(&mut self) -> i32 {
        self.process.pid()
    }

    pub(crate) fn kill(self) {
        self.process.kill();
    }

    /// Checks an answer against the description: status, media type, and every property.
    #[track_caller]
    pub(crate) fn check(&self, method: &str, path: &str, answer: &Answer) {
        let path = path.split('?').next().unwrap_or_default();
        let Some((template, item)) = self.described(path) else {
            assert_eq!(answer.status, 404, "{path} is not described, and answered");
            return;
        };
        let Some(operation) = item.get(method.to_lowercase()) else {
            assert_eq!(answer.status, 405, "{method} {template} is not described, and answered");
            return;
        };
        let told = self.resolved(&operation["responses"][answer.status.to_string()]);
        assert!(told.is_object(), "{method} {template} does not tell of {}", answer.status);
        let Some(content) = told.get("content") else {
            assert!(answer.body.is_empty(), "{method} {template} {}", answer.status);
            return;
        };
        let kind = answer.header("content-type").split(';').next().unwrap_or_default();
        let schema = content.get(kind).or_else(|| content.get("*/*")).map(|told| &told["schema"]);
        let schema = schema.unwrap_or_else(|| panic!("{method} {template} tells of no {kind}"));
        if kind == "application/problem+json" {
            speaks_http(&answer.json());
        }
        if kind == "application/json" || kind.ends_with("+json") {
            self.check_document(
                &format!("{method} {template} {}", answer.status),
                schema,
                &answer.json(),
            );
        }
    }

    #[track_caller]
    fn check_document(&self, what: &str, schema: &Value, document: &Value) {
        let mut whole = schema.clone();
        whole["components"] = self.description["components"].clone();
        let validator = jsonschema::validator_for(&whole).expect("a schema");
        let wrong: Vec<String> = validator
            .iter_errors(document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{what}: {wrong:#?}\n{document:#}");
        let mut unknown = Vec::new();
        self.undescribed(schema, document, "", &mut unknown);
        assert!(unknown.is_empty(), "{what} has properties that are not described: {unknown:?}");
    }

    /// The path item that an address belongs to; one without a parameter before one with.
    fn described(&self, path: &str) -> Option<(String, &Value)> {
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |template: &str| {
            let wanted: Vec<&str> = template.split('/').collect();
            wanted.len() == parts.len()
                && wanted
                    .iter()
                    .zip(&parts)
                    .all(|(one, other)| one.starts_with('{') || one == other)
        };
        let paths = self.description["paths"].as_object().expect("paths");
        let found = paths.iter().filter(|(template, _)| fits(template));
        let found = found.min_by_key(|(template, _)| template.matches('{').count());
        found.map(|(template, item)| (template.clone(), item))
    }

    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str().and_then(|name| name.strip_prefix('#')) {
            Some(pointer) => self.description.pointer(pointer).unwrap_or(schema),
            None => schema,
        }
    }

    /// Every schema that says something about the same value.
    fn parts<'a>(&'a self, schema: &'a Value) -> Vec<&'a Value> {
        let schema = self.resolved(schema);
        let mut parts = vec![schema];
        for word in ["allOf", "oneOf", "anyOf"] {
            for part in schema[word].as_array().into_iter().flatten() {
                parts.extend(self.parts(part));
            }
        }
        parts
    }

    /// Properties that no schema tells of, where schemas tell of properties at all.
    fn undescribed(&self, schema: &Value, value: &Value, at: &str, unknown: &mut Vec<String>) {
        let parts = self.parts(schema);
        match value {
            Value::Object(fields) => {
                let told: BTreeSet<&String> = parts
                    .iter()
                    .filter_map(|part| part["properties"].as_object())
                    .flat_map(serde_json::Map::keys)
                    .collect();
                if told.is_empty() {
                    return;
                }
                for (name, value) in fields {
                    if !told.contains(name) {
                        unknown.push(format!("{at}/{name}"));
                    }
                    let below = parts.iter().find_map(|part| part["properties"].get(name));
                    if let Some(below) = below {
                        self.undescribed(below, value, &format!("{at}/{name}"), unknown);
                    }
                }
            }
            Value::Array(items) => {
                if let Some(below) = parts.iter().find_map(|part| part.get("items")) {
                    for (number, item) in items.iter().enumerate() {
                        self.undescribed(below, item, &format!("{at}/{number}"), unknown);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whoever asks over HTTP has no flags.
#[track_caller]
fn speaks_http(problem: &Value) {
    let said = format!("{} {}", problem["detail"], problem["hint"]);
    for word in ["`--", "`agentos "] {
        assert!(!said.contains(word), "this is the language of the command line: {problem}");
    }
}

/// Writes a template into a project.
pub(crate) fn template(root: &Path, name: &str, text: &str) {
    let folder = root.join(".agent/workflows/templates");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(format!("{name}.ts")), text).expect("a template");
}

/// The id of a document.
pub(crate) fn id(document: &Value) -> String {
    document["id"].as_str().expect("an id").to_owned()
}
