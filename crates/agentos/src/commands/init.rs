//! `agentos init`: what a repository needs to have workflows of its own. Nothing that is there is changed.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::ExitCode;

use agentos_script::assets::{ASSETS, Asset};
use agentos_script::built_in::EXAMPLES;

use crate::error::{CommandError, Result};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Copy the built-in workflows too: they are examples, and a copy takes the place of the built-in one
    #[arg(long)]
    examples: bool,
}

/// Beside what belongs to the workflows themselves.
const CONFIG: Asset =
    Asset { path: ".agent/config.toml", text: include_str!("../../assets/config.toml") };

/// What git is not to see.
const IGNORED: [&str; 2] = [".agentos/", ".agent/workflows/executions/"];

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let location = session.location()?;
    if !matches!(&location.checkout, Ok(Some(_))) {
        return Err(CommandError::usage("this is not in a repository")
            .hint("workflows of one's own live in a repository: `git init` makes one"));
    }
    let root = location.project_path().map_err(|error| CommandError::failed(error.to_string()))?;
    let mut lines = Vec::new();
    let examples: &[Asset] = if args.examples { &EXAMPLES } else { &[] };
    for asset in ASSETS.iter().chain([&CONFIG]).chain(examples) {
        let word = if write_new(root, asset)? { "wrote" } else { "kept " };
        lines.push(format!("{word} {}", asset.path));
    }
    if ignore(root)? {
        lines.push("added to .gitignore".to_owned());
    }
    lines.push("try it: agentos run hello --name world".to_owned());
    session.output.lines(lines)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that is not there. Whether it was not.
fn write_new(root: &Path, asset: &Asset) -> Result<bool> {
    let path = root.join(asset.path);
    let failed = |error: std::io::Error| {
        CommandError::failed(format!("{} can't be written: {error}", path.display()))
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(mut file) => file.write_all(asset.text.as_bytes()).map(|()| true).map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

/// Adds what is missing to the repository's `.gitignore`. Whether anything was.
fn ignore(root: &Path) -> Result<bool> {
    let path = root.join(".gitignore");
    let failed = |error: std::io::Error| {
        CommandError::failed(format!("{} can't be changed: {error}", path.display()))
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let known: Vec<&str> = text.lines().map(|line| line.trim().trim_start_matches('/')).collect();
    let missing: Vec<&str> = IGNORED
        .into_iter()
        .filter(|line| {
            !known.iter().any(|known| known.trim_end_matches('/') == line.trim_end_matches('/'))
        })
        .collect();
    if missing.is_empty() {
        return Ok(false);
    }
    let begins = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let added: String = missing.iter().flat_map(|line| [*line, "\n"]).collect();
    let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
    file.write_all(format!("{begins}{added}").as_bytes()).map_err(failed)?;
    Ok(true)
}
