//! `cargo xtask jj`: the real jj that tests of workspaces need, built once.
//!
//! No distribution is asked for it: crates.io has it, with the lock file its authors published. It is built without
//! optimisation, which takes minutes instead of a quarter of an hour, and kept in the user's cache, outside of every
//! target folder. Tests find it there (`agentos_testing::jj`).

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::shell::{CommandLine, say};

/// The version that the tests know; `agentos_testing::jj` says the same.
const VERSION: &str = "0.45.1";

/// Builds jj, unless that was done before.
pub(crate) fn ensure_built() -> Result<()> {
    let folder = folder()?;
    let jj = folder.join("bin/jj");
    if is_right(&jj) {
        return Ok(());
    }
    say(format!(
        "building jj {VERSION} once, for the tests of workspaces; this takes some minutes"
    ));
    let build = folder.join("build");
    let install = ["install", "jj-cli", "--version", VERSION, "--locked", "--debug", "--force"];
    // Not `watchman`, which no test uses and which brings an asynchronous client of its own.
    let features = ["--no-default-features", "--features", "git"];
    CommandLine::cargo(install)
        .args(features)
        .args(["--bin", "jj", "--root"])
        .args([folder.to_string_lossy()])
        .env("CARGO_TARGET_DIR", &build.to_string_lossy())
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        .env("CARGO_INCREMENTAL", "0")
        .run()?;
    // A gigabyte that nobody looks at again.
    let _left = fs::remove_dir_all(build);
    ensure!(is_right(&jj), "{} was built and does not say that it is jj {VERSION}", jj.display());
    Ok(())
}

fn is_right(jj: &std::path::Path) -> bool {
    let told = CommandLine::new(&jj.to_string_lossy(), ["--version"]).output();
    told.is_ok_and(|told| told.split_whitespace().any(|word| word == VERSION))
}

fn folder() -> Result<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = named.filter(|path| path.is_absolute()).or_else(home);
    let cache = cache.context("there is no place for jj: HOME is not set")?;
    Ok(cache.join(format!("agentos-dev/jj-{VERSION}")))
}
