//! `cargo xtask ui`: the dashboard, built and tested.
//!
//! It is a page of its own language (`ui/`), built with Node into `ui/dist`, which the server carries. Its tests drive
//! Debian's Chromium against the real program; nothing is downloaded but what `ui/package-lock.json` names.

use anyhow::{Context, Result, ensure};

use crate::shell::{CommandLine, root, say, target};
use crate::tools;

/// The oldest Node that builds it.
const NODE: u32 = 20;

/// What the browser is called, as a package and as a program.
const BROWSER: &str = "chromium";

/// Builds the dashboard, unless it was built from the same sources before.
pub(crate) fn build() -> Result<()> {
    require_node()?;
    build_command().args(["--install"]).run()?;
    say(format!("the dashboard is in {}", root().join("ui/dist").display()));
    Ok(())
}

/// The command that builds the dashboard, and installs the packages for that if they are needed.
pub(crate) fn build_command() -> CommandLine {
    node(&["build.mjs"])
}

/// Installs the browser, unless it is there.
pub(crate) fn ensure_browser() -> Result<()> {
    tools::ensure_browser(BROWSER)
}

/// Checks types, tests what the pages are computed from, then the pages themselves in a browser with the real server: the
/// program that the tests have built.
pub(crate) fn test() -> Result<()> {
    build()?;
    ensure_browser()?;
    let program = target().join("debug/agentos");
    ensure!(program.exists(), "{} is missing: the suite `tests` builds it", program.display());
    npm("check").run()?;
    npm("unit").run()?;
    npm("browser").env("AGENTOS_BIN", &program.to_string_lossy()).run()
}

/// Fails, with what to install, unless Node is there.
pub(crate) fn require_node() -> Result<()> {
    let missing =
        format!("the dashboard is built with Node {NODE} or newer, and npm: install them");
    let version = node(&["--version"]).output().with_context(|| missing.clone())?;
    let major =
        version.trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
    ensure!(major.is_some_and(|major: u32| major >= NODE), "{missing} (this is {version})");
    Ok(())
}

fn node(args: &[&str]) -> CommandLine {
    CommandLine::new("node", args.iter().copied()).folder(&root().join("ui"))
}

fn npm(script: &str) -> CommandLine {
    CommandLine::new("npm", ["run", "--silent", script]).folder(&root().join("ui"))
}
