//! `cargo xtask demo`: a feature from its specification to its pull request, with a kill on the way, then the dashboard.
//!
//! The project, its tests, git, the workspace and the kill are real. The agents play the scenario of examples/sample, and the
//! forge is a program on this machine, so that neither a key nor an account is needed. Everything happens below `target/demo`,
//! with a home directory of its own: no file of the user is read or written, and no process is left when the demo is over.

mod build;
mod dashboard;
mod forge;
mod project;
mod report;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::shell::{Running, headline, is_terminal, pause, say};
use forge::Forge;
use project::DemoProject;

/// The step in which AgentOS is killed.
const KILLED_STEP: &str = "implement";

/// How long the demo waits for that step, and how often it looks.
const STEP_TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(100);

/// How the demo is built, and how it ends.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Stop the dashboard once it answers, instead of waiting for Ctrl-C (the default where stdout is no terminal)
    #[arg(long)]
    no_serve: bool,
    /// Build with optimisations, as users run it; the first build takes several times as long
    #[arg(long)]
    release: bool,
}

/// Builds what the demo runs, and runs it.
pub(crate) fn run(args: &Args) -> Result<()> {
    // Whatever was started is ended before this process is. Foreground programs get the terminal's Ctrl-C by themselves.
    let is_interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&is_interrupted))?;
    }
    let binaries = build::run(args.release, &is_interrupted)?;
    let project = DemoProject::create(binaries)?;
    let forge = Forge::start(&project)?;
    let demo = Demo { project: &project, forge: &forge, is_interrupted: &is_interrupted };
    let run_name = demo.run()?;
    let server = dashboard::start(&project, &forge, &run_name)?;
    match is_terminal() && !args.no_serve {
        true => server.stay(&is_interrupted),
        false => server.stop_now(),
    }
}

/// The run of the demo, from its start to its report.
struct Demo<'a> {
    project: &'a DemoProject,
    forge: &'a Forge,
    is_interrupted: &'a AtomicBool,
}

impl Demo<'_> {
    /// Returns the name of the run.
    fn run(&self) -> Result<String> {
        headline("The project: a specification, and a test that fails until it is implemented");
        self.project.show()?;
        headline("The workflow: plan, implement, test, fix, push, open a pull request");
        let mut running = self.start()?;
        let name = self.wait_for_step(&mut running)?;
        running.kill().context("cannot kill the run's process")?;
        headline(&format!("AgentOS (process {}) was killed during `{KILLED_STEP}`", running.id()));
        say("The run is kept, and the agent goes on working:\n");
        self.project.agentos(&["status"]).run()?;
        headline("The run is resumed; finished steps are not repeated");
        self.check_interrupted()?;
        say(format!("$ agentos resume {name}\n"));
        self.forge.known_to(self.project.agentos(&["resume", &name])).run()?;
        headline("The result");
        report::print(self.project, self.forge, &name)?;
        self.check_interrupted()?;
        Ok(name)
    }

    /// Starts the run. Flags put the scenario in the place of the agents; a user with real agents leaves those flags out.
    fn start(&self) -> Result<Running> {
        let args = ["run", "simple-sdlc", "--feature-name", "Discounts"];
        let args = [&args[..], &["--spec-path", "specs/discounts.md"]].concat();
        say(format!("$ agentos {}", args.join(" ")));
        say(
            "  The agents play the scenario of examples/sample; Claude and Codex do it where they have keys.\n",
        );
        let agents = self.project.agent_flags();
        let command = self.project.agentos(&args).args(self.project.test_flags()).args(agents);
        self.forge.known_to(command).start()
    }

    /// Waits until the agent works in that step. Returns the run's name.
    fn wait_for_step(&self, running: &mut Running) -> Result<String> {
        for _ in 0..STEP_TIMEOUT.as_millis() / POLL.as_millis() {
            if let Some(status) = running.ended()? {
                bail!("the run ended before it could be killed ({status})");
            }
            self.check_interrupted()?;
            if let Some(name) = self.run_in_step()? {
                return Ok(name);
            }
            pause(POLL);
        }
        bail!("the run did not reach `{KILLED_STEP}` within {STEP_TIMEOUT:?}");
    }

    fn run_in_step(&self) -> Result<Option<String>> {
        let (is_known, text) =
            self.project.agentos(&["show", "simple-sdlc", "--json"]).try_output()?;
        if !is_known {
            return Ok(None);
        }
        let run: Value = serde_json::from_str(&text)?;
        let sessions = run["agent_sessions"].as_array().context("a run has sessions")?;
        let is_running =
            |session: &Value| session["name"] == KILLED_STEP && session["status"] == "RUNNING";
        Ok(sessions.iter().any(is_running).then(|| project::text(&run["run_id"])))
    }

    fn check_interrupted(&self) -> Result<()> {
        ensure!(!self.is_interrupted.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }
}
