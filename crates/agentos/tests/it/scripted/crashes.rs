//! Somebody is killed in the middle of a session. Whoever goes on finds the agent, or names the session to a new one.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::stage::{GATE, Stage, session};
use crate::commands::site::{Process, is_alive, kill};
use crate::support::wait_until;

const BEFORE: &str = r#"{ run = "echo $PPID >> before" }, { say = "halfway" }"#;
const AFTER: &str =
    r#"{ run = "echo x >> after" }, { tokens = { input = 10, output = 2 } }, { say = "there" }"#;

fn stage() -> Stage {
    Stage::of_items("", &format!("{BEFORE}, {GATE}, {AFTER}"))
}

fn go(stage: &Stage) {
    fs::write(stage.site.repo.join("go"), "").expect("a file");
}

/// Begins, and waits until the agent is in the middle of it.
fn begin(stage: &Stage) -> Process {
    let process = stage.begin();
    stage.site.until_spoken("halfway", 1);
    known_session(stage, &Value::Null);
    process
}

/// The session that the run is known to have, once it is another than this one: a step's log may be ahead of the database.
fn known_session(stage: &Stage, before: &Value) -> Value {
    let run = stage.site.only_run();
    let mut id = Value::Null;
    wait_until("the session is on record", || {
        id = session(&stage.site.show(&run))["session_id"].clone();
        id != *before
    });
    id
}

/// The process of the agent, as its first command saw it.
fn agent(stage: &Stage) -> i32 {
    stage.lines("before").last().expect("it has begun").parse().expect("an id")
}

#[test]
fn an_agent_outlives_a_killed_agentos_and_nothing_it_said_is_repeated() {
    let stage = stage();
    let process = begin(&stage);
    process.kill();
    let agent = agent(&stage);
    assert!(is_alive(agent), "it goes on");
    let resumed = Process::start(stage.site.command(&["resume", "--json", &stage.site.only_run()]));
    wait_until("it is said so", || stage.remarks().contains("attached to it again"));
    go(&stage);
    let run = resumed.done().exits(0).document();
    assert_eq!(run["output"]["text"], "there");
    assert_eq!(session(&run)["input_tokens"], 10);
    let said = stage.said();
    assert_eq!(said.iter().filter(|line| *line == "halfway").count(), 1, "{said:?}");
    assert_eq!((stage.lines("before").len(), stage.lines("after").len()), (1, 1));
}

#[test]
fn an_agent_that_ended_while_nobody_was_there_is_collected() {
    let stage = stage();
    begin(&stage).kill();
    let agent = agent(&stage);
    go(&stage);
    wait_until("the agent has ended", || !is_alive(agent));
    let run = stage.resume().exits(0).document();
    assert_eq!(run["output"]["text"], "there");
    assert!(stage.remarks().contains("its answer is collected"), "{}", stage.remarks());
    assert_eq!((stage.lines("before").len(), stage.lines("after").len()), (1, 1));
}

#[test]
fn an_agent_that_died_with_everybody_is_resumed_by_its_session() {
    let stage = stage();
    kill_all(&stage, begin(&stage));
    let before = stage.site.show(&stage.site.only_run());
    let id = session(&before)["session_id"].clone();
    assert!(id.is_string(), "it is known while the agent works");
    go(&stage);
    let run = stage.resume().exits(0).document();
    assert_eq!(session(&run)["session_id"], id, "it is the same session");
    assert_eq!(run["output"]["text"], "there");
    assert_eq!(
        (stage.lines("before").len(), stage.lines("after").len()),
        (1, 1),
        "nothing is done twice"
    );
    let said = stage.said().join("\n");
    assert!(said.contains("the agent was interrupted; session"), "{said}");
}

#[test]
fn a_session_that_the_agent_has_forgotten_begins_anew() {
    let stage = stage();
    kill_all(&stage, begin(&stage));
    let memory = stage.site.repo.join(".agentos/issue_workflow.db.commands/scripted");
    fs::remove_dir_all(memory).expect("its memory");
    go(&stage);
    let run = stage.resume().exits(0).document();
    assert_eq!(run["output"]["text"], "there");
    assert_eq!(stage.lines("before").len(), 2, "it began anew");
    let said = stage.said().join("\n");
    assert!(said.contains("does not know that session any more; it begins anew"), "{said}");
}

/// Kills everybody who has to do with the latest process of the session.
fn kill_all(stage: &Stage, process: Process) {
    let (agent, supervisor) = (agent(stage), stage.site.supervisor());
    process.kill();
    kill(supervisor, Signal::KILL);
    kill(agent, Signal::KILL);
    wait_until("all are dead", || !is_alive(supervisor) && !is_alive(agent));
}

#[test]
fn a_session_that_began_anew_is_gone_on_with_after_the_next_crash() {
    let stage = stage();
    kill_all(&stage, begin(&stage));
    let forgotten = known_session(&stage, &Value::Null);
    let memory = stage.site.repo.join(".agentos/issue_workflow.db.commands/scripted");
    fs::remove_dir_all(memory).expect("its memory");
    let run = stage.site.only_run();
    let process = Process::start(stage.site.command(&["resume", "--json", &run]));
    stage.site.until_spoken("halfway", 2);
    known_session(&stage, &forgotten);
    assert_eq!(stage.lines("before").len(), 2, "it began anew");
    kill_all(&stage, process);
    go(&stage);
    let run = stage.resume().exits(0).document();
    assert_eq!(run["output"]["text"], "there");
    assert_eq!(stage.lines("before").len(), 2, "it does not begin once more");
    let said = stage.said().join("\n");
    assert_eq!(said.matches("it begins anew").count(), 1, "{said}");
}

#[test]
fn what_was_used_before_an_interruption_counts() {
    let items =
        format!("{{ tokens = {{ input = 990, cost_usd = 0.5 }} }}, {BEFORE}, {GATE}, {AFTER}");
    for (options, code) in [("", 0), ("budget: { tokens: 1000 }", 1)] {
        let stage = Stage::of_items(options, &items);
        let process = begin(&stage);
        process.send(Signal::INT);
        process.done().exits(130);
        go(&stage);
        let run = stage.resume().exits(code).document();
        assert_eq!(session(&run)["input_tokens"], 1000, "{run:#}");
        assert_eq!(run["output"]["usage"]["inputTokens"].as_i64(), (code == 0).then_some(1000));
        let remarks = stage.remarks();
        assert!(!remarks.contains("its answer is collected"), "{remarks}");
        assert_eq!(remarks.matches("the agent was interrupted; session").count(), 1, "{remarks}");
    }
}

#[test]
fn an_interrupted_run_ends_its_agent_and_goes_on_with_the_session_later() {
    let stage = stage();
    let process = begin(&stage);
    let agent = agent(&stage);
    process.send(Signal::INT);
    process.done().exits(130);
    assert!(!is_alive(agent), "it was ended");
    go(&stage);
    let run = stage.resume().exits(0).document();
    assert_eq!(run["output"]["text"], "there");
    assert_eq!((stage.lines("before").len(), stage.lines("after").len()), (1, 1));
}
