//! Trees made up for the rules' tests.

use std::fs;

use super::finding::Finding;
use super::tree::Tree;

/// A tree on disk with these files, loaded.
pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Tree::load(folder.path()).unwrap()
}

/// The findings as the user reads them.
pub(crate) fn shown(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}
