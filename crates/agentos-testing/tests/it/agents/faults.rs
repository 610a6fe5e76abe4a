//! What goes wrong at the model's end once is tried again, and what always goes wrong is no success. How each agent says so,
//! and what we make of it, is tested where agents are understood.

use agentos_testing::agents::RealAgent;
use agentos_testing::model::{Call, Exchange, Fault, Scenario, Turn};

use super::site::Site;

#[test]
fn a_broken_connection_is_no_success() {
    for agent in [RealAgent::Claude, RealAgent::Codex] {
        let site = Site::new(agent, Scenario::new(Exchange::new([Turn::failing(Fault::Drop)])));
        let done = site.ask("say something");
        assert!(!done.is_success(agent), "{done:#?}");
        assert!(!site.requests().is_empty(), "it was the model that failed: {done:#?}");
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
