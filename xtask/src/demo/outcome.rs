//! What came of the run: told from git, from the forge and by AgentOS itself.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::forge::Forge;
use super::stage::{Stage, text};
use crate::shell::say;

/// How much of a pull request's body is shown.
const BODY_LINES: usize = 6;

/// Tells it, and fails if it is not what it was to be.
pub(super) fn tell(stage: &Stage, forge: &Forge, name: &str) -> Result<()> {
    let shown = stage.agentos(&["show", name, "--json"]).output()?;
    let run: Value = serde_json::from_str(&shown)?;
    ensure!(run["status"] == "COMPLETED", "the run is {}", run["status"]);
    say(format!("$ agentos show {name}\n"));
    stage.agentos(&["show", name]).run()?;
    tell_branch(stage, &text(&run["branch_name"]))?;
    tell_pull(forge)?;
    tell_cost(&run)?;
    tell_log(stage, name)
}

fn tell_branch(stage: &Stage, branch: &str) -> Result<()> {
    say(format!("\nThe branch {branch}, pushed:\n"));
    let log = stage.git(&["log", "--reverse", "--format=%h %s", &format!("main..{branch}")])?;
    log.lines().for_each(|line| say(format!("  {line}")));
    let stat = stage.git(&["diff", "--stat=72", &format!("main...{branch}")])?;
    stat.lines().for_each(|line| say(format!("  {line}")));
    let pushed = stage.git(&["ls-remote", "origin", &format!("refs/heads/{branch}")])?;
    ensure!(!pushed.is_empty(), "{branch} was not pushed");
    Ok(())
}

/// One pull request, however often the process was killed.
fn tell_pull(forge: &Forge) -> Result<()> {
    let pulls = forge.pulls()?;
    let [pull] = &pulls[..] else {
        anyhow::bail!("there was to be one pull request, and there are {}", pulls.len());
    };
    let (base, head) = (text(&pull["base"]), text(&pull["head"]));
    say(format!("\nThe pull request, as the forge got it (#{}):\n", pull["number"]));
    say(format!("  {}  ({base} ← {head})", text(&pull["title"])));
    for line in text(&pull["body"]).lines().take(BODY_LINES) {
        say(format!("  │ {line}").trim_end());
    }
    Ok(())
}

fn tell_cost(run: &Value) -> Result<()> {
    let sessions = run["agent_sessions"].as_array().context("a run has sessions")?;
    let sum = |key: &str| sessions.iter().filter_map(|session| session[key].as_i64()).sum::<i64>();
    let cost: f64 = sessions.iter().filter_map(|session| session["cost_usd"].as_f64()).sum();
    let names: Vec<String> = sessions.iter().map(|session| text(&session["name"])).collect();
    say(format!(
        "\nThe agents' sessions ({}): {} tokens in, {} out, ${cost:.3} if they were real",
        names.join(", "),
        sum("input_tokens"),
        sum("output_tokens"),
    ));
    Ok(())
}

fn tell_log(stage: &Stage, name: &str) -> Result<()> {
    let log = stage.agentos(&["logs", name]).output()?;
    let wrapper = stage.wrapper();
    say(format!("\nThe log has {} lines: {} logs {name}", log.lines().count(), wrapper.display()));
    say(format!("The project is in {}", stage.project.display()));
    Ok(())
}
