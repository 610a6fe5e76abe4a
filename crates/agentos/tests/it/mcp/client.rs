//! A real client between the test and the server.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Stdio};

use agentos_testing::mcp;
use serde_json::{Value, json};

use crate::support::{Process, Stand, workshop};

/// How a client is started.
#[derive(Clone, Copy)]
pub(crate) struct Setup<'a> {
    /// What follows on `agentos mcp`.
    pub(crate) arguments: &'a [&'a str],
    /// How the client introduces itself: `legacy`, or `auto` for the newest way that both know.
    pub(crate) mode: &'a str,
    /// Variables that the server gets beside the usual ones.
    pub(crate) of_server: &'a [(&'a str, &'a str)],
    /// Variables that only the client has.
    pub(crate) of_client: &'a [(&'a str, &'a str)],
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self { arguments: &[], mode: "legacy", of_server: &[], of_client: &[] }
    }
}

/// A client with its server.
pub(crate) struct Client {
    process: Process,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What it learned of the server.
    pub(crate) greeting: Value,
}

impl Client {
    /// A client whose server was allowed nothing.
    pub(crate) fn reader(stand: &Stand, folder: &Path) -> Self {
        Self::start(stand, folder, &Setup::default())
    }

    /// A client whose server was allowed so much.
    pub(crate) fn allowed(stand: &Stand, folder: &Path, what: &str) -> Self {
        Self::start(stand, folder, &Setup { arguments: &["--allow", what], ..Setup::default() })
    }

    pub(crate) fn start(stand: &Stand, folder: &Path, setup: &Setup<'_>) -> Self {
        let mut call = stand.call_program(&mcp::python(), folder, &["-c", mcp::CLIENT]);
        for (name, value) in setup.of_client {
            call = call.env(name, value);
        }
        call.command.stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = call.start();
        let input = process.child().stdin.take().expect("a pipe");
        let output = BufReader::new(process.child().stdout.take().expect("a pipe"));
        let mut client = Self { process, input, output, greeting: Value::Null };
        let mut env: BTreeMap<String, String> = stand
            .environment()
            .into_iter()
            .map(|(name, value)| (text(&name), text(&value)))
            .collect();
        env.extend(setup.of_server.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let args = [&["mcp"], setup.arguments].concat();
        let server = json!({ "command": workshop(), "args": args, "env": env, "cwd": folder });
        client.greeting = client.ask(&json!({ "server": server, "mode": setup.mode }));
        client
    }

    #[track_caller]
    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.input, "{question}").expect("the client reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the client answers");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The tools that the server offers.
    pub(crate) fn tools(&mut self) -> Vec<Value> {
        self.ask(&json!({ "tools": true }))["tools"].as_array().expect("a list").clone()
    }

    /// Calls several tools at the same time.
    pub(crate) fn calls(&mut self, calls: &[(&str, Value)]) -> Vec<Value> {
        let calls: Vec<Value> = calls
            .iter()
            .map(|(name, arguments)| json!({ "name": name, "arguments": arguments }))
            .collect();
        self.ask(&json!({ "calls": calls })).as_array().expect("a list").clone()
    }

    /// Calls a tool, and answers with whatever comes back.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.calls(&[(name, arguments)]).swap_remove(0)
    }

    /// What a tool says, and what it says beside that.
    #[track_caller]
    pub(crate) fn told(&mut self, name: &str, arguments: Value) -> (String, String) {
        let result = self.call(name, arguments);
        assert_ne!(result["isError"], true, "{result:#}");
        let part = |number: usize| result["content"][number]["text"].as_str().unwrap_or_default();
        (part(0).to_owned(), part(1).to_owned())
    }

    /// The document that a tool answers with.
    #[track_caller]
    pub(crate) fn document(&mut self, name: &str, arguments: Value) -> Value {
        let (text, _) = self.told(name, arguments);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Why a tool does not do what it is asked for.
    #[track_caller]
    pub(crate) fn refusal(&mut self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments);
        assert_eq!(result["isError"], true, "{result:#}");
        result["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// Goes away, as clients do: the server's standard input ends.
    #[track_caller]
    pub(crate) fn close(self) {
        let Self { process, input, mut output, .. } = self;
        drop(input);
        let mut line = String::new();
        output.read_line(&mut line).expect("the client answers");
        assert!(line.contains("closed"), "{line}");
        process.done().exits(0);
    }
}

fn text(text: &std::ffi::OsStr) -> String {
    text.to_string_lossy().into_owned()
}
