//! Builds what the demo runs and nothing else: the dashboard, AgentOS, and the forge on loopback.
//!
//! The default is the profile of everyday builds, whose artifacts `cargo xtask test` uses too. The workflow of the demo waits
//! for agents and processes most of the time, so optimisation would cost minutes and show nothing.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::Result;

use crate::shell::{CommandLine, say, target};
use crate::{progress, ui};

/// Builds, and returns the folder of the programs.
pub(super) fn run(is_release: bool, is_interrupted: &AtomicBool) -> Result<PathBuf> {
    let (log, dashboard_log) =
        (target().join("demo-build.log"), target().join("demo-dashboard.log"));
    progress::make_folder(&log)?;
    let minutes = if is_release { "10 to 15 minutes" } else { "about 3 minutes" };
    say(format!(
        "Building AgentOS with its dashboard: {minutes} the first time on two cores, seconds after that.\n\
         The output of the compilers goes to {}.\n",
        log.display()
    ));
    // The dashboard needs Node. Everything but the dashboard works without it.
    let dashboard = ui::require_node().and_then(|()| {
        progress::run("dashboard", &ui::build_command(), &dashboard_log, is_interrupted)
    });
    if let Err(error) = dashboard {
        say(format!("warning: continuing without the dashboard: {error:#}"));
    }
    progress::run("AgentOS", &cargo_build(is_release), &log, is_interrupted)?;
    Ok(target().join(if is_release { "release" } else { "debug" }))
}

fn cargo_build(is_release: bool) -> CommandLine {
    let profile: &[&str] = if is_release { &["--release"] } else { &[] };
    CommandLine::cargo(["build", "--locked", "-p", "agentos", "--bin", "agentos"])
        .args(["-p", "agentos-testing", "--bin", "forge-server"])
        .args(profile.iter().copied())
}
