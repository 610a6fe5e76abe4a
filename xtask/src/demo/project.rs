//! The sample project as a repository with a remote, and a home directory for every program of the demo.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{CommandLine, root, say, target};

/// The variables of the user that programs of the demo get. No tokens, no keys.
const INHERITED: [&str; 7] =
    ["PATH", "TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "LC_CTYPE"];

/// The address of the remote. git is told that it is the bare repository beside the project.
const REMOTE: &str = "https://github.com/acme/shop.git";

/// The test command where there is no Node. It fails until the feature is implemented, too.
const TEST_WITHOUT_NODE: &str = "grep -q Math.round src/total.js";

/// How long the agent waits before each of its actions, in the step that is killed and elsewhere, in milliseconds.
const SLOW_MS: u32 = 1500;
const QUICK_MS: u32 = 400;

/// The folder of the demo, `target/demo`.
pub(super) struct DemoProject {
    pub(super) folder: PathBuf,
    pub(super) project: PathBuf,
    binaries: PathBuf,
    has_node: bool,
}

impl DemoProject {
    /// Creates it anew in the target directory. `binaries` is the folder of the programs that were built.
    pub(super) fn create(binaries: PathBuf) -> Result<Self> {
        let folder = target().join("demo");
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        let has_node = CommandLine::new("node", ["--version"]).succeeds();
        let project = folder.join("shop");
        let created = Self { project, folder, binaries, has_node };
        fs::create_dir_all(created.folder.join("home"))?;
        copy(&root().join("examples/sample/project"), &created.project)?;
        created.make_repository()?;
        let scenario = fs::read_to_string(root().join("examples/sample/simple-sdlc.toml"))?;
        fs::write(created.scenario(), paced(&scenario)?)?;
        created.write_wrapper()?;
        Ok(created)
    }

    fn make_repository(&self) -> Result<()> {
        let remote = self.folder.join("shop.git");
        let instead = format!("url.{}.insteadOf", remote.display());
        let git = |args: &[&str]| {
            let line = CommandLine::git(args.iter().copied()).folder(&self.project);
            self.isolated(line).run()
        };
        git(&["init", "-q", "--bare", "-b", "main", &remote.display().to_string()])?;
        git(&["init", "-q", "-b", "main"])?;
        for (key, value) in
            [("user.name", "Demo"), ("user.email", "demo@localhost"), (&*instead, REMOTE)]
        {
            git(&["config", key, value])?;
        }
        git(&["add", "-A"])?;
        git(&["commit", "-qm", "A price list"])?;
        git(&["remote", "add", "origin", REMOTE])?;
        git(&["push", "-q", "origin", "main"])
    }

    /// A script that calls AgentOS as the demo does, so that the user can look around afterwards.
    fn write_wrapper(&self) -> Result<()> {
        let kept: String = INHERITED.map(|name| format!(" {name}=\"${name}\"")).concat();
        let text = format!(
            "#!/bin/sh\n# Calls AgentOS as the demo did: in its project, with its home directory.\n\
             cd '{}' && exec env -i{kept} HOME='{}' '{}' \"$@\"\n",
            self.project.display(),
            self.folder.join("home").display(),
            self.binary("agentos"),
        );
        fs::write(self.wrapper(), text)?;
        fs::set_permissions(self.wrapper(), fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// The script that calls AgentOS here.
    pub(super) fn wrapper(&self) -> PathBuf {
        self.folder.join("agentos")
    }

    fn scenario(&self) -> PathBuf {
        self.folder.join("scenario.toml")
    }

    /// One of the programs that were built.
    pub(super) fn binary(&self, name: &str) -> String {
        self.binaries.join(name).display().to_string()
    }

    /// The same command line, without the user's environment and home directory.
    pub(super) fn isolated(&self, line: CommandLine) -> CommandLine {
        let home = self.folder.join("home").display().to_string();
        line.inherit_only(&INHERITED).env("HOME", &home).env("GIT_CONFIG_NOSYSTEM", "1")
    }

    /// AgentOS with these arguments, in the project.
    pub(super) fn agentos(&self, args: &[&str]) -> CommandLine {
        let line = CommandLine::new(&self.binary("agentos"), args.iter().copied());
        self.isolated(line.folder(&self.project))
    }

    pub(super) fn git(&self, args: &[&str]) -> Result<String> {
        self.isolated(CommandLine::git(args.iter().copied()).folder(&self.project)).output()
    }

    /// The flags that put the scenario in the place of the agents.
    pub(super) fn agent_flags(&self) -> Vec<String> {
        let play = |agent: &str| format!("{agent}=scripted:{}", self.scenario().display());
        vec!["--agent".to_owned(), play("claude"), "--agent".to_owned(), play("codex")]
    }

    /// The flags that say how the project's tests are run.
    pub(super) fn test_flags(&self) -> [String; 2] {
        let command = if self.has_node { "node --test" } else { TEST_WITHOUT_NODE };
        ["--test-command".to_owned(), command.to_owned()]
    }

    /// Prints the specification, and the tests, of which one fails.
    pub(super) fn show(&self) -> Result<()> {
        for line in fs::read_to_string(self.project.join("specs/discounts.md"))?.lines() {
            say(format!("  {line}").trim_end());
        }
        say("");
        if !self.has_node {
            say(format!(
                "Node is missing, so the project's test command is `{TEST_WITHOUT_NODE}`."
            ));
            return Ok(());
        }
        say("$ node --test");
        let tests = CommandLine::new("node", ["--test", "--test-reporter=spec"]);
        let (passes, output) = self.isolated(tests.folder(&self.project)).try_output()?;
        ensure!(!passes, "the sample's test passes before the feature is implemented");
        let results = output.lines().take_while(|line| !line.starts_with('ℹ'));
        results
            .filter(|line| line.starts_with(['✔', '✖']))
            .for_each(|line| say(format!("  {line}")));
        Ok(())
    }
}

/// The scenario with waits, so that a person can follow it.
fn paced(scenario: &str) -> Result<String> {
    let mut table: toml::Table = scenario.parse().context("the sample's scenario is not TOML")?;
    let sessions = table.get_mut("session").and_then(toml::Value::as_array_mut);
    for session in sessions.context("a scenario has sessions")? {
        let is_slow = session.get("name").and_then(toml::Value::as_str) == Some(super::KILLED_STEP);
        let pause = if is_slow { SLOW_MS } else { QUICK_MS };
        let wait = toml::Table::from_iter([("wait".to_owned(), toml::Value::from(pause))]);
        let play = session.get_mut("play").and_then(toml::Value::as_array_mut);
        let play = play.context("a session plays something")?;
        *play = play.drain(..).flat_map(|item| [wait.clone().into(), item]).collect();
    }
    Ok(table.to_string())
}

/// A value's text, if it is one.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("no {}", from.display()))? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &target)?,
            false => drop(fs::copy(&path, &target)?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_of_a_scenario_is_waited_for_and_nothing_is_left_out() {
        let scenario = "model = \"m\"\n[[session]]\nname = \"implement\"\nplay = [{ say = \"a\" }, { say = \"b\" }]\n";
        let paced: toml::Table = paced(scenario).unwrap().parse().unwrap();
        let play = paced["session"][0]["play"].as_array().unwrap();
        let shown: Vec<String> = play.iter().map(|item| item.to_string()).collect();
        let wait = "{ wait = 1500 }";
        assert_eq!(shown, [wait, "{ say = \"a\" }", wait, "{ say = \"b\" }"]);
        assert_eq!(paced["model"].as_str(), Some("m"));
    }
}
