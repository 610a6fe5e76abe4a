//! The forge of the demonstration: a program on loopback that takes pull requests as GitHub does, and writes them down.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use super::stage::Stage;
use crate::shell::{CommandLine, Running};

/// A forge that runs until it is dropped.
pub(super) struct Forge {
    _running: Running,
    url: String,
    token: String,
    record: PathBuf,
}

impl Forge {
    pub(super) fn start(stage: &Stage) -> Result<Self> {
        let record = stage.folder.join("pull-requests.jsonl");
        let args = ["--record".to_owned(), record.display().to_string()];
        let line = CommandLine::new(&stage.binary("forge-server"), args);
        let mut running = stage.at_home(line).start_and_listen()?;
        let said = running.line()?.context("the forge did not start")?;
        let (url, token) = said.split_once(' ').context("the forge does not say where it is")?;
        let (url, token) = (url.to_owned(), token.to_owned());
        Ok(Self { _running: running, url, token, record })
    }

    /// The same command line, which finds this forge in the place of GitHub.
    pub(super) fn known_to(&self, line: CommandLine) -> CommandLine {
        line.env("GITHUB_API_URL", &self.url).env("GITHUB_TOKEN", &self.token)
    }

    /// The pull requests that it got.
    pub(super) fn pulls(&self) -> Result<Vec<Value>> {
        let text = fs::read_to_string(&self.record).context("the forge wrote nothing down")?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }
}
