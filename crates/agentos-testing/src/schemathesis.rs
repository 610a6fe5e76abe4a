//! Whoever makes requests up from a server's own description, for tests. `cargo xtask test` installs it once, into the user's
//! cache; tests find it there.

use std::path::PathBuf;

/// The version that is installed and tested with.
pub const VERSION: &str = "4.32.5";

/// The Python that has it: `python -m schemathesis.cli`.
///
/// # Panics
/// If it was not installed yet.
#[must_use]
pub fn python() -> PathBuf {
    let cache =
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || PathBuf::from(std::env::var_os("HOME").expect("a home")).join(".cache");
    let cache = cache.unwrap_or_else(home);
    let python = cache.join(format!("agentos-dev/schemathesis-{VERSION}/bin/python"));
    assert!(
        python.exists(),
        "there is no {}: `cargo xtask schemathesis` installs it",
        python.display()
    );
    python
}
