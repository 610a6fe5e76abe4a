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

    /// Whether something of this name can be made again.
    pub(crate) fn includes(&self, name: &OsStr, is_folder: bool) -> bool {
        let ending = Path::new(name).extension();
        self.names.iter().any(|known| OsStr::new(known) == name)
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
