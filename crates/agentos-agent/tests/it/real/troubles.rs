//! What went wrong: each real agent says it in its own way, and all of them are understood as the same kinds of trouble.

use agentos_agent::agent::Session;
use agentos_agent::permission::Permission;
use agentos_agent::usage::Baseline;
use agentos_agent::verdict::TroubleKind;
use agentos_testing::agents::{AgentHome, RealAgent};
use agentos_testing::model::{Call, Exchange, Fault, Scenario, Turn};

use crate::real::stand::{Stand, is_soak, quick_or_all};

#[track_caller]
fn comes_to(agent: RealAgent, fault: Fault, kinds: &[TroubleKind]) {
    let stand = Stand::new(agent, Scenario::new(Exchange::new([Turn::failing(fault)])));
    let heard = stand.ask("say something");
    assert!(
        heard.trouble().is_some_and(|kind| kinds.contains(&kind)),
        "{agent} after {fault:?}, which is one of {kinds:?}: {heard:#?}"
    );
}

/// A model that breaks off, within a message or between two, with or without a proper end of its answer.
const BREAKS_OFF: [Fault; 3] = [Fault::Drop, Fault::Short, Fault::DropWithin];

#[test]
fn a_stream_that_breaks_off_is_dropped_for_every_agent() {
    let faults = if is_soak() { &BREAKS_OFF[..] } else { &BREAKS_OFF[..2] };
    for agent in RealAgent::ALL {
        for fault in faults {
            comes_to(agent, *fault, &[TroubleKind::Dropped]);
        }
    }
}

/// A model that talks nonsense: some agents notice that the stream is over, others that it makes no sense.
const BROKEN: [TroubleKind; 3] = [TroubleKind::Malformed, TroubleKind::Dropped, TroubleKind::Api];

#[test]
fn claude_in_trouble() {
    let agent = RealAgent::Claude;
    comes_to(agent, Fault::Status(429), &[TroubleKind::RateLimit]);
    comes_to(agent, Fault::Status(500), &[TroubleKind::Api]);
    comes_to(agent, Fault::Status(400), &[TroubleKind::Request]);
    comes_to(agent, Fault::Status(401), &[TroubleKind::Auth]);
    comes_to(agent, Fault::Malformed, &BROKEN);
}

#[test]
fn codex_in_trouble() {
    let agent = RealAgent::Codex;
    comes_to(agent, Fault::Status(429), &[TroubleKind::RateLimit]);
    comes_to(agent, Fault::Status(500), &[TroubleKind::Api]);
    comes_to(agent, Fault::Status(400), &[TroubleKind::Request]);
    comes_to(agent, Fault::Status(401), &[TroubleKind::Auth]);
    comes_to(agent, Fault::Malformed, &BROKEN);
}

#[test]
fn gemini_in_trouble() {
    let agent = RealAgent::Gemini;
    comes_to(agent, Fault::Malformed, &BROKEN);
    if is_soak() {
        comes_to(agent, Fault::Status(400), &[TroubleKind::Request]);
        comes_to(agent, Fault::Status(401), &[TroubleKind::Auth]);
        comes_to(agent, Fault::Status(429), &[TroubleKind::RateLimit]);
        comes_to(agent, Fault::Status(500), &[TroubleKind::Api]);
    }
}

#[test]
fn without_a_key_it_is_a_matter_of_keys() {
    for agent in quick_or_all() {
        let scenario = Scenario::new(Exchange::new([Turn::say("Fine.")]));
        let stand = Stand::new(agent, scenario).without(AgentHome::key_variable(agent));
        let heard = stand.ask("say something");
        assert_eq!(heard.trouble(), Some(TroubleKind::Auth), "{agent}: {heard:#?}");
        assert!(stand.server.requests().is_empty(), "{agent}");
    }
}

#[test]
fn an_unknown_session_is_said_to_be_unknown() {
    for agent in quick_or_all() {
        let scenario = Scenario::new(Exchange::new([Turn::say("Fine.")]));
        let stand = Stand::new(agent, scenario);
        let mut request = stand.request("go on");
        request.session = Session::Resumed("99999999-2222-4333-8444-555555555555".to_owned());
        let heard = stand.hear(&request, Baseline::default());
        assert_eq!(heard.trouble(), Some(TroubleKind::UnknownSession), "{agent}: {heard:#?}");
    }
}

fn endless() -> Scenario {
    Scenario::new(Exchange::new([Turn::say("More.").call(Call::run("true"))]).endless())
}

#[test]
fn turns_run_out() {
    let stand = Stand::new(RealAgent::Claude, endless());
    let mut request = stand.request("never end");
    request.max_turns = Some(2);
    let heard = stand.hear(&request, Baseline::default());
    assert_eq!(heard.trouble(), Some(TroubleKind::MaxTurns), "{heard:#?}");
}

#[test]
fn going_round_in_circles_is_no_success() {
    let stand = Stand::new(RealAgent::Gemini, endless());
    let heard = stand.ask("never end");
    assert_eq!(heard.trouble(), Some(TroubleKind::MaxTurns), "{heard:#?}");
    assert_eq!(heard.exit.exit_code, Some(0), "its exit status says otherwise");
}

#[test]
fn what_is_not_allowed_is_not_done_and_no_success() {
    for agent in RealAgent::ALL {
        let turns = [Turn::say("Now.").call(Call::write("no.txt", "no\n")), Turn::say("Done.")];
        let stand = Stand::new(agent, Scenario::new(Exchange::new(turns)));
        let mut request = stand.request("write no.txt");
        (request.permission, request.allowed_tools) = (Permission::ReadOnly, vec![]);
        let heard = stand.hear(&request, Baseline::default());
        assert_eq!(stand.read("no.txt"), None, "{agent}: {heard:#?}");
        assert_eq!(heard.trouble(), Some(TroubleKind::PermissionDenied), "{agent}: {heard:#?}");
    }
}
