//! A session that did not go well ends as the failure that it was, and never as a success.

use agentos_testing::agents::RealAgent;
use agentos_testing::model::{Call, Exchange, Fault, Scenario, Turn};
use serde_json::{Value, json};

use super::site::{Site, is_soak};

/// What the model does to each prompt.
fn troubles() -> Scenario {
    let failing = |prompt, fault| Exchange::new([Turn::failing(fault)]).when(prompt);
    let forbidden = [Turn::say("Now.").call(Call::write("no.txt", "no\n")), Turn::say("Done.")];
    Scenario::new(failing("many", Fault::Status(429)))
        .and(failing("broken", Fault::Status(500)))
        .and(failing("nonsense", Fault::Malformed))
        .and(failing("breaks off", Fault::Drop))
        .and(failing("silent", Fault::Stall))
        .and(Exchange::new([Turn::say("More.").call(Call::run("true"))]).endless().when("forever"))
        .and(Exchange::new(forbidden).when("forbidden"))
        .and(Exchange::new([Turn::say("Fine.")]))
}

/// Several sessions in one run, each with its own end.
fn ends(agent: RealAgent, prompts: &[(&str, &str)]) -> Value {
    let site = Site::new(agent, troubles());
    let lines = prompts.iter().map(|(prompt, options)| {
        format!("ends[\"{prompt}\"] = (await run(\"s\", \"{prompt}\", {{ check: false, {options} }})).exitReason;\n")
    });
    let lines: String = lines.collect();
    site.workflow(&format!(
        "const ends: Record<string, string> = {{}};\n{lines}\
         ends.keyless = (await ctx.runCli(\"k\", keyless, \"fine\", {{ check: false }})).exitReason;\n\
         ends.fine = (await run(\"f\", \"fine\")).exitReason;\n\
         return ends;"
    ));
    let output = site.run(0)["output"].clone();
    assert_eq!(site.read("no.txt"), None, "what is forbidden is not done");
    output
}

const READ_ONLY: &str = "permissionMode: \"readOnly\", allowedTools: []";

#[test]
fn claude_ends_as_it_should() {
    let prompts = [
        ("many", ""),
        ("broken", ""),
        ("nonsense", ""),
        ("breaks off", ""),
        ("silent", "idleTimeout: 1500"),
        ("forever", "maxTurns: 2"),
        ("forbidden", READ_ONLY),
    ];
    let ends = ends(RealAgent::Claude, &prompts);
    assert_eq!(ends["many"], "rate_limit", "{ends:#}");
    assert_eq!(ends["broken"], "api", "{ends:#}");
    assert_ne!(ends["nonsense"], "completed", "{ends:#}");
    assert_eq!(ends["breaks off"], "dropped", "{ends:#}");
    assert_eq!(ends["silent"], "idle", "{ends:#}");
    assert_eq!(ends["forever"], "max_turns", "{ends:#}");
    assert_eq!(ends["forbidden"], "permission_denied", "{ends:#}");
    assert_eq!(ends["keyless"], "auth", "{ends:#}");
    assert_eq!(ends["fine"], "completed", "{ends:#}");
}

#[test]
fn codex_ends_as_it_should() {
    let prompts = [
        ("many", ""),
        ("broken", ""),
        ("nonsense", ""),
        ("breaks off", ""),
        ("silent", "idleTimeout: 1500"),
        ("forever", "timeout: 2500"),
        ("forbidden", READ_ONLY),
    ];
    let ends = ends(RealAgent::Codex, &prompts);
    assert_eq!(ends["many"], "rate_limit", "{ends:#}");
    assert_eq!(ends["broken"], "api", "{ends:#}");
    assert_ne!(ends["nonsense"], "completed", "{ends:#}");
    assert_eq!(ends["breaks off"], "dropped", "{ends:#}");
    assert_eq!(ends["silent"], "idle", "{ends:#}");
    assert_eq!(ends["forever"], "timeout", "{ends:#}");
    assert_eq!(ends["forbidden"], "permission_denied", "{ends:#}");
    assert_eq!(ends["keyless"], "auth", "{ends:#}");
    assert_eq!(ends["fine"], "completed", "{ends:#}");
}

#[test]
fn gemini_ends_as_it_should() {
    let mut prompts = vec![("breaks off", "")];
    if is_soak() {
        prompts.extend([("many", ""), ("broken", ""), ("nonsense", "")]);
        prompts.push(("forbidden", READ_ONLY));
    }
    let ends = ends(RealAgent::Gemini, &prompts);
    for (prompt, _) in prompts {
        assert_ne!(ends[prompt], "completed", "{ends:#}");
    }
    assert_eq!(ends["breaks off"], "dropped", "{ends:#}");
    assert_eq!(ends["keyless"], "auth", "{ends:#}");
    assert_eq!(ends["fine"], "completed", "{ends:#}");
}

#[test]
fn a_session_that_fails_fails_its_run_and_says_why() {
    let site = Site::new(RealAgent::Claude, troubles());
    site.workflow("return await run(\"coder\", \"many\");");
    let document = site.run(1);
    assert_eq!(document["status"], "FAILED");
    let document = site.show();
    assert_eq!(document["agent_sessions"][0]["status"], "FAILED", "{document:#}");
    let error = document["error"].to_string();
    assert!(error.contains("`coder` (claude)") && error.contains("429"), "{error}");
}

#[test]
fn what_the_model_says_at_last_can_be_json() {
    let answer = json!({ "verdict": "good" }).to_string();
    let scenario = Scenario::new(Exchange::new([Turn::say(&answer)]).when("can't be used"))
        .and(Exchange::new([Turn::say("It is good.")]));
    let site = Site::new(RealAgent::Codex, scenario);
    site.workflow(
        "const schema = { type: \"object\", properties: { verdict: { type: \"string\" } }, required: [\"verdict\"] } as const;\n\
         return (await run(\"review\", \"judge it\", { schema })).json;",
    );
    assert_eq!(site.run(0)["output"], json!({ "verdict": "good" }), "it was asked again");
}
