//! `cargo xtask demo`: a feature from its specification to its pull request, killed on the way, and the dashboard to look at it.
//!
//! The project, its tests, git, the workspace and the kill are real. The agents play the scenario of examples/sample, and the
//! forge is a program on this machine, so that neither a key nor an account is needed. Everything happens below `target/demo`,
//! with a home of its own: nothing of the user's is read or written, and nothing runs on when the demonstration is over.

mod dashboard;
mod forge;
mod outcome;
mod stage;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::shell::{CommandLine, Running, headline, is_terminal, pause, say};
use crate::ui;
use forge::Forge;
use stage::Stage;

/// The step in which the process is killed.
const FATAL: &str = "implement";

/// How long the demonstration waits for it.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(100);

/// How the demonstration ends, and how it is built.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not stay with the dashboard: see that it answers, and stop it. So it is where stdout is no terminal
    #[arg(long)]
    no_serve: bool,
    /// Build without optimisation, which takes less time
    #[arg(long)]
    debug: bool,
}

/// Builds the workspace and plays the demonstration.
pub(crate) fn run(args: &Args) -> Result<()> {
    // Whoever is interrupted ends what it has started first. What runs in the terminal hears of Ctrl-C by itself.
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&is_over))?;
    }
    ui::build_if_possible();
    let profile: &[&str] = if args.debug { &[] } else { &["--release"] };
    CommandLine::cargo(["build", "--workspace", "--locked"]).args(profile.iter().copied()).run()?;
    let stage = Stage::set(if args.debug { "debug" } else { "release" })?;
    let forge = Forge::start(&stage)?;
    let story = Story { stage: &stage, forge: &forge, is_over: &is_over };
    let name = story.play()?;
    let server = dashboard::start(&stage, &forge, &name)?;
    match is_terminal() && !args.no_serve {
        true => server.stay(&is_over),
        false => server.leave(),
    }
}

/// What happens, in order.
struct Story<'a> {
    stage: &'a Stage,
    forge: &'a Forge,
    is_over: &'a AtomicBool,
}

impl Story<'_> {
    /// The name of the run that came of it.
    fn play(&self) -> Result<String> {
        headline("A project, the specification of a feature, and a test that fails without it");
        self.stage.show_project()?;
        headline("From the specification to a pull request: plan, implement, test, fix, push");
        let mut running = self.begin()?;
        let name = self.wait_for_the_step(&mut running)?;
        running.kill().context("the run's process could not be killed")?;
        headline(&format!("Process {} was killed (SIGKILL) during `{FATAL}`", running.id()));
        say("The run is not lost, and the agent does not even notice:\n");
        self.stage.agentos(&["status"]).run()?;
        headline("It goes on where it stood");
        self.check_patience()?;
        say(format!("$ agentos resume {name}\n"));
        self.forge.known_to(self.stage.agentos(&["resume", &name])).run()?;
        headline("What came of it");
        outcome::tell(self.stage, self.forge, &name)?;
        self.check_patience()?;
        Ok(name)
    }

    /// Starts the run. Which agents play is said by flags; a user with real ones leaves them out.
    fn begin(&self) -> Result<Running> {
        let told = ["run", "simple-sdlc", "--feature-name", "Discounts"];
        let told = [&told[..], &["--spec-path", "specs/discounts.md"]].concat();
        say(format!("$ agentos {}", told.join(" ")));
        say(
            "  The agents play the scenario of examples/sample; with keys for Claude and Codex, they would do it.\n",
        );
        let agents = self.stage.agents();
        let command = self.stage.agentos(&told).args(self.stage.tests()).args(agents);
        self.forge.known_to(command).start()
    }

    /// Waits until the agent is at work in that step. The run's name.
    fn wait_for_the_step(&self, running: &mut Running) -> Result<String> {
        for _ in 0..PATIENCE.as_millis() / LOOK.as_millis() {
            if let Some(status) = running.ended()? {
                bail!("the run ended before it could be killed ({status})");
            }
            self.check_patience()?;
            if let Some(name) = self.at_work()? {
                return Ok(name);
            }
            pause(LOOK);
        }
        bail!("the run does not get on");
    }

    fn at_work(&self) -> Result<Option<String>> {
        let (is_known, text) =
            self.stage.agentos(&["show", "simple-sdlc", "--json"]).try_output()?;
        if !is_known {
            return Ok(None);
        }
        let run: Value = serde_json::from_str(&text)?;
        let sessions = run["agent_sessions"].as_array().context("a run has sessions")?;
        let is_there = |session: &Value| session["name"] == FATAL && session["status"] == "RUNNING";
        Ok(sessions.iter().any(is_there).then(|| stage::text(&run["run_id"])))
    }

    fn check_patience(&self) -> Result<()> {
        ensure!(!self.is_over.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }
}
