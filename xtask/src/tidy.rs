//! `cargo xtask tidy`: the rules of the source tree that the compiler does not know.
//!
//! A rule that is only written down is lost. Each rule is a pure function from the [`tree::Tree`]
//! to its findings, in a file of its own that says why the rule exists, with a test that shows it a
//! bad tree. To add one: write the file, add it to [`RULES`].

mod arrows;
mod docs;
mod doors;
mod finding;
#[cfg(test)]
mod fixture;
mod links;
mod manifest;
mod module_docs;
mod scan;
mod sizes;
mod tree;
mod vocabulary;
mod words;

use anyhow::{Result, bail};

use crate::shell::{self, say};
use finding::{Finding, Severity};
use tree::Tree;

/// Every rule: what is wrong with the tree, in any order.
const RULES: [fn(&Tree) -> Vec<Finding>; 8] = [
    arrows::check,
    doors::check,
    sizes::check,
    module_docs::check,
    words::check,
    vocabulary::check,
    docs::check,
    links::check,
];

/// Prints every finding, one a line, and fails if there is one that must be repaired.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::load(&shell::root())?;
    let findings = findings(&tree);
    for finding in &findings {
        say(finding);
    }
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let warnings = findings.len() - errors;
    say(format!("files: {}, findings: {errors}, warnings: {warnings}", tree.len()));
    if errors > 0 {
        bail!("the tree is not tidy");
    }
    Ok(())
}

fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.extend(tree.unreadable_rust());
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_come_sorted_by_place() {
        let tree = fixture::tree(&[
            ("crates/b/src/lib.rs", "fn f() { todo!() }"),
            ("crates/a/src/lib.rs", ""),
        ]);
        let findings = findings(&tree);
        let places: Vec<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn a_file_that_is_not_rust_is_a_finding_and_not_a_crash() {
        let tree = fixture::tree(&[("crates/a/src/lib.rs", "//! Doc.\nfn f( {")]);
        let shown: Vec<String> = findings(&tree).iter().map(ToString::to_string).collect();
        assert!(
            shown.iter().any(|line| line.starts_with("crates/a/src/lib.rs:1: parse: not Rust")),
            "{shown:?}"
        );
    }

    #[test]
    fn a_small_good_tree_has_no_findings() {
        let tree = fixture::tree(&[
            ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
            ("README.md", "# It\n\nSee [the map](docs/architecture.md).\n"),
            ("CHANGELOG.md", "# Changes\n"),
            ("docs/architecture.md", "`agentos-core` is pure.\n"),
            ("crates/agentos-core/Cargo.toml", "[package]\nname = \"agentos-core\"\n"),
            (
                "crates/agentos-core/src/lib.rs",
                "//! The core.\n\n/// One.\npub fn one() -> u8 {\n    1\n}\n",
            ),
        ]);
        assert_eq!(findings(&tree), []);
    }
}
