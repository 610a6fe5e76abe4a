//! Agents that use too much, hang, flood, are not allowed to, or are cancelled.

use std::fs;

use serde_json::Value;

use super::stage::{GATE, Stage, session, trouble};
use crate::commands::site::{files_below, is_alive};
use crate::support::wait_until;

#[test]
fn a_budget_that_runs_out_ends_the_session() {
    let items = r#"{ say = "on it" }, { tokens = { input = 90, output = 9, cost_usd = 0.2 } }, { run = "echo $PPID > agent" },
        { tokens = { input = 90, output = 9, cost_usd = 0.2 } }, { hang = {} }"#;
    let stage = Stage::of_items("budget: { tokens: 150 }", items);
    let (reason, message) = trouble(stage.run());
    assert_eq!(reason, "budget");
    assert!(message.contains("it used 198 tokens of 150"), "{message}");
    let agent: i32 = stage.lines("agent")[0].parse().expect("an id");
    assert!(!is_alive(agent));
    let run = stage.site.show(&stage.site.only_run());
    assert_eq!(
        (&session(&run)["input_tokens"], &session(&run)["status"]),
        (&180.into(), &"FAILED".into())
    );
    let stage = Stage::of_items("budget: { usd: 0.3 }", items);
    assert_eq!(trouble(stage.run()).0, "budget");
    let enough = Stage::of_items(
        "budget: { tokens: 1000, usd: 1 }",
        &items.replace("{ hang = {} }", "{ say = \"x\" }"),
    );
    enough.run().exits(0);
}

#[test]
fn an_agent_that_hangs_is_ended_when_its_time_is_over() {
    let stage = Stage::of_items("idleTimeout: 300", "{ say = \"well\" }, { hang = {} }");
    assert_eq!(trouble(stage.run()).0, "idle");
    let stage = Stage::of_items("timeout: 300", "{ say = \"well\" }, { hang = {} }");
    assert_eq!(trouble(stage.run()).0, "timeout");
}

#[test]
fn an_agent_that_floods_fills_neither_memory_nor_log() {
    let items =
        r#"{ flood = 30000000 }, { line = "{\"type\":\"finished\",\"ok\":" }, { say = "done" }"#;
    let stage = Stage::of_items("", items);
    let run = stage.run().exits(0).document();
    assert_eq!(run["output"]["text"], "done");
    let log = stage.remarks();
    assert!(log.len() < 100_000, "{} bytes in the step's log", log.len());
}

/// The artifact that has the whole answer of the only session.
fn whole_answer(stage: &Stage) -> Option<Value> {
    let run = stage.site.show(&stage.site.only_run());
    let artifacts = run["artifacts"].as_array().expect("a list").clone();
    artifacts.into_iter().find(|artifact| artifact["name"] == "build.answer.txt")
}

#[test]
fn an_answer_that_is_too_long_for_the_log_says_so_and_is_an_artifact() {
    let whole = format!("begin {} end", "é".repeat(700_000));
    let stage = Stage::of_items("", &format!("{{ say = \"{whole}\" }}"));
    let output = stage.run().exits(0).document()["output"].clone();
    let text = output["text"].as_str().expect("text");
    assert_eq!(output["truncated"], true);
    assert!(text.len() <= (1 << 20) + "…".len() && text.ends_with("é…"), "{} bytes", text.len());
    let artifact = whole_answer(&stage).expect("an artifact");
    assert_eq!(artifact["type"], "SESSION_FILE");
    let path = artifact["storage_path"].as_str().expect("a path");
    let kept = fs::read_to_string(stage.site.repo.join(path)).expect("a file");
    assert!(kept == whole, "{} bytes", kept.len());
    assert!(stage.remarks().contains("of which the run gets 1048576"), "{}", stage.remarks());
    let stage = Stage::of_items("", "{ say = \"short\" }");
    let output = stage.run().exits(0).document()["output"].clone();
    assert_eq!((&output["text"], &output["truncated"]), (&"short".into(), &false.into()));
    assert_eq!(whole_answer(&stage), None);
}

#[test]
fn an_answer_in_json_that_is_too_long_has_the_wrong_form() {
    let long = format!("{{ say = '[\"{}\"]' }}", "x".repeat(1_200_000));
    let stage = Stage::of_items("json: true", &long);
    let (reason, message) = trouble(stage.run());
    assert_eq!(reason, "answer");
    assert!(message.contains("it is longer than 1048576 bytes"), "{message}");
}

#[test]
fn every_failure_has_its_reason() {
    for (item, reason) in [
        ("{ fail = { kind = \"auth\", message = \"no key\" } }", "auth"),
        ("{ fail = { kind = \"max_turns\" } }", "max_turns"),
        ("{ deny = \"Bash\" }", "permission_denied"),
        ("{ exit = 0 }", "dropped"),
        ("{ exit = 7 }", "exit"),
        ("{ line = \"garbage\" }, { exit = 0 }", "dropped"),
    ] {
        let stage = Stage::of_items("", item);
        assert_eq!(trouble(stage.run()).0, reason, "{item}");
    }
    let stage = Stage::of_items(
        "check: false",
        "{ fail = { kind = \"rate_limit\", message = \"slow down\" } }",
    );
    let run = stage.run().exits(0).document();
    assert_eq!(run["output"]["exitReason"], "rate_limit");
    assert_eq!(run["output"]["message"], "slow down");
    assert_eq!(session(&run)["status"], "FAILED");
}

#[test]
fn cancel_leaves_no_process_not_even_one_that_left_its_session() {
    let items = r#"{ run = "setsid sh -c 'echo $$ > far; exec sleep 300' & sh -c 'echo $$ > near; exec sleep 300' & echo $PPID > agent; wait" }"#;
    let stage = Stage::of_items("", items);
    let process = stage.begin();
    let pids = || -> Vec<i32> {
        ["far", "near", "agent"]
            .iter()
            .filter_map(|file| stage.lines(file).first()?.parse().ok())
            .collect()
    };
    wait_until("the agent's tools run", || pids().len() == 3);
    let run = stage.site.only_run();
    stage.site.call(&["cancel", &run]).exits(0);
    process.done().exits(1);
    for pid in pids() {
        assert!(!is_alive(pid), "{pid} is left");
    }
    let run = stage.site.show(&run);
    assert_eq!(session(&run)["status"], "CANCELLED");
}

#[test]
fn a_cancelled_session_keeps_what_it_used_and_its_files() {
    let stage =
        Stage::of_items("", "{ tokens = { input = 770 } }, { say = \"on it\" }, { hang = {} }");
    let process = stage.begin();
    stage.site.until_spoken("on it", 1);
    let run = stage.site.only_run();
    stage.site.call(&["cancel", &run]).exits(0);
    process.done().exits(1);
    let run = stage.site.show(&run);
    assert_eq!(run["status"], "CANCELLED");
    let session = session(&run);
    assert_eq!((&session["status"], &session["input_tokens"]), (&"CANCELLED".into(), &770.into()));
    assert_eq!(run["artifacts"].as_array().map(Vec::len), Some(2), "{run:#}");
}

#[test]
fn a_cancelled_session_is_no_answer_for_whoever_tries_the_run_again() {
    let stage =
        Stage::of_items("", &format!("{{ say = \"on it\" }}, {GATE}, {{ say = \"there\" }}"));
    let process = stage.begin();
    stage.site.until_spoken("on it", 1);
    let run = stage.site.only_run();
    stage.site.call(&["cancel", &run]).exits(0);
    process.done().exits(1);
    fs::write(stage.site.repo.join("go"), "").expect("a file");
    let run = stage.site.call(&["retry", "--json", &run]).exits(0).document();
    assert_eq!(run["output"]["text"], "there", "{run:#}");
}

#[test]
fn a_key_that_json_writes_in_other_letters_is_masked_everywhere() {
    let items = r##"
        { run = 'printf %s "$ODD_KEY"' },
        { line = '{"type":"text","partial":true,"text":"it is se\"cr\\e"}' },
        { line = '{"type":"text","partial":true,"text":"t-ü-key"}' },
        { say = 'it is se"cr\et-ü-key' },
        { say = '["se\"cr\\et-ü-key"]' },
    "##;
    let stage = Stage::of_items(r#"json: true, env: { ODD_KEY: "se\"cr\\et-ü-key" }"#, items);
    let done = stage.run().exits(0);
    assert_eq!(done.document()["output"]["json"], serde_json::json!(["***"]));
    let kept = files_below(&stage.site.repo.join(".agent/workflows/executions"));
    assert!(kept.len() > 3, "{kept:?}");
    for path in kept {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let shown = text.lines().filter(|line| line.contains("t-ü-key"));
        // What the workflow asked for is its own word.
        let shown: Vec<&str> = shown.filter(|line| !line.contains("ODD_KEY")).collect();
        assert!(shown.is_empty(), "{}: {shown:#?}", path.display());
    }
}
