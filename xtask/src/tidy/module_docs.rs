//! Every file says at its top what it is for and why; a `mod.rs` is a table of contents.
//!
//! The module doc is the contract that a reader meets first. Logic in a `mod.rs` is logic under no
//! name: it is found by nobody who looks for it.

use super::finding::Finding;
use super::scan::What;
use super::tree::{RustFile, Tree};

const RULE: &str = "module-docs";

/// Checks the sources of the crates and of xtask.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(RustFile::is_source)
        .flat_map(|file| missing_doc(&file).into_iter().chain(logic_in_mod_rs(&file)))
        .collect()
}

fn missing_doc(file: &RustFile<'_>) -> Option<Finding> {
    let what = "does not start with a module doc; say in `//!` lines what the file is for and why";
    (!file.text.starts_with("//!")).then(|| Finding::error(file.path, 1, RULE, what))
}

fn logic_in_mod_rs(file: &RustFile<'_>) -> Option<Finding> {
    if !file.path.ends_with("/mod.rs") {
        return None;
    }
    let (line, name) = file.scan.sights.iter().find_map(|sight| match &sight.what {
        What::Function(function) => Some((sight.line, &function.name)),
        _ => None,
    })?;
    let what =
        format!("`{name}` has a body in a mod.rs; move it to a file that is called what it does");
    Some(Finding::error(file.path, line, RULE, what))
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn documented_files_and_empty_tables_of_contents_pass() {
        let tree = fixture::tree(&[
            ("crates/a/src/lib.rs", "//! The a.\nfn f() {}\n"),
            (
                "crates/a/src/b/mod.rs",
                "//! The b.\nmod c;\npub use c::C;\ntrait T { fn promise(&self); }\n",
            ),
            ("crates/a/tests/it.rs", "fn f() {}\n"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_file_without_a_doc_is_found() {
        let tree = fixture::tree(&[("xtask/src/a.rs", "// Not a doc.\nfn f() {}\n")]);
        assert_eq!(
            fixture::shown(&check(&tree)),
            ["xtask/src/a.rs:1: module-docs: does not start with a module doc; \
              say in `//!` lines what the file is for and why"]
        );
    }

    #[test]
    fn logic_in_a_mod_rs_is_found() {
        let tree = fixture::tree(&[("crates/a/src/b/mod.rs", "//! The b.\n\nfn act() {}\n")]);
        assert_eq!(
            fixture::shown(&check(&tree)),
            ["crates/a/src/b/mod.rs:3: module-docs: `act` has a body in a mod.rs; \
              move it to a file that is called what it does"]
        );
    }
}
