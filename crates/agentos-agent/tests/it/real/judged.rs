//! What went well: files are written, tokens and cost are counted, sessions go on.

use agentos_agent::agent::Session;
use agentos_agent::event::AgentEvent;
use agentos_agent::usage::{Baseline, Usage};
use agentos_testing::agents::RealAgent;
use agentos_testing::model::{self, Call, Exchange, Scenario, Turn};

use crate::part::member;
use crate::real::stand::{SESSION, Stand};

#[test]
fn the_version_that_is_tested_is_the_version_that_is_named() {
    for agent in RealAgent::ALL {
        let facts = member(agent.name()).agent.facts().expect("it is known");
        assert_eq!(facts.tested, agent.version(), "{agent}");
    }
}

fn each_turn() -> model::Usage {
    model::Usage { input: 100, cached: 40, output: 20 }
}

fn is_understood(agent: RealAgent) {
    let write = Turn::say("I will do it.").call(Call::write("hello.txt", "hello\n"));
    let first = Exchange::new([write.using(each_turn()), Turn::say("Done.").using(each_turn())]);
    let second = Exchange::new([Turn::say("As before.").using(each_turn())]).when("again");
    let stand = Stand::new(agent, Scenario::new(first.when("write")).and(second));
    let heard = stand.ask("write hello.txt");
    assert_eq!(heard.trouble(), None, "{heard:#?}");
    assert_eq!(stand.read("hello.txt").as_deref(), Some("hello\n"));
    assert!(heard.verdict.text.contains("Done."), "{heard:#?}");
    let used = Usage { input_tokens: 200, output_tokens: 40, cached_tokens: 80 };
    assert_eq!(heard.verdict.usage, used, "{heard:#?}");
    let knows_cost = agent == RealAgent::Claude;
    assert_eq!(heard.verdict.cost_usd.is_some_and(|cost| cost > 0.0), knows_cost, "{heard:#?}");
    let calls = heard.events.iter().filter(|event| matches!(event, AgentEvent::ToolCall { .. }));
    assert_eq!(calls.count(), 1, "{heard:#?}");
    let session = heard.verdict.session_id.clone().expect("a session");
    if member(agent.name()).agent.takes_session_id() {
        assert_eq!(session, SESSION, "it is called as we wish");
    }
    let mut again = stand.request("again, please");
    again.session = Session::Resumed(session.clone());
    let before = Baseline {
        usage: used,
        cost_usd: heard.verdict.cost_usd.unwrap_or_default(),
        is_short: false,
    };
    let heard = stand.hear(&again, before);
    assert_eq!(heard.trouble(), None, "{heard:#?}");
    assert_eq!(heard.verdict.session_id, Some(session), "the same session goes on");
    let used = Usage { input_tokens: 100, output_tokens: 20, cached_tokens: 40 };
    assert_eq!(heard.verdict.usage, used, "only what came on top: {heard:#?}");
}

#[test]
fn claude_is_understood() {
    is_understood(RealAgent::Claude);
}

#[test]
fn codex_is_understood() {
    is_understood(RealAgent::Codex);
}

#[test]
fn gemini_is_understood() {
    is_understood(RealAgent::Gemini);
}
