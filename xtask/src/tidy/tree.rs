//! The repository as the rules see it: the files that git keeps or would keep, read once.
//!
//! Ignored files are not part of it, so build output and local notes are nobody's concern. Files
//! that are not UTF-8 are known by their path only.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};

use super::finding::Finding;
use super::scan::{self, Scan};
use crate::shell::CommandLine;

/// All files of the repository.
pub(crate) struct Tree {
    files: Vec<File>,
}

struct File {
    /// From the repository's root, with forward slashes.
    path: String,
    /// `None` if it is not text.
    text: Option<String>,
    /// `None` if it is not Rust by its name.
    scan: Option<Result<Scan, String>>,
}

/// A folder under `crates/` that has a manifest.
pub(crate) struct CrateFolder<'a> {
    /// The folder's name.
    pub(crate) folder: &'a str,
    /// Where the manifest is.
    pub(crate) manifest_path: &'a str,
    /// What it says.
    pub(crate) manifest: &'a str,
}

/// A Rust file, its text and what the scanner saw in it.
#[derive(Clone, Copy)]
pub(crate) struct RustFile<'a> {
    /// From the repository's root, with forward slashes.
    pub(crate) path: &'a str,
    /// Its content.
    pub(crate) text: &'a str,
    /// What the scanner saw in it.
    pub(crate) scan: &'a Scan,
}

impl Tree {
    /// Reads the repository at `root`.
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = CommandLine::git(list).folder(root).output()?;
        let mut files = Vec::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            files.extend(load_file(root, path)?);
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        // A file that is in conflict is listed once for each side.
        files.dedup_by(|a, b| a.path == b.path);
        Ok(Self { files })
    }

    /// How many files there are.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// The content of a text file, if there is such a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path)?.text.as_deref()
    }

    /// Whether the repository holds this file or folder.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        path.is_empty()
            || self.files.iter().any(|file| file.path == path || file.path.starts_with(&inside))
    }

    /// Every text file, with its content.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
    }

    /// Every crate under `crates/`.
    pub(crate) fn crates(&self) -> impl Iterator<Item = CrateFolder<'_>> {
        self.texts().filter_map(|(manifest_path, manifest)| {
            let folder = manifest_path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            (!folder.contains('/')).then_some(CrateFolder { folder, manifest_path, manifest })
        })
    }

    /// Every Rust file that could be scanned.
    pub(crate) fn rust(&self) -> impl Iterator<Item = RustFile<'_>> {
        self.files.iter().filter_map(|file| match (&file.text, &file.scan) {
            (Some(text), Some(Ok(scan))) => Some(RustFile { path: &file.path, text, scan }),
            _ => None,
        })
    }

    /// A finding for every Rust file that could not be scanned: no rule has looked at it.
    pub(crate) fn unreadable_rust(&self) -> impl Iterator<Item = Finding> {
        self.files.iter().filter_map(|file| match &file.scan {
            Some(Err(why)) => Some(Finding::error(
                &file.path,
                1,
                "parse",
                format!("not Rust ({why}); the other rules skip it"),
            )),
            _ => None,
        })
    }
}

impl RustFile<'_> {
    /// The folder name of the crate under `crates/`, if it is in one.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        Some(self.path.strip_prefix("crates/")?.split_once('/')?.0)
    }

    /// Whether it is compiled into the crate, as opposed to its integration tests, benches or build
    /// script.
    pub(crate) fn is_source(&self) -> bool {
        let inside = match self.path.strip_prefix("crates/") {
            Some(rest) => rest.split_once('/').map_or("", |(_, inside)| inside),
            None => self.path.strip_prefix("xtask/").unwrap_or_default(),
        };
        inside.starts_with("src/")
    }

    /// Whether the whole file is test code.
    pub(crate) fn is_test(&self) -> bool {
        is_test_path(self.path)
    }
}

/// Nothing for what git knows and is not there as a file: removed and not committed yet, a link, a submodule.
fn load_file(root: &Path, path: &str) -> Result<Option<File>> {
    let file = root.join(path);
    let failed = || format!("could not read {}", file.display());
    match fs::symlink_metadata(&file) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(failed),
    }
    let bytes = fs::read(&file).with_context(failed)?;
    let path = path.to_owned();
    let text = String::from_utf8(bytes).ok();
    let scan = text
        .as_deref()
        .filter(|_| path.ends_with(".rs"))
        .map(|text| scan::scan(text, is_test_path(&path)));
    Ok(Some(File { path, text, scan }))
}

fn is_test_path(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

#[cfg(test)]
mod tests {
    use super::super::fixture;

    #[test]
    fn ignored_files_are_not_part_of_the_tree() {
        let tree = fixture::tree(&[
            (".gitignore", "/target\n"),
            ("target/debug/junk.rs", "fn f( {"),
            (".ci/run", "cargo xtask test\n"),
        ]);
        assert_eq!(tree.unreadable_rust().count(), 0);
        assert!(tree.contains(".ci"));
        assert!(!tree.contains("target"));
    }

    #[test]
    fn a_file_knows_its_crate_and_whether_it_is_test_code() {
        let tree = fixture::tree(&[
            ("crates/agentos-core/src/run/tests.rs", ""),
            ("xtask/src/main.rs", ""),
        ]);
        let files: Vec<_> = tree.rust().collect();
        assert_eq!(files[0].crate_name(), Some("agentos-core"));
        assert!(files[0].is_test() && files[0].is_source());
        assert_eq!(files[1].crate_name(), None);
        assert!(!files[1].is_test() && files[1].is_source());
    }
}
