//! Each agent writes a file through a call of its model, and what is known of the session is kept.

use agentos_testing::agents::RealAgent;
use agentos_testing::model::{Call, Exchange, Scenario, Turn, Usage};

use super::site::Site;

fn writes_a_file(agent: RealAgent) {
    let usage = Usage { input: 100, cached: 40, output: 20 };
    let write = Turn::say("I will do it.").call(Call::write("hello.txt", "hello\n")).using(usage);
    let first = Exchange::new([write, Turn::say("All done.").using(usage)]).when("write hello");
    let second = Exchange::new([Turn::say("As I said.").using(usage)]).when("once more");
    let site = Site::new(agent, Scenario::new(first).and(second));
    // Without a word about permissions an agent may write files of the workspace.
    let body = "const first = await ctx.run(\"implement\", async (ctx) =>\n\
         \x20 await ctx.runCli(\"coder\", agent(AGENT), \"write hello\"));\n\
         const second = await run(\"again\", \"once more\", { resume: \"coder\" });\n\
         return { first, second };";
    site.workflow(&body.replace("AGENT", &format!("\"{agent}\"")));
    let output = &site.run(0)["output"];
    assert_eq!(site.read("hello.txt").as_deref(), Some("hello\n"));
    let (first, second) = (&output["first"], &output["second"]);
    assert_eq!(first["exitReason"], "completed", "{output:#}");
    assert!(first["text"].as_str().is_some_and(|text| text.contains("All done.")), "{output:#}");
    assert_eq!(first["usage"]["inputTokens"], 200, "{output:#}");
    assert_eq!(first["usage"]["outputTokens"], 40, "{output:#}");
    assert_eq!(first["cost"].as_f64().is_some_and(|cost| cost > 0.0), agent == RealAgent::Claude);
    assert_eq!(second["sessionId"], first["sessionId"], "it is the same session");
    assert_eq!(second["usage"]["inputTokens"], 100, "only what came on top: {output:#}");
    let document = site.show();
    let sessions = document["agent_sessions"].as_array().expect("a list");
    assert_eq!(sessions.len(), 2, "{document:#}");
    for (session, name) in sessions.iter().zip(["coder", "again"]) {
        assert_eq!(session["name"], name);
        assert_eq!(session["status"], "COMPLETED", "{session:#}");
        assert_eq!(session["agent"], agent.name());
        assert_eq!(session["session_id"], first["sessionId"]);
        let path = session["session_file_path"].as_str().expect("a transcript");
        let transcript = site.read(path).expect("it is kept");
        assert!(transcript.contains(if name == "coder" { "All done." } else { "As I said." }));
        let stream = site.read(&path.replace(".txt", ".jsonl")).expect("and the stream");
        assert!(stream.contains(first["sessionId"].as_str().expect("an id")), "{stream}");
    }
    let artifacts = document["artifacts"].as_array().expect("a list");
    let kept = artifacts.iter().filter(|kept| kept["type"] == "SESSION_FILE").count();
    assert_eq!(kept, 4, "a stream and a transcript for each: {artifacts:#?}");
}

#[test]
fn claude_writes_a_file_and_goes_on_in_another_step() {
    writes_a_file(RealAgent::Claude);
}

#[test]
fn codex_writes_a_file_and_goes_on_in_another_step() {
    writes_a_file(RealAgent::Codex);
}

#[test]
fn gemini_writes_a_file_and_goes_on_in_another_step() {
    writes_a_file(RealAgent::Gemini);
}
