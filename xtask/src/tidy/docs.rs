//! The pages that a newcomer looks for are there, and the map shows every crate.

use super::finding::Finding;
use super::tree::Tree;

const RULE: &str = "docs";

const MAP: &str = "docs/architecture.md";

/// The pages, and what a reader looks for in each.
const PAGES: [(&str, &str); 3] = [
    ("README.md", "what it is and how to start"),
    ("CHANGELOG.md", "what changed for a user"),
    (MAP, "which crate does what and must not do"),
];

/// Checks that the pages exist and that the map is complete.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    missing_pages(tree).chain(crates_off_the_map(tree)).collect()
}

fn missing_pages(tree: &Tree) -> impl Iterator<Item = Finding> {
    PAGES.into_iter().filter(|(page, _)| tree.text(page).is_none()).map(|(page, says)| {
        Finding::error(page, 1, RULE, format!("there is no such page; write {says}"))
    })
}

fn crates_off_the_map(tree: &Tree) -> impl Iterator<Item = Finding> {
    let map = tree.text(MAP);
    tree.crates()
        .map(|found| found.folder)
        .filter(move |name| map.is_some_and(|map| !names(map, name)))
        .map(|name| {
            let what = format!("`{name}` is not on the map; say what it does and must not do");
            Finding::error(MAP, 1, RULE, what)
        })
}

/// Whether the page names the crate itself, and not only one whose name is longer.
fn names(page: &str, name: &str) -> bool {
    let in_a_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    page.split(|c| !in_a_name(c)).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn missing_pages_are_found() {
        assert_eq!(
            fixture::shown(&check(&fixture::tree(&[("README.md", "# It\n")]))),
            [
                "CHANGELOG.md:1: docs: there is no such page; write what changed for a user",
                "docs/architecture.md:1: docs: there is no such page; write which crate does what and must not do",
            ]
        );
    }

    #[test]
    fn a_crate_off_the_map_is_found() {
        let tree = fixture::tree(&[
            ("README.md", ""),
            ("CHANGELOG.md", ""),
            ("docs/architecture.md", "`agentos-core` and `agentos-store`.\n"),
            ("crates/agentos-core/Cargo.toml", ""),
            ("crates/agentos/Cargo.toml", ""),
        ]);
        assert_eq!(
            fixture::shown(&check(&tree)),
            [
                "docs/architecture.md:1: docs: `agentos` is not on the map; say what it does and must not do"
            ]
        );
    }
}
