//! Built-in workflows are there without anything being set up, and give way to templates.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::site::{Site, scenario, simple};

const NAMES: [&str; 5] = ["build-feature", "consolidate", "full-sdlc", "issue", "simple-sdlc"];

fn listed(site: &Site) -> Vec<(String, Value)> {
    let all = site.call(&["workflows", "--json"]).done().exits(0).document();
    let all = all["items"].as_array().expect("a list").clone();
    all.into_iter().map(|item| (item["name"].as_str().expect("a name").to_owned(), item)).collect()
}

#[test]
fn built_in_workflows_are_listed_with_their_inputs_and_roles() {
    let site = Site::new();
    let all = listed(&site);
    assert_eq!(all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), NAMES);
    let (_, simple) = &all[4];
    assert_eq!(simple["file"], Value::Null);
    assert_eq!(simple["agents"]["implementer"], "codex");
    let help = site.call(&["run", "simple-sdlc", "--help"]).done().exits(0).out;
    for words in ["--spec-path <FILE>", "--max-fixes <INTEGER>", "implementer (codex)"] {
        assert!(help.contains(words), "{words}: {help}");
    }
    assert_eq!(site.git(&["status", "--porcelain", "--ignored"]), "");
}

#[test]
fn a_template_of_the_same_name_takes_the_place_of_a_built_in_workflow() {
    let site = Site::new();
    let folder = site.root.join(".agent/workflows/templates");
    fs::create_dir_all(&folder).expect("a folder");
    let text = "import { createWorkflow } from \"agentos\";\n\
                export default createWorkflow({ name: \"simple-sdlc\" }, async () => \"mine\");\n";
    fs::write(folder.join("mine.ts"), text).expect("a template");
    let said = site.call(&["workflows"]).done().exits(0).out;
    let line = said.lines().find(|line| line.contains("simple-sdlc")).expect("it is listed");
    assert!(line.contains("in the place of the built-in one"), "{said}");
    assert_eq!(listed(&site).len(), NAMES.len());
    let run = site.call(&["run", "simple-sdlc", "--json"]).done().exits(0).document();
    assert_eq!(run["output"], "mine");
}

#[test]
fn examples_are_copied_beside_what_is_there_and_are_the_same_workflows() {
    let site = Site::new();
    let own = ".agent/workflows/templates/issue.ts";
    fs::create_dir_all(site.root.join(own).parent().expect("a folder")).expect("a folder");
    let mine = "import { createWorkflow } from \"agentos\";\n\
                export default createWorkflow({ name: \"issue\" }, async () => 1);\n";
    let before = listed(&site);
    fs::write(site.root.join(own), mine).expect("a template");
    let said = site.call(&["init", "--examples"]).done().exits(0).out;
    assert!(said.contains(&format!("kept  {own}")), "{said}");
    assert_eq!(fs::read_to_string(site.root.join(own)).expect("mine"), mine);
    for file in ["templates/simple-sdlc.ts", "lib/sdlc.ts", "lib/prompts.ts", "lib/history.ts"] {
        assert!(said.contains(&format!("wrote .agent/workflows/{file}")), "{said}");
    }
    let checked = site.call(&["check"]).done().exits(0).out;
    assert!(checked.contains("nothing to complain about"), "{checked}");
    let after: BTreeMap<String, Value> = listed(&site).into_iter().collect();
    for (name, built_in) in &before {
        let copied = &after[name];
        let is_mine = name == "issue";
        assert_eq!(built_in["definition"] != copied["definition"], is_mine, "{name}");
        assert!(copied["file"].is_string(), "{copied}");
    }
    let run = site.play(&scenario(), &simple(&[])).done().exits(0).document();
    assert_eq!(run["output"]["fixes"], 1);
}

#[test]
fn a_workflow_of_ones_own_invokes_a_built_in_one() {
    let site = Site::new();
    let folder = site.root.join(".agent/workflows/templates");
    fs::create_dir_all(&folder).expect("a folder");
    let text = "import { createWorkflow } from \"agentos\";\n\
                export default createWorkflow({ name: \"mine\" }, async (ctx) => ctx.invoke(\"build-feature\", {\n\
                featureName: \"Discounts\", specPath: \"specs/discounts.md\", testCommand: \"node --test\" }));\n";
    fs::write(folder.join("mine.ts"), text).expect("a template");
    let run = site.play(&scenario(), &["mine"]).done().exits(0).document();
    assert_eq!(run["output"]["fixes"], 1, "{run:#}");
}
