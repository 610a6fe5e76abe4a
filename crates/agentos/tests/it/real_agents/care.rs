//! Keys that nobody sees, budgets that are kept, agents side by side.

use std::fs;

use agentos_testing::agents::RealAgent;
use agentos_testing::model::{Call, Exchange, Scenario, Turn, Usage};

use super::site::{Site, files_below};

#[test]
fn a_key_that_an_agent_says_aloud_is_kept_nowhere() {
    let tell =
        Call::run("echo \"key: $ANTHROPIC_API_KEY\"; echo \"$ANTHROPIC_API_KEY\" > told.txt");
    let turns = [Turn::say("I will tell.").call(tell), Turn::say("Told.")];
    let site = Site::new(RealAgent::Claude, Scenario::new(Exchange::new(turns)));
    site.workflow("return await run(\"coder\", \"tell\");");
    site.run(0);
    let key = site.read("told.txt").expect("the shell of an agent has the key of the agent");
    let key = key.trim();
    assert!(key.len() > 10, "{key}");
    let places = [".agent/workflows/executions", ".agentos"].map(|place| site.repo.join(place));
    let files: Vec<_> = places.iter().flat_map(|place| files_below(place)).collect();
    let has = |text: &str| {
        let holds = |path: &&std::path::PathBuf| {
            let bytes = fs::read(path).expect("a file");
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        };
        files.iter().filter(holds).collect::<Vec<_>>()
    };
    assert!(!has("key: ").is_empty(), "what it said is kept");
    assert!(has(key).is_empty(), "the key is in {:?}", has(key));
}

#[test]
fn a_budget_that_runs_out_ends_the_session() {
    let usage = Usage { input: 10_000, cached: 0, output: 100 };
    let busy = Turn::say("More.").call(Call::run("true")).using(usage);
    let site = Site::new(RealAgent::Claude, Scenario::new(Exchange::new([busy]).endless()));
    site.workflow(
        "const { exitReason, message } = await run(\"coder\", \"never end\", { check: false, budget: { tokens: 25000 } });\n\
         return { exitReason, message };",
    );
    let output = &site.run(0)["output"];
    assert_eq!(output["exitReason"], "budget", "{output:#}");
    let message = output["message"].as_str().expect("it says why");
    let used =
        message.strip_prefix("it used ").and_then(|rest| rest.split_once(" tokens of 25000"));
    let used: u64 = used.expect(message).0.parse().expect("a number");
    assert!((20_000..200_000).contains(&used), "{output:#}");
}

#[test]
fn agents_work_side_by_side() {
    let writing = |name: &str| {
        let call = Call::write(format!("{name}.txt"), format!("{name}\n"));
        let turns = [Turn::say("Writing.").call(call), Turn::say(format!("{name} is done."))];
        Exchange::new(turns).when(format!("for {name}"))
    };
    let scenario = Scenario::new(writing("claude")).and(writing("codex"));
    let site = Site::of(&[RealAgent::Claude, RealAgent::Codex], scenario);
    site.workflow(
        "const both = await Promise.all([\n\
         \x20 ctx.run(\"one\", async (ctx) => await ctx.runCli(\"one\", claude, \"write for claude\")),\n\
         \x20 ctx.run(\"two\", async (ctx) => await ctx.runCli(\"two\", codex, \"write for codex\")),\n\
         ]);\n\
         return both.map((one) => one.text);",
    );
    let output = &site.run(0)["output"];
    assert_eq!(output[0], "claude is done.", "{output:#}");
    assert_eq!(output[1], "codex is done.", "{output:#}");
    for name in ["claude", "codex"] {
        assert_eq!(site.read(&format!("{name}.txt")), Some(format!("{name}\n")));
    }
}

#[test]
fn doctor_knows_them() {
    let site = Site::of(&RealAgent::ALL, Scenario::new(Exchange::new([Turn::say("Fine.")])));
    let report = site.call(&["doctor", "--json"]).document();
    for agent in RealAgent::ALL {
        let known = report["agents"].as_array().expect("a list").iter();
        let known = known.clone().find(|known| known["name"] == agent.name());
        let known = known.unwrap_or_else(|| panic!("{agent} is not in {report:#}"));
        assert_eq!(known["is_tested"], true, "{known:#}");
        // The key of Codex is in a variable that only its own settings name.
        let has_key = known["credentials"].as_str().is_some_and(|text| text.contains("key in"));
        assert_eq!(has_key, agent != RealAgent::Codex, "{known:#}");
    }
}
