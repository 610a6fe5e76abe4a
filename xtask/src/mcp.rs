//! `cargo xtask mcp`: the real client of the Model Context Protocol that tests of `agentos mcp` need, installed once.
//!
//! It is the protocol's own Python package, in an environment of its own in the user's cache, outside of every target folder.
//! Tests find it there (`agentos_testing::mcp`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::shell::{CommandLine, say};

/// The version that the tests know; `agentos_testing::mcp` says the same.
const VERSION: &str = "2.3.0";

/// Installs the client, unless that was done before.
pub(crate) fn ensure_installed() -> Result<()> {
    let folder = folder()?;
    if is_right(&folder) {
        return Ok(());
    }
    say(format!(
        "installing the Python package mcp {VERSION} once, for the tests of `agentos mcp`"
    ));
    // Whoever is killed half way leaves nothing under the final name.
    let staging = folder.with_extension(format!("{}.new", std::process::id()));
    install(&staging).inspect_err(|_| drop(fs::remove_dir_all(&staging)))?;
    let _damaged = fs::remove_dir_all(&folder);
    let moved = fs::rename(&staging, &folder);
    ensure!(
        moved.is_ok() || is_right(&folder),
        "{} could not be moved to {}",
        staging.display(),
        folder.display()
    );
    // Somebody else may have been faster.
    let _left = fs::remove_dir_all(&staging);
    Ok(())
}

fn install(staging: &Path) -> Result<()> {
    CommandLine::new("python3", ["-m", "venv"])
        .args([staging.to_string_lossy()])
        .run()
        .context("the tests need Python 3 with its module `venv` (Debian: python3-venv)")?;
    let python = staging.join("bin/python").to_string_lossy().into_owned();
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    CommandLine::new(&python, pip).args([format!("mcp=={VERSION}")]).run()?;
    ensure!(is_right(staging), "mcp {VERSION} was installed and can't be used");
    Ok(())
}

fn is_right(folder: &Path) -> bool {
    let ask = "import importlib.metadata as m, mcp; print(m.version('mcp'))";
    let python = folder.join("bin/python");
    let told = CommandLine::new(&python.to_string_lossy(), ["-c", ask]).output();
    told.is_ok_and(|told| told == VERSION)
}

fn folder() -> Result<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = named.filter(|path| path.is_absolute()).or_else(home);
    let cache = cache.context("there is no place for the MCP client: HOME is not set")?;
    let folder = cache.join("agentos-dev");
    fs::create_dir_all(&folder).with_context(|| format!("{} can't be made", folder.display()))?;
    Ok(folder.join(format!("mcp-{VERSION}")))
}
