//! A finished run is forked from one of its steps with another agent, and the two are compared.

use std::fs;

use serde_json::Value;

use super::simple::STEPS;
use super::site::{Site, scenario, steps};
use crate::support::name;

/// Implements it in another way, and does not forget to round.
const CAREFUL: &str = r#"
model = "scripted-2"

[[session]]
name = "implement"
play = [
    { patch = { file = "src/total.js", find = "total(items)", replace = "total(items, options = {})" } },
    { patch = { file = "src/total.js", find = "return items.reduce", replace = "const all = items.reduce" } },
    { patch = { file = "src/total.js", find = ", 0);", replace = ", 0);\n  return Math.round(all * (1 - (options.discount ?? 0) / 100));" } },
    { tokens = { input = 700, output = 60, cost_usd = 0.002 } },
    { say = "One more line, rounded." },
]
"#;

fn models(run: &Value) -> Vec<String> {
    let sessions = run["agent_sessions"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    sessions
        .map(|session| format!("{} {}", text(&session["name"]), text(&session["model"])))
        .collect()
}

#[test]
fn a_finished_run_is_forked_from_implement_with_another_agent_and_both_are_compared() {
    let site = Site::new();
    let first = site.simple(&scenario(), &[]).exits(0).document();
    let careful = site.stand.at("careful.toml");
    fs::write(&careful, CAREFUL).expect("a scenario");
    let agent = format!("codex=scripted:{}", careful.display());
    let (old, from) = (name(&first), ["--from-step", "implement", "--json", "--agent"]);
    let arguments = [&["fork", &old], &from[..], &[&agent]].concat();
    let second = site.call(&arguments).done().exits(0).document();

    assert_eq!(second["forked_from"], first["id"], "{second:#}");
    assert_eq!(steps(&second), STEPS);
    assert_eq!((&first["output"]["fixes"], &second["output"]["fixes"]), (&1.into(), &0.into()));
    assert!(models(&second).contains(&"implement scripted-2".to_owned()), "{second:#}");
    let output = &second["output"];
    assert_eq!(output["branch"], second["branch_name"], "{output:#}");
    // The plan is that of the first run; what comes after it is its own, on a branch of its own.
    let branches = [&first, &second].map(|run| run["branch_name"].as_str().expect("a branch"));
    assert_ne!(branches[0], branches[1]);
    let subjects = site.subjects(&format!("main..{}", branches[1]));
    assert_eq!(subjects, ["Plan: Discounts", "Discounts"]);
    assert_eq!(site.subjects(&format!("main..{}", branches[0])).len(), 3);
    let heads: Vec<String> = site.forge.pulls().into_iter().map(|pull| pull.head).collect();
    assert_eq!(heads, branches);

    let arguments = ["diff", &old, "--against", &name(&second)];
    let told = site.call(&arguments).done().exits(0).out;
    for words in ["implement", "6010", "-  return Math.round((sum", "+  return Math.round(all"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let told = site.call(&[&arguments[..], &["--json"]].concat()).done().exits(0).document();
    let implement = told["runs"]["steps"].as_array().expect("a list").iter();
    let implement = implement.filter(|step| step["name"] == "implement").collect::<Vec<_>>();
    assert_eq!(implement.len(), 1, "{told:#}");
    assert_eq!(implement[0]["one"]["tokens"], 6010, "{told:#}");
    assert_eq!(implement[0]["other"]["tokens"], 760, "{told:#}");
    let files: Vec<&str> = told["files"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|file| file["path"].as_str())
        .collect();
    assert_eq!(files, ["src/total.js", "test/total.test.js"], "{told:#}");
}
