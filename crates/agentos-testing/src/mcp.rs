//! A real client of the Model Context Protocol, for tests: the protocol's own Python package. `cargo xtask test` installs it
//! once, into the user's cache; tests find it there.
//!
//! A test starts [`python`] with [`CLIENT`], and tells it line by line which server to start and what to ask of it.

use std::path::PathBuf;

/// The version that is installed and tested with.
pub const VERSION: &str = "2.3.0";

/// The program that drives a server: JSON lines in, JSON lines out.
pub const CLIENT: &str = include_str!("mcp/client.py");

/// The Python that has the package.
///
/// # Panics
/// If it was not installed yet.
#[must_use]
pub fn python() -> PathBuf {
    let cache =
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || PathBuf::from(std::env::var_os("HOME").expect("a home")).join(".cache");
    let cache = cache.unwrap_or_else(home);
    let python = cache.join(format!("agentos-dev/mcp-{VERSION}/bin/python"));
    assert!(python.exists(), "there is no {}: `cargo xtask mcp` installs it", python.display());
    python
}
