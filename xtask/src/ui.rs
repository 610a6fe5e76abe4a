//! `cargo xtask ui`: the dashboard, built and tested.
//!
//! It is a page of its own language (`ui/`), built with Node into `ui/dist`, which the server carries. Its tests drive
//! Debian's Chromium against the real program; nothing is downloaded but what `ui/package-lock.json` names.

use anyhow::{Context, Result, ensure};

use crate::shell::{CommandLine, root, say};
use crate::tools;

/// The oldest Node that builds it.
const NODE: u32 = 20;

/// What the browser is called, as a package and as a program.
const BROWSER: &str = "chromium";

/// Builds the dashboard, unless it was built from the same sources before.
pub(crate) fn build() -> Result<()> {
    require_node()?;
    node(&["build.mjs", "--install"]).run()?;
    say(format!("the dashboard is in {}", root().join("ui/dist").display()));
    Ok(())
}

/// Builds the dashboard where that can be done, and says so where it can't.
pub(crate) fn build_if_possible() {
    if let Err(error) = build() {
        say(format!("warning: going on without the dashboard: {error:#}"));
    }
}

/// Checks types, tests what the pages are computed from, then the pages themselves in a browser with the real server.
pub(crate) fn test() -> Result<()> {
    build()?;
    tools::ensure_browser(BROWSER)?;
    npm("check").run()?;
    npm("unit").run()?;
    CommandLine::cargo(["build", "-p", "agentos", "--bin", "agentos", "--locked"]).run()?;
    npm("browser").env("AGENTOS_BIN", &binary()).run()
}

/// The program that was built.
fn binary() -> String {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(std::path::PathBuf::from);
    let target = target.map_or_else(|| root().join("target"), |folder| root().join(folder));
    target.join("debug/agentos").display().to_string()
}

fn require_node() -> Result<()> {
    let missing =
        format!("the dashboard is built with Node {NODE} or newer, and npm: install them");
    let told = node(&["--version"]).output().with_context(|| missing.clone())?;
    let major = told.trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
    ensure!(major.is_some_and(|major: u32| major >= NODE), "{missing} (this is {told})");
    Ok(())
}

fn node(args: &[&str]) -> CommandLine {
    CommandLine::new("node", args.iter().copied()).folder(&root().join("ui"))
}

fn npm(script: &str) -> CommandLine {
    CommandLine::new("npm", ["run", "--silent", script]).folder(&root().join("ui"))
}
