//! `cargo xtask ui`: the dashboard, built and tested.
//!
//! It is a page of its own language (`ui/`), built with Node into `ui/dist`, which the server carries. Its tests drive
//! Debian's Chromium against the real program; nothing is downloaded but what `ui/package-lock.json` names.

use anyhow::{Context, Result, ensure};

use crate::shell::{CommandLine, root, say, target};
use crate::tools;

/// The oldest Node that builds it, as `ui/package.json` says.
const NODE: (u32, u32) = (20, 19);

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
    // The suite `tests` has built it, unless it failed to: then an old one would be tested.
    CommandLine::cargo(["build", "--locked", "--workspace", "--exclude", "xtask"])
        .args(["--bin", "agentos"])
        .run()?;
    let program = target().join("debug/agentos");
    npm("check").run()?;
    npm("unit").run()?;
    npm("browser").env("AGENTOS_BIN", &program.to_string_lossy()).run()
}

/// Fails, with what to install, unless Node is there.
pub(crate) fn require_node() -> Result<()> {
    let (major, minor) = NODE;
    let missing =
        format!("the dashboard is built with Node {major}.{minor} or newer, and npm: install them");
    let version = node(&["--version"]).output().with_context(|| missing.clone())?;
    ensure!(is_new_enough(&version), "{missing} (this is {version})");
    Ok(())
}

/// Whether this is the version of a Node that builds the dashboard: `v22.1.0`.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= NODE,
        _ => false,
    }
}

fn node(args: &[&str]) -> CommandLine {
    CommandLine::new("node", args.iter().copied()).folder(&root().join("ui"))
}

fn npm(script: &str) -> CommandLine {
    CommandLine::new("npm", ["run", "--silent", script]).folder(&root().join("ui"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_node_is_compared_with_the_oldest_that_works() {
        let new = ["v20.19.0", "v22.0.0\n"].map(is_new_enough);
        let old = ["v20.18.3", "v18.20.0", "", "node"].map(is_new_enough);
        assert_eq!((new, old), ([true; 2], [false; 4]));
    }
}
