//! `cargo xtask bench [NAME]`: measure, and say where the numbers are.
//!
//! Numbers are looked at by people and compared within one run; no test asserts them, and git does
//! not keep them.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::release::{
    cli_bench, engine_bench, process_bench, real_program, server_bench, store_bench,
    testing_binary, workspace_bench,
};
use crate::shell::{self, say};

const RESULTS: &str = "bench/results";

/// Measured by itself.
const CORE: &str = "core";

/// Measured beside the SQL that it is compared with.
const STORE: &str = "store";

/// Measured with real processes.
const PROCESS: &str = "process";

/// Measured as somebody who waits for a prompt.
const CLI: &str = "cli";

/// Measured beside git's own worktrees.
const WORKSPACE: &str = "workspace";

/// Measured beside `git status`.
const SNAPSHOT: &str = "snapshot";
/// Measured beside plain calls of `sqlite3`.
const VIEW: &str = "view";

/// Measured with a thousand clients.
const LIVE: &str = "live";

/// Measured beside plain SQL, through a real server.
const SERVER: &str = "server";

/// Measured through the whole engine.
const ENGINE: [&str; 3] = ["steps", "parked", "script"];

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The measurement to run; all of them if left out
    name: Option<String>,
}

/// Runs the measurement and points at its result.
pub(crate) fn run(args: &Args) -> Result<()> {
    let name = args.name.as_deref();
    let known =
        [&[CORE, STORE, PROCESS, CLI, WORKSPACE, SNAPSHOT, VIEW, SERVER, LIVE][..], &ENGINE[..]]
            .concat();
    ensure!(
        name.is_none_or(|name| known.contains(&name)),
        "there is no measurement of that name; there are {}",
        known.join(", ")
    );
    if name.is_none_or(|name| name == CORE) {
        let names: Vec<&str> = name.into_iter().collect();
        testing_binary("bench", &names).run()?;
    }
    if name.is_none_or(|name| name == STORE) {
        store_bench(STORE, &[]).run()?;
    }
    if name.is_none_or(|name| name == PROCESS) {
        real_program().run()?;
        process_bench(PROCESS).run()?;
    }
    if name.is_none_or(|name| name == CLI) {
        cli_bench(CLI).run()?;
    }
    if name.is_none_or(|name| name == WORKSPACE) {
        cli_bench(WORKSPACE).run()?;
    }
    if name.is_none_or(|name| name == SNAPSHOT) {
        workspace_bench(SNAPSHOT).run()?;
    }
    if name.is_none_or(|name| name == VIEW) {
        real_program().run()?;
        store_bench(VIEW, &[]).run()?;
    }
    if name.is_none_or(|name| name == SERVER) {
        real_program().run()?;
        store_bench(SERVER, &[]).run()?;
    }
    if name.is_none_or(|name| matches!(name, SERVER | LIVE)) {
        server_bench(LIVE).run()?;
    }
    for bench in ENGINE.into_iter().filter(|bench| name.is_none_or(|name| name == *bench)) {
        engine_bench(bench).run()?;
    }
    let result = result_path(args.name.as_deref());
    ensure!(shell::root().join(&result).exists(), "the measurement left no {}", result.display());
    say(format!("results: {}", result.display()));
    Ok(())
}

fn result_path(name: Option<&str>) -> PathBuf {
    let folder = Path::new(RESULTS);
    name.map_or_else(|| folder.to_owned(), |name| folder.join(format!("{name}.json")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_named_after_its_measurement() {
        assert_eq!(result_path(Some("replay")), Path::new("bench/results/replay.json"));
        assert_eq!(result_path(None), Path::new("bench/results"));
    }
}
