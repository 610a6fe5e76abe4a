//! Which ignored files can be made again by whoever needs them, and so need not be kept.
//!
//! Only what is known to be made by tools counts, and only where git was told to overlook it. Everything else that is
//! ignored may be somebody's only copy: an `.env`, a database, a key, notes.

use std::ffi::OsStr;
use std::path::Path;

/// Folders that tools fill.
const FOLDERS: [&str; 22] = [
    "node_modules",
    "target",
    "dist",
    ".venv",
    "venv",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    ".eggs",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".vite",
    ".gradle",
    ".direnv",
    ".nyc_output",
    ".terraform",
];

/// Files that tools leave behind.
const ENDINGS: [&str; 5] = ["pyc", "pyo", "class", "o", "tsbuildinfo"];

/// Files that people make, wherever they lie: keys, secrets, databases.
const BY_HAND: [&str; 9] =
    ["key", "pem", "p12", "pfx", "kdbx", "sqlite", "sqlite3", "db", "tfstate"];

/// The same by their names.
const BY_HAND_NAMED: [&str; 7] =
    ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".pypirc", "credentials.json"];

/// What secrets are called that are none.
const EXAMPLES: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];

/// Where package managers put what others have made.
const PACKAGES: [&str; 4] = ["site-packages", "dist-packages", ".pnpm", ".yarn"];

/// Whether a file in a folder that tools fill looks made by hand.
pub(crate) fn is_by_hand(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = Path::new(&*name).extension().and_then(OsStr::to_str).unwrap_or_default();
    if let Some(rest) = name.strip_prefix(".env") {
        let is_one = rest.is_empty() || rest.starts_with('.');
        return is_one && !EXAMPLES.contains(&ending);
    }
    let is_database = ["db", "sqlite", "sqlite3"].contains(&ending);
    let is_in_cache = || path.iter().any(|part| part.to_string_lossy().contains("cache"));
    (BY_HAND.contains(&ending) && !(is_database && is_in_cache()))
        || BY_HAND_NAMED.contains(&&*name)
}

/// Whether a folder in one that tools fill is a package that somebody has installed: its files are the package's. `whole` is
/// where it is on the disk.
pub(crate) fn is_package(whole: &Path, folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    let mut above = folder.iter().rev().skip(1);
    PACKAGES.iter().any(|known| name == *known)
        || (above.any(|part| part == "node_modules") && whole.join("package.json").is_file())
}

/// What counts as reproducible.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reproducible {
    /// Besides what is known to everybody.
    names: Vec<String>,
}

impl Reproducible {
    /// These names of files and folders too.
    #[must_use]
    pub fn and(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.names.extend(names);
        self
    }

    /// Whether somebody has said so of this name, and knows best.
    pub(crate) fn is_said(&self, name: &OsStr) -> bool {
        self.names.iter().any(|known| OsStr::new(known) == name)
    }

    /// Whether something of this name can be made again.
    pub(crate) fn includes(&self, name: &OsStr, is_folder: bool) -> bool {
        let ending = Path::new(name).extension();
        self.is_said(name)
            || (is_folder && FOLDERS.iter().any(|known| OsStr::new(known) == name))
            || (!is_folder
                && ending.is_some_and(|ending| ENDINGS.iter().any(|known| *known == ending)))
            || name == ".DS_Store"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_make_is_told_from_what_tools_make() {
        let is = |path: &str| is_by_hand(Path::new(path));
        for path in ["venv/secret.key", "node_modules/.env", "dist/.env.local", "target/app.db"] {
            assert!(is(path), "{path}");
        }
        for path in ["dist/.env.example", "target/debug/app", ".mypy_cache/3.12/cache.db", ".envy"]
        {
            assert!(!is(path), "{path}");
        }
        let is_package = |folder: &str| is_package(Path::new("/nowhere"), Path::new(folder));
        assert!(is_package(".venv/lib/python3/site-packages"));
        assert!(!is_package(".venv") && !is_package("node_modules"));
    }

    #[test]
    fn only_what_is_known_can_be_made_again() {
        let known = Reproducible::default().and(["generated".to_owned()]);
        let is = |name: &str, folder| known.includes(OsStr::new(name), folder);
        for name in ["node_modules", "target", "generated"] {
            assert!(is(name, true), "{name}");
        }
        assert!(is("a.pyc", false));
        for name in [".env", "app.sqlite", "id_rsa", "notes.txt", "x.class.bak", "Target", "target"]
        {
            assert!(!is(name, false), "{name}");
        }
        assert!(!is("vendor", true) && !is("build", true) && !is("a.o", true));
    }
}
