//! Each agent writes a file through a call of the model, runs a command, and finishes.

use agentos_testing::agents::RealAgent;
use agentos_testing::model::{Call, Exchange, Scenario, Turn};

use super::site::Site;

fn writes_and_finishes(agent: RealAgent) {
    let scenario = Scenario::new(Exchange::new([
        Turn::say("I will do it.").call(Call::write("hello.txt", "hello\n")),
        Turn::default().call(Call::run("echo ran > ran.txt")),
        Turn::say("All done."),
    ]));
    let site = Site::new(agent, scenario);
    let done = site.ask("write hello");
    assert!(done.is_success(agent), "{done:#?}");
    assert_eq!(site.read("hello.txt").as_deref(), Some("hello\n"), "{done:#?}");
    assert_eq!(site.read("ran.txt").as_deref(), Some("ran\n"), "{done:#?}");
    let asked = site.requests();
    let turns: Vec<_> = asked.iter().filter_map(|request| request.turn).collect();
    assert_eq!(turns, [(0, 0), (0, 1), (0, 2)]);
    assert!(asked.iter().all(|request| request.has_key));
}

#[test]
fn claude_writes_a_file_runs_a_command_and_finishes() {
    writes_and_finishes(RealAgent::Claude);
}

#[test]
fn codex_writes_a_file_runs_a_command_and_finishes() {
    writes_and_finishes(RealAgent::Codex);
}

#[test]
fn gemini_writes_a_file_runs_a_command_and_finishes() {
    writes_and_finishes(RealAgent::Gemini);
}
