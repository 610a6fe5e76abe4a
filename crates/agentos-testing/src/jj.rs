//! The real jj, for tests. `cargo xtask test` builds it once, into the user's cache; tests find it there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::repo::Playground;

/// The version that is built and tested with.
pub const VERSION: &str = "0.45.1";

/// The folder that jj is in.
///
/// # Panics
/// If it was not built yet.
#[must_use]
pub fn folder() -> PathBuf {
    let cache =
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || PathBuf::from(std::env::var_os("HOME").expect("a home")).join(".cache");
    let cache = cache.unwrap_or_else(home);
    let folder = cache.join(format!("agentos-dev/jj-{VERSION}/bin"));
    assert!(
        folder.join("jj").is_file(),
        "there is no jj in {folder:?}: `cargo xtask jj` builds it"
    );
    folder
}

/// What programs started in a playground see, with jj to be found.
#[must_use]
pub fn environment(playground: &Playground) -> BTreeMap<OsString, OsString> {
    let mut environment = playground.environment();
    let path = environment.remove("PATH".as_ref() as &std::ffi::OsStr).unwrap_or_default();
    let folders = std::iter::once(folder()).chain(std::env::split_paths(&path).collect::<Vec<_>>());
    let path = std::env::join_paths(folders).expect("no colons");
    environment.insert("PATH".into(), path);
    environment.insert("JJ_USER".into(), "A. Tester".into());
    environment.insert("JJ_EMAIL".into(), "tester@example.com".into());
    environment
}

/// Makes a repository of jj around the files of a git repository with one commit.
///
/// # Panics
/// If jj can't.
pub fn repository(playground: &Playground, relative: &str) -> PathBuf {
    let root = playground.repository(relative);
    run(playground, &root, &["git", "init", "--colocate"]);
    root
}

/// Runs jj in a folder, and gives back what it said.
///
/// # Panics
/// If it fails.
pub fn run(playground: &Playground, folder: &Path, arguments: &[&str]) -> String {
    playground.run_with(&environment(playground), self::folder().join("jj"), folder, arguments)
}
