//! `cargo xtask openapi`: the description of the server's API, written where the dashboard is made from it.
//!
//! It is kept in git, so that whoever works on the dashboard needs no Rust; a test says when it is out of date.

use anyhow::{Context, Result};

use crate::shell::{self, CommandLine, say};

/// Where it is kept.
const FILE: &str = "ui/openapi.json";

/// Writes it.
pub(crate) fn run() -> Result<()> {
    let words = ["run", "--quiet", "--locked", "-p", "agentos", "--", "serve", "--print-openapi"];
    let text = CommandLine::cargo(words).output()?;
    let path = shell::root().join(FILE);
    std::fs::write(&path, text + "\n")
        .with_context(|| format!("{} can't be written", path.display()))?;
    say(format!("{FILE} is written"));
    Ok(())
}
