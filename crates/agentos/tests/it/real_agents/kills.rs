//! Somebody is killed while an agent works, or wants it to stop.

use std::fs;
use std::path::Path;

use agentos_testing::agents::RealAgent;
use agentos_testing::model::{Call, Exchange, Scenario, Turn};
use rustix::process::Signal;

use super::site::{Site, files_below, is_soak};
use crate::support::{is_alive, kill, name, wait_until};

/// Says who it is, and waits for the file `go`; for nothing if the test has gone.
const WAITING: &str = "echo $$ > waiting; while [ -e waiting ] && [ ! -e go ]; do sleep 0.02; done";

/// A model that has the agent wait, and another answer for one that was interrupted.
fn waiting(command: &str) -> Scenario {
    let resumed = [Turn::say("Back again.").call(Call::write("late.txt", "late\n"))];
    let resumed = resumed.into_iter().chain([Turn::say("Now it is done.")]);
    let first = [Turn::say("Waiting.").call(Call::run(command)), Turn::say("It is done.")];
    Scenario::new(Exchange::new(resumed).when("You were interrupted")).and(Exchange::new(first))
}

fn session_of(site: &Site) -> String {
    let mut session = None;
    wait_until("the session is on record", || {
        let document = site.show();
        session = document["agent_sessions"][0]["session_id"].as_str().map(str::to_owned);
        session.is_some()
    });
    session.expect("it was found")
}

/// Waits until the agent has its session on disk: it writes when it finds the time, and before that there is none to go on in.
fn until_on_disk(agent: RealAgent, home: &Path) {
    // Gemini writes what it was told at once, and the answer only after its calls.
    let said = if agent == RealAgent::Gemini { "wait for me" } else { "Waiting." };
    wait_until("the session is on disk", || {
        let kept = files_below(home).into_iter();
        let mut kept = kept.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
        kept.any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(said)))
    });
}

/// What each token costs, for agents that say only how many they used.
fn price(site: &Site, agent: RealAgent) {
    let path = site.repo.join(".agent/config.toml");
    let mut config = fs::read_to_string(&path).expect("a configuration");
    config +=
        &format!("[prices.\"{}\"]\ninput = 10.0\ncached = 1.0\noutput = 100.0\n", agent.model());
    fs::write(path, config).expect("a file");
}

fn goes_on_when_everything_was_killed(agent: RealAgent) {
    let site = Site::new(agent, waiting(WAITING));
    price(&site, agent);
    site.workflow("return await run(\"coder\", \"wait for me\");");
    let process = site.begin(&["run", "work", "--workspace", "none"]);
    let shell: i32 = site.until_written("waiting").parse().expect("an id");
    let session = session_of(&site);
    until_on_disk(agent, &site.repo.join("../agent"));
    let lock = site.repo.join("../agent/home/.gemini/projects.json.lock");
    wait_until("no lock is held", || !lock.exists());
    let (supervisor, pid) = site.processes();
    process.kill();
    kill(supervisor, Signal::KILL);
    kill(pid, Signal::KILL);
    wait_until("both are dead", || !is_alive(supervisor) && !is_alive(pid));
    let run = name(&site.show());
    let resumed = site.call(&["resume", "--json", &run]).exits(0).document();
    assert!(!is_alive(shell), "what was left of the first one is ended");
    let output = &resumed["output"];
    assert_eq!(output["exitReason"], "completed", "{resumed:#}");
    assert_eq!(output["sessionId"], session.as_str(), "the session goes on: {resumed:#}");
    let session = &resumed["agent_sessions"][0];
    for used in ["input_tokens", "output_tokens", "cached_tokens", "cost_usd"] {
        assert!(session[used].is_null(), "what the first one used is not known: {resumed:#}");
    }
    assert_eq!(site.read("late.txt").as_deref(), Some("late\n"));
    let last = site.requests().pop().expect("it asked").body.to_string();
    assert!(last.contains("wait for me") && last.contains("Back again."), "it remembers: {last}");
}

#[test]
fn claude_goes_on_in_its_session_when_everything_was_killed() {
    goes_on_when_everything_was_killed(RealAgent::Claude);
}

#[test]
fn codex_goes_on_in_its_session_when_everything_was_killed() {
    goes_on_when_everything_was_killed(RealAgent::Codex);
}

#[test]
fn an_agent_outlives_a_killed_agentos_and_is_attached_to_again() {
    let site = Site::new(RealAgent::Claude, waiting(WAITING));
    site.workflow("return await run(\"coder\", \"wait for me\");");
    let process = site.begin(&["run", "work", "--workspace", "none"]);
    site.until_written("waiting");
    process.kill();
    let (_, pid) = site.processes();
    assert!(is_alive(pid), "the agent goes on");
    fs::write(site.repo.join("go"), "").expect("a file");
    wait_until("it ends while no AgentOS lives", || !is_alive(pid));
    let run = name(&site.show());
    let resumed = site.call(&["resume", "--json", &run]).exits(0).document();
    assert_eq!(resumed["output"]["exitReason"], "completed", "{resumed:#}");
    assert_eq!(resumed["output"]["text"], "It is done.");
    assert_eq!(site.requests().len(), 2, "nothing was asked twice");
}

/// Cancels while the agent's own shell, and one that has left its session, are at work.
fn leaves_nothing_when_cancelled(agent: RealAgent) {
    let command = "setsid sh -c 'echo $$ > away; while [ -e away ]; do sleep 0.02; done' & \
                   echo $$ > waiting; while [ -e waiting ]; do sleep 0.02; done";
    let site = Site::new(agent, waiting(command));
    site.workflow("return await run(\"coder\", \"wait for me\");");
    let process = site.begin(&["run", "work", "--workspace", "none", "--json"]);
    let shells = ["waiting", "away"].map(|file| site.until_written(file).parse().expect("an id"));
    let (supervisor, pid) = site.processes();
    let run = name(&site.show());
    site.call(&["cancel", &run]).exits(0);
    process.done().exits(1);
    for pid in shells.into_iter().chain([pid, supervisor]) {
        wait_until("nothing is left", || !is_alive(pid));
    }
    let document = site.show();
    assert_eq!(document["status"], "CANCELLED", "{document:#}");
    assert_eq!(document["agent_sessions"][0]["status"], "CANCELLED", "{document:#}");
}

#[test]
fn a_cancelled_claude_leaves_nothing() {
    leaves_nothing_when_cancelled(RealAgent::Claude);
}

#[test]
fn a_cancelled_codex_leaves_nothing() {
    leaves_nothing_when_cancelled(RealAgent::Codex);
}

#[test]
fn gemini_is_killed_and_cancelled_too_if_there_is_time() {
    if is_soak() {
        goes_on_when_everything_was_killed(RealAgent::Gemini);
    }
    leaves_nothing_when_cancelled(RealAgent::Gemini);
}
