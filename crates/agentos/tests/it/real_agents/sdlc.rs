//! From a specification to a pull request with the real Claude Code and the real Codex: what they do to the sample project,
//! and what a forge gets of it.

use agentos_testing::agents::RealAgent;
use agentos_testing::model::{Call, Exchange, ModelServer, Scenario, Turn, Usage};
use serde_json::Value;

use super::site::configure;
use crate::sdlc::site::{Site, kept, simple, steps};

const PLAN: &str = "# Plan: discounts\n\n1. `src/total.js`: `total` takes a `discount` in percent.\n\
                    2. The result is rounded.";

/// What the model writes; without rounding first, so that the sample's test still fails.
fn code(result: &str) -> String {
    format!(
        "/** What the items of a basket cost together, in cents, less a discount in percent. */\n\
         export function total(items, {{ discount = 0 }} = {{}}) {{\n\
         \x20 if (!(discount >= 0 && discount <= 100)) throw new RangeError(`not a discount: ${{discount}}`);\n\
         \x20 const sum = items.reduce((sum, item) => sum + item.cents * (item.count ?? 1), 0);\n\
         \x20 return {result};\n}}\n"
    )
}

const WRONG: &str = "(sum * (100 - discount)) / 100";
const RIGHT: &str = "Math.round((sum * (100 - discount)) / 100)";

/// What the model says and does, by what it is asked.
fn scenario() -> Scenario {
    let usage = Usage { input: 1000, cached: 400, output: 50 };
    let say = |text: &str| Turn::say(text).using(usage);
    let write = |result| say("Let me see.").call(Call::write("src/total.js", code(result)));
    let plan = Exchange::new([say(PLAN)]).when("You plan a change");
    let work = [write(WRONG), say("total() takes a discount in percent.")];
    let fix = [write(RIGHT), say("The result was not whole cents.")];
    Scenario::new(Exchange::new(fix).when("The tests fail after your change"))
        .and(Exchange::new(work).when("You implement a change"))
        .and(plan)
}

#[test]
fn claude_plans_codex_implements_and_fixes_and_a_pull_request_is_opened() {
    let site = Site::new();
    let server = ModelServer::start(scenario()).expect("a server");
    configure(&site.stand, &site.root, &[RealAgent::Claude, RealAgent::Codex], &server.url());
    let arguments = [&["run"][..], &simple(&["--json"])].concat();
    let run = site.call(&arguments).done().exits(0).document();
    let named =
        ["load-spec", "setup-branch", "generate-plan", "implement", "run-tests", "create-pr"];
    assert_eq!(steps(&run), named);
    assert_eq!(
        kept(&run),
        ["plan.md DOCUMENT", "test-report.md TEST_REPORT", "changes.diff OTHER"]
    );

    let branch = run["branch_name"].as_str().expect("a branch");
    let file = |path: &str| site.git(&["show", &format!("{branch}:{path}")]);
    assert_eq!(file(".agent/plans/discounts.md"), PLAN);
    assert_eq!(file("src/total.js"), code(RIGHT).trim_end());
    let report = site.artifact(&run, "test-report.md");
    assert!(report.contains("Run 1: failed") && report.contains("Run 2: passed"), "{report}");
    let subjects = ["Plan: Discounts", "Discounts", "Make the tests pass: Discounts"];
    assert_eq!(site.subjects(&format!("main..{branch}")), subjects);

    let [pull] = &site.forge.pulls()[..] else { panic!("{:?}", site.forge.pulls()) };
    assert_eq!((pull.title.as_str(), pull.head.as_str()), ("Discounts", branch));
    assert_eq!((pull.base.as_str(), pull.repository.as_str()), ("main", "acme/shop"));
    let body = "total() takes a discount in percent.\n\nThe plan is in `.agent/plans/discounts.md`. `node --test` passes.";
    assert!(pull.body.contains(body), "{}", pull.body);
    check_sessions(&run);
    // The model was given the specification to plan and to implement, and the output of the tests to fix.
    let asked: Vec<String> =
        server.requests().iter().map(|request| request.body.to_string()).collect();
    let has = |words: &str| asked.iter().any(|body| body.contains(words));
    assert!(has("rounded to the nearest") && has("179.1"), "{} requests", asked.len());
}

/// Who has worked, under which name, and what it took.
fn check_sessions(run: &Value) {
    let sessions = run["agent_sessions"].as_array().expect("a list");
    let row = |session: &Value| {
        let text = |key: &str| session[key].as_str().unwrap_or_default().to_owned();
        let tokens = (session["input_tokens"].as_i64(), session["output_tokens"].as_i64());
        (text("name"), text("agent"), text("status"), tokens)
    };
    let rows: Vec<_> = sessions.iter().map(row).collect();
    let expected = [("plan", "claude", 1), ("implement", "codex", 2), ("fix", "codex", 2)];
    let expected = expected.map(|(name, agent, turns)| {
        let tokens = (Some(1000 * turns), Some(50 * turns));
        (name.to_owned(), agent.to_owned(), "COMPLETED".to_owned(), tokens)
    });
    assert_eq!(rows, expected, "{sessions:#?}");
    assert_eq!(sessions[1]["session_id"], sessions[2]["session_id"], "the fix goes on in it");
    assert_ne!(sessions[0]["session_id"], sessions[1]["session_id"]);
    assert!(sessions[0]["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{sessions:#?}");
}
