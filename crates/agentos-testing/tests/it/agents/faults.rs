//! What goes wrong at the model's end is never taken for a success, and what goes wrong once is tried again.

use agentos_testing::agents::{AgentHome, RealAgent};
use agentos_testing::model::{Call, Exchange, Fault, Scenario, Turn};

use super::site::Site;

fn failing(fault: Fault) -> Scenario {
    Scenario::new(Exchange::new([Turn::failing(fault)]))
}

/// An agent whose model always fails in this way says that it failed, one way or the other.
#[track_caller]
fn fails(agent: RealAgent, fault: Fault) {
    let site = Site::new(agent, failing(fault));
    let done = site.ask("say something");
    assert!(!done.is_success(agent), "{done:#?}");
    assert!(!site.requests().is_empty(), "it was the model that failed: {done:#?}");
}

#[test]
fn claude_fails_when_its_model_does() {
    for fault in [Fault::Status(400), Fault::Status(429), Fault::Malformed, Fault::Drop] {
        fails(RealAgent::Claude, fault);
    }
}

#[test]
fn codex_fails_when_its_model_does() {
    for fault in [Fault::Status(400), Fault::Status(500), Fault::Malformed, Fault::Drop] {
        fails(RealAgent::Codex, fault);
    }
}

#[test]
fn gemini_fails_when_its_connection_breaks() {
    fails(RealAgent::Gemini, Fault::Drop);
}

#[test]
fn without_a_key_nothing_is_asked() {
    for agent in RealAgent::ALL {
        let site = Site::new(agent, Scenario::new(Exchange::new([Turn::say("Fine.")])));
        let key = AgentHome::key_variable(agent);
        let done = site.begin_without(&site.words(None, "say something"), key).done();
        assert!(!done.is_success(agent), "{agent}: {done:#?}");
        assert!(site.requests().is_empty(), "{agent}");
        assert!(!done.err.is_empty() || !done.events.is_empty(), "{agent} says why");
    }
}

#[test]
fn what_fails_once_is_tried_again() {
    for agent in [RealAgent::Claude, RealAgent::Codex] {
        let turn = Turn::say("Now.").call(Call::write("late.txt", "late\n"));
        let turns = [turn.after(Fault::Status(500)), Turn::say("Done.")];
        let site = Site::new(agent, Scenario::new(Exchange::new(turns)));
        let done = site.ask("write late.txt");
        assert!(done.is_success(agent), "{agent}: {done:#?}");
        assert_eq!(site.read("late.txt").as_deref(), Some("late\n"), "{agent}");
        assert_eq!(site.requests().len(), 3, "{agent}");
    }
}
