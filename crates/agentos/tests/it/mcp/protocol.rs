//! What no client would send, and how a server ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdout, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Process, Stand};

/// A server with nobody but the test at its pipes.
struct Wire {
    process: Process,
    output: BufReader<ChildStdout>,
}

impl Wire {
    fn new(stand: &Stand, folder: &std::path::Path) -> Self {
        let mut call = stand.call(folder, &["mcp"]);
        call.command.stdin(Stdio::piped());
        let mut process = call.start();
        let output = BufReader::new(process.child().stdout.take().expect("a pipe"));
        Self { process, output }
    }

    fn send(&mut self, bytes: &[u8]) {
        let input = self.process.child().stdin.as_mut().expect("a pipe");
        input.write_all(bytes).and_then(|()| input.flush()).expect("it reads");
    }

    fn say(&mut self, message: &Value) {
        self.send(format!("{message}\n").as_bytes());
    }

    /// The next message, which is one line of JSON.
    #[track_caller]
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn initialize(&mut self) {
        let client = json!({ "name": "wire", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        self.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
        assert_eq!(self.hear()["result"]["protocolVersion"], "2025-06-18");
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }
}

#[test]
fn nonsense_ends_nothing() {
    let (stand, root) = Stand::with_repository();
    let mut wire = Wire::new(&stand, &root);
    wire.send(b"not json\n\n{\"jsonrpc\": \"2.0\"\n\xff\xfe\x00\n");
    wire.initialize();
    wire.send(b"{]\n[[[[\n\"text\"\n");
    // A line that nobody could want to read is left out, and the next one is heard.
    wire.send(&vec![b'x'; 17 << 20]);
    wire.send(b"\n");
    wire.say(&json!({ "jsonrpc": "2.0", "id": "a", "method": "no/such/method" }));
    wire.say(
        &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": 7 } }),
    );
    wire.say(&json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "list_runs" } }));
    wire.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } }));
    let mut answer = wire.hear();
    let mut faults = 0;
    while answer["id"] != 3 {
        assert!(answer["error"]["code"].is_i64(), "{answer}");
        faults += 1;
        answer = wire.hear();
    }
    assert!(faults >= 2, "what is no request is answered with a fault");
    let listing = answer["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(listing.contains("\"total\":0"), "{listing}");
    drop(wire.process.child().stdin.take());
    let done = wire.process.done().exits(0);
    assert!(!done.err.contains("panicked"), "{}", done.err);
}

#[test]
fn a_server_ends_with_its_client_or_when_it_is_told_to() {
    let (stand, root) = Stand::with_repository();
    let mut wire = Wire::new(&stand, &root);
    drop(wire.process.child().stdin.take());
    assert_eq!(wire.process.done().exits(0).err, "", "nobody has said anything");
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut wire = Wire::new(&stand, &root);
        wire.initialize();
        wire.process.send(signal);
        wire.process.done().exits(0);
    }
    let mut wire = Wire::new(&stand, &root);
    wire.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let done = wire.process.done().exits(2);
    assert!(done.err.contains("no MCP client"), "{}", done.err);
}
