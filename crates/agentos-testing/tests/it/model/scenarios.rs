//! Scenarios in files.

use std::fs;
use std::path::PathBuf;

use agentos_testing::model::{Call, Exchange, Fault, ModelServer, Scenario, Turn, Usage};
use tempfile::TempDir;

const TOML: &str = r#"
[[exchange]]
when = "hello"

[[exchange.turn]]
faults = [{ status = 429 }, "drop"]
say = "I will do it."
call = [
  { write = { path = "hello.txt", content = "hello\n" } },
  { run = "ls" },
  { tool = { name = "Read", arguments = { file_path = "a" } } },
]

[[exchange.turn]]
say = "All done."
usage = { input = 100, cached = 60, output = 20 }

[[exchange]]
endless = true
turn = [{ fault = { slow = 5 }, say = "What?" }]
"#;

fn file(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).expect("a file");
    path
}

fn expected() -> Scenario {
    let tool =
        Call::Tool { name: "Read".to_owned(), arguments: serde_json::json!({ "file_path": "a" }) };
    let first = Turn::say("I will do it.")
        .after(Fault::Status(429))
        .after(Fault::Drop)
        .call(Call::write("hello.txt", "hello\n"))
        .call(Call::run("ls"))
        .call(tool);
    let second = Turn::say("All done.").using(Usage { input: 100, cached: 60, output: 20 });
    let other = Turn { fault: Some(Fault::Slow(5)), ..Turn::say("What?") };
    Scenario::new(Exchange::new([first, second]).when("hello"))
        .and(Exchange::new([other]).endless())
}

#[test]
fn a_scenario_is_the_same_in_rust_toml_and_json() {
    let folder = TempDir::new().expect("a folder");
    let toml = Scenario::load(&file(&folder, "a.toml", TOML)).expect("a scenario");
    assert_eq!(toml, expected());
    let json = serde_json::to_string(&toml).expect("JSON");
    let json = Scenario::load(&file(&folder, "a.json", &json)).expect("a scenario");
    assert_eq!(json, expected());
}

#[test]
fn a_wrong_scenario_is_refused_with_a_reason() {
    let folder = TempDir::new().expect("a folder");
    let refusal = |text: &str| {
        Scenario::load(&file(&folder, "a.toml", text)).expect_err("it is wrong").to_string()
    };
    assert!(refusal("exchange = []").contains("between 1 and 256 exchanges"));
    assert!(refusal("[[exchange]]\nturn = []").contains("turns in an exchange"));
    assert!(refusal("[[exchange]]\nturn = [{ sya = \"a\" }]").contains("unknown field `sya`"));
    let status = refusal("[[exchange]]\nturn = [{ fault = { status = 200 } }]");
    assert!(status.contains("200 is no HTTP status of an error"), "{status}");
    let missing = Scenario::load(&folder.path().join("none")).expect_err("it is not there");
    assert!(missing.to_string().contains("could not read the scenario"), "{missing}");
    assert!(ModelServer::start(Scenario { exchanges: vec![] }).is_err());
}
