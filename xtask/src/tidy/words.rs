//! The repository speaks only of itself.
//!
//! A reader has this repository and nothing else: a path on somebody's disk, a ticket's number or
//! another project's name tells them nothing. Reasons are written out where they apply.

use super::finding::Finding;
use super::tree::Tree;

const RULE: &str = "words";

/// The words in small letters, and what to write instead.
///
/// Spelt in halves, so that this file keeps its own rule.
const FORBIDDEN: [(&str, &str); 4] = [
    (concat!("pedro", "cli"), "speak of this project only"),
    (concat!("/wo", "rk/"), "use a path inside the repository"),
    (concat!("../sh", "ared"), "use a path inside the repository"),
    (concat!("issue", " #"), "write out the reason; the number means nothing to a reader"),
];

/// Checks every text file.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts()
        .flat_map(|(path, text)| {
            text.lines()
                .enumerate()
                .flat_map(move |(index, line)| check_line(path, index + 1, line))
        })
        .collect()
}

fn check_line(path: &str, number: usize, line: &str) -> Vec<Finding> {
    let line = line.to_lowercase();
    FORBIDDEN
        .iter()
        .filter(|(word, _)| mentions(&line, word))
        .map(|(word, advice)| {
            Finding::error(path, number, RULE, format!("`{word}` does not belong here; {advice}"))
        })
        .collect()
}

fn mentions(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        // Inside a longer path, `/home/me/work/…`, an absolute path is no longer what it looks
        // like.
        let before = line[..at].chars().next_back();
        !word.starts_with('/')
            || !before.is_some_and(|c| c.is_alphanumeric() || "._-~}>".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&fixture::tree(&[("docs/a.md", text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn words_from_outside_are_found() {
        let text = format!(
            "{} is another project\n\nsee {}main/x\nsee {}/notes.md\nfixes {}12\n",
            concat!("Pedro", "CLI"),
            concat!("/wo", "rk/"),
            concat!("../sh", "ared"),
            concat!("Issue", " #")
        );
        assert_eq!(lines(&text), [1, 3, 4, 5]);
    }

    #[test]
    fn words_that_only_look_alike_pass() {
        assert!(
            lines("/tmp/work/repo, /workspace, {root}/work/a, the issue with #hashes\n").is_empty()
        );
    }

    #[test]
    fn a_finding_names_the_word() {
        let tree = fixture::tree(&[("a.toml", concat!("path = \"/wo", "rk/a\"\n"))]);
        assert_eq!(
            fixture::shown(&check(&tree)),
            [concat!(
                "a.toml:1: words: `/wo",
                "rk/` does not belong here; use a path inside the repository"
            )]
        );
    }
}
