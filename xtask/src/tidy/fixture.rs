//! Trees made up for the rules' tests.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use super::finding::Finding;
use super::tree::Tree;
use crate::shell::CommandLine;

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A tree on disk with these files, loaded.
pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("xtask-tree-{}-{number}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    CommandLine::git(["init", "-q"]).folder(&folder).run().unwrap();
    let tree = Tree::load(&folder);
    fs::remove_dir_all(&folder).unwrap();
    tree.unwrap()
}

/// The findings as the user reads them.
pub(crate) fn shown(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}
