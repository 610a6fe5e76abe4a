//! Sessions: what an agent was told before is in its next request, also after it was killed in the middle of a call.

use std::fs;
use std::path::Path;

use agentos_testing::agents::RealAgent;
use agentos_testing::model::{Call, Exchange, Scenario, Turn};
use agentos_testing::wait::{is_alive, wait_until};

use super::site::{Site, files_below};

fn goes_on_in_a_later_session(agent: RealAgent) {
    let scenario = Scenario::new(Exchange::new([Turn::say("Noted.")]).when("first"))
        .and(Exchange::new([Turn::say("As I said.")]).when("second"));
    let site = Site::new(agent, scenario);
    let first = site.ask("the first prompt");
    assert!(first.is_success(agent), "{first:#?}");
    let session = first.session(agent);
    let second = site.resume(&session, "the second prompt");
    assert!(second.is_success(agent), "{second:#?}");
    assert_eq!(second.session(agent), session, "it is the same session");
    let last = site.requests().pop().expect("it asked");
    assert!(last.body.to_string().contains("the first prompt"), "it remembers: {:#}", last.body);
    assert!(last.body.to_string().contains("Noted."), "and what was answered");
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

fn goes_on_after_it_was_killed_in_a_call(agent: RealAgent) {
    let waiting = "echo $$ > waiting; while [ -e waiting ] && [ ! -e go ]; do sleep 0.02; done";
    let scenario = Scenario::new(
        Exchange::new([Turn::say("Waiting.").call(Call::run(waiting)), Turn::say("Over.")])
            .when("wait"),
    )
    .and(Exchange::new([Turn::say("Back again.")]).when("go on"));
    let site = Site::new(agent, scenario);
    let running = site.begin(&site.words(None, "wait for me"));
    let shell = site.until_written("waiting");
    let session = running.session(agent);
    until_on_disk(agent, &site.home().home());
    // Gemini writes a list of its projects under a lock. Killed with it, the next one waits for up to a minute.
    let lock = site.home().home().join(".gemini/projects.json.lock");
    wait_until("no lock is held", || !lock.exists());
    running.kill();
    // A killed agent may leave its shell behind, which goes on until it is told.
    fs::write(site.work().join("go"), "").expect("a file");
    wait_until("its shell is gone", || !is_alive(shell.trim()));
    let resumed = site.resume(&session, "go on");
    assert!(resumed.is_success(agent), "{resumed:#?}");
    assert_eq!(resumed.session(agent), session);
    let last = site.requests().pop().expect("it asked");
    assert!(last.body.to_string().contains("wait for me"), "{:#}", last.body);
    let kept = files_below(&site.home().home());
    assert!(
        kept.iter().any(|path| {
            path.extension().is_some_and(|extension| extension == "jsonl")
                && fs::read_to_string(path).is_ok_and(|text| text.contains("go on"))
        }),
        "the session is kept in the home of the test: {kept:#?}"
    );
}

#[test]
fn claude_goes_on_in_an_earlier_session() {
    goes_on_in_a_later_session(RealAgent::Claude);
}

#[test]
fn codex_goes_on_in_an_earlier_session() {
    goes_on_in_a_later_session(RealAgent::Codex);
}

#[test]
fn claude_killed_in_a_call_goes_on_in_the_same_session() {
    goes_on_after_it_was_killed_in_a_call(RealAgent::Claude);
}

#[test]
fn codex_killed_in_a_call_goes_on_in_the_same_session() {
    goes_on_after_it_was_killed_in_a_call(RealAgent::Codex);
}

#[test]
fn gemini_killed_in_a_call_goes_on_in_the_same_session() {
    goes_on_after_it_was_killed_in_a_call(RealAgent::Gemini);
}
