//! `cargo xtask demo`: build everything, then a real run in a real repository, killed in the middle and resumed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::shell::{CommandLine, pause, root, say};
use crate::ui;

/// The sample repository's notes: each with as many lines as it takes long.
const NOTES: [(&str, usize); 6] =
    [("login", 1), ("search", 2), ("export", 3), ("import", 5), ("themes", 7), ("help", 9)];

/// How long each line of a note takes, in milliseconds.
const LINE_MS: u64 = 400;

/// How many notes are finished before the process is killed.
const FINISHED: usize = 3;

/// How long the demonstration waits for that.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

/// Builds the workspace and plays the demonstration.
pub(crate) fn run() -> Result<()> {
    ui::build_if_possible();
    CommandLine::cargo(["build", "--release", "--workspace", "--locked"]).run()?;
    let stage = Stage::set()?;
    say("\nA run of the workflow in examples/release-notes, in a fresh repository:\n");
    let program = stage.program(&["run", "release-notes", "--workspace", "none"]);
    let mut running =
        program.args(["--title", "Version 1.0", "--pause", &LINE_MS.to_string()]).start()?;
    let name = stage.wait_for_some(&mut running)?;
    running.kill().context("the run's process could not be killed")?;
    running.wait().context("the run's process could not be waited for")?;
    say(format!(
        "\nIts process was killed (SIGKILL) with {FINISHED} notes finished. Everybody can see that:\n"
    ));
    stage.program(&["status"]).run()?;
    say("\nIt goes on where it stood; what was finished is not done again:\n");
    stage.program(&["resume", &name]).run()?;
    say("\nWhat came of it (CHANGES.md):\n");
    say(fs::read_to_string(stage.repository.join("CHANGES.md"))
        .context("no CHANGES.md was written")?);
    say(format!(
        "Look around: cd {} && {} show {name}",
        stage.repository.display(),
        stage.binary.display()
    ));
    Ok(())
}

/// A repository to play in.
struct Stage {
    repository: PathBuf,
    home: PathBuf,
    binary: PathBuf,
}

impl Stage {
    /// Makes a fresh one in the target directory.
    fn set() -> Result<Self> {
        let target = target();
        let folder = target.join("demo");
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("{} is in the way", folder.display()))?;
        }
        let repository = folder.join("sample");
        fs::create_dir_all(repository.join("notes"))?;
        for (name, lines) in NOTES {
            let text =
                format!("The {name} is better now.\n{}", "More about it.\n".repeat(lines - 1));
            fs::write(repository.join("notes").join(format!("{name}.md")), text)?;
        }
        let binary = target.join("release/release-notes");
        let stage = Self { repository, home: folder.join("home"), binary };
        fs::create_dir_all(&stage.home)?;
        for args in [
            &["init", "-q"][..],
            &["add", "-A"],
            &["-c", "user.name=Demo", "-c", "user.email=demo@localhost", "commit", "-qm", "notes"],
        ] {
            CommandLine::git(args.iter().copied()).folder(&stage.repository).run()?;
        }
        Ok(stage)
    }

    /// The example's binary with these arguments, in the repository.
    fn program(&self, args: &[&str]) -> CommandLine {
        let home = self.home.display().to_string();
        CommandLine::new(&self.binary.display().to_string(), args.iter().copied())
            .folder(&self.repository)
            .env("HOME", &home)
            .env("XDG_STATE_HOME", &home)
            .env("XDG_CONFIG_HOME", &home)
    }

    /// Waits until some notes are finished. The run's name.
    fn wait_for_some(&self, running: &mut Child) -> Result<String> {
        for _ in 0..PATIENCE.as_millis() / LOOK.as_millis() {
            if let Some(status) = running.try_wait()? {
                bail!("the run ended before it could be killed ({status})");
            }
            if let Some(name) = self.finished_enough()? {
                return Ok(name);
            }
            pause(LOOK);
        }
        bail!("the run does not get on");
    }

    fn finished_enough(&self) -> Result<Option<String>> {
        let listed: Value = serde_json::from_str(&self.program(&["status", "--json"]).output()?)?;
        let Some(name) = listed["items"][0]["run_id"].as_str() else { return Ok(None) };
        let shown: Value =
            serde_json::from_str(&self.program(&["show", name, "--json"]).output()?)?;
        let steps = shown["steps"].as_array().context("a run has steps")?;
        let is_done = |step: &&Value| {
            let name = step["name"].as_str().unwrap_or_default();
            name.starts_with("polish") && step["status"] == "COMPLETED"
        };
        let done = steps.iter().filter(is_done).count();
        ensure!(done < NOTES.len(), "everything was finished before anybody could look");
        Ok((done >= FINISHED).then(|| name.to_owned()))
    }
}

/// Where cargo puts what it builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |dir| root().join(Path::new(&dir)))
}
