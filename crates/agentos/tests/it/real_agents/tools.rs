//! A real agent asks us: Claude Code with `agentos mcp` as one of its servers.

use agentos_testing::agents::RealAgent;
use agentos_testing::model::{Call, Exchange, Scenario, Turn};
use serde_json::{Value, json};

use super::site::Site;

fn tool(name: &str, arguments: Value) -> Call {
    Call::Tool { name: format!("mcp__agentos__{name}"), arguments }
}

#[test]
fn claude_asks_what_runs_and_can_not_answer_its_own_question() {
    let comment = json!({ "run": "work", "message": "I was here." });
    let turns = [
        Turn::say("Let me see.").call(tool("list_runs", json!({ "workflow": "work" }))),
        Turn::say("I say so.").call(tool("comment", comment)),
        Turn::say("Yes!").call(tool("approve", json!({ "run": "work", "approved": true }))),
        Turn::say("I have seen it."),
    ];
    let site = Site::new(RealAgent::Claude, Scenario::new(Exchange::new(turns)));
    let program = json!(env!("CARGO_BIN_EXE_agentos"));
    site.workflow(&format!(
        "const agentos = {{ command: {program}, args: [\"mcp\", \"--allow\", \"approve\"] }};\n\
         const allowedTools = [\"mcp__agentos\"];\n\
         return await run(\"asker\", \"what runs?\", {{ allowedTools, mcpServers: {{ agentos }} }});"
    ));
    let document = site.run(0);
    assert_eq!(document["output"]["exitReason"], "completed", "{document:#}");
    let requests = site.requests();
    let last = requests.last().expect("the model was asked").body.to_string();
    let run = document["run_id"].as_str().expect("a run");
    // Twice in JSON: the answer is a document in a text.
    assert!(last.contains(&format!("\\\"run_id\\\":\\\"{run}\\\"")), "{last}");
    assert!(last.contains("a process that a run has started can't do this"), "{last}");
    let comments = document["comments"].as_array().expect("a list");
    let own = comments.iter().find(|comment| comment["message"] == "I was here.");
    let own = own.unwrap_or_else(|| panic!("{document:#}"));
    assert_eq!(own["author"], "claude-code", "{own:#}");
    let session = &document["agent_sessions"][0]["session_id"];
    assert_eq!(&own["metadata"]["session"], session, "{own:#}");
}
