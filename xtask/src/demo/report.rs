//! The result of the run, read from git, from the forge and from AgentOS itself.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::forge::Forge;
use super::project::{DemoProject, text};
use crate::shell::say;

/// How much of a pull request's body is shown.
const BODY_LINES: usize = 6;

/// Prints it, and fails if the run did not end as it should.
pub(super) fn print(project: &DemoProject, forge: &Forge, name: &str) -> Result<()> {
    let document = project.agentos(&["show", name, "--json"]).output()?;
    let run: Value = serde_json::from_str(&document)?;
    ensure!(run["status"] == "COMPLETED", "the run is {}", run["status"]);
    say(format!("$ agentos show {name}\n"));
    project.agentos(&["show", name]).run()?;
    print_branch(project, &text(&run["branch_name"]))?;
    print_pull_request(forge)?;
    print_cost(&run)?;
    print_log(project, name)
}

fn print_branch(project: &DemoProject, branch: &str) -> Result<()> {
    say(format!("\nThe pushed branch {branch}:\n"));
    let log = project.git(&["log", "--reverse", "--format=%h %s", &format!("main..{branch}")])?;
    log.lines().for_each(|line| say(format!("  {line}")));
    let stat = project.git(&["diff", "--stat=72", &format!("main...{branch}")])?;
    stat.lines().for_each(|line| say(format!("  {line}")));
    let pushed = project.git(&["ls-remote", "origin", &format!("refs/heads/{branch}")])?;
    ensure!(!pushed.is_empty(), "{branch} was not pushed");
    Ok(())
}

/// There is one pull request, however often the process was killed.
fn print_pull_request(forge: &Forge) -> Result<()> {
    let pulls = forge.pulls()?;
    let [pull] = &pulls[..] else {
        anyhow::bail!("the forge got {} pull requests instead of one", pulls.len());
    };
    let (base, head) = (text(&pull["base"]), text(&pull["head"]));
    say(format!("\nPull request #{}:\n", pull["number"]));
    say(format!("  {}  ({base} ← {head})", text(&pull["title"])));
    for line in text(&pull["body"]).lines().take(BODY_LINES) {
        say(format!("  │ {line}").trim_end());
    }
    Ok(())
}

fn print_cost(run: &Value) -> Result<()> {
    let sessions = run["agent_sessions"].as_array().context("a run has sessions")?;
    let sum = |key: &str| sessions.iter().filter_map(|session| session[key].as_i64()).sum::<i64>();
    let cost: f64 = sessions.iter().filter_map(|session| session["cost_usd"].as_f64()).sum();
    let names: Vec<String> = sessions.iter().map(|session| text(&session["name"])).collect();
    say(format!(
        "\nAgent sessions ({}): {} tokens in, {} out, ${cost:.3} (made up by the scenario)",
        names.join(", "),
        sum("input_tokens"),
        sum("output_tokens"),
    ));
    Ok(())
}

fn print_log(project: &DemoProject, name: &str) -> Result<()> {
    let log = project.agentos(&["logs", name]).output()?;
    let wrapper = project.wrapper();
    say(format!("\nLog ({} lines): {} logs {name}", log.lines().count(), wrapper.display()));
    say(format!("Project: {}", project.project.display()));
    Ok(())
}
