//! The forge of the demo: a program on loopback that takes pull requests as GitHub does, and records them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use super::project::DemoProject;
use crate::shell::{CommandLine, Running};

/// A forge that runs until it is dropped.
pub(super) struct Forge {
    _running: Running,
    url: String,
    token: String,
    record: PathBuf,
}

impl Forge {
    pub(super) fn start(project: &DemoProject) -> Result<Self> {
        let record = project.folder.join("pull-requests.jsonl");
        let args = ["--record".to_owned(), record.display().to_string()];
        let command = CommandLine::new(&project.binary("forge-server"), args);
        let mut running = project.isolated(command).start_and_listen()?;
        let line = running.line()?.context("the forge did not start")?;
        let (url, token) = line.split_once(' ').context("the forge did not print its address")?;
        let (url, token) = (url.to_owned(), token.to_owned());
        Ok(Self { _running: running, url, token, record })
    }

    /// The same command line, with this forge in the place of GitHub.
    pub(super) fn known_to(&self, line: CommandLine) -> CommandLine {
        line.env("GITHUB_API_URL", &self.url).env("GITHUB_TOKEN", &self.token)
    }

    /// The pull requests that it got.
    pub(super) fn pulls(&self) -> Result<Vec<Value>> {
        let text =
            fs::read_to_string(&self.record).context("the forge recorded no pull request")?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }
}
