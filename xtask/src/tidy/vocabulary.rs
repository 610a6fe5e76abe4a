//! One word, one meaning: the names that types do not get.
//!
//! The glossary in docs/architecture.md says what a run, a step or an operation is. The words below
//! would be second names for those, or for nothing in particular.

use super::finding::Finding;
use super::scan::What;
use super::tree::{RustFile, Tree};

const RULE: &str = "vocabulary";

const VAGUE: [&str; 7] = ["Manager", "Service", "Helper", "Util", "Task", "Job", "Handler"];

/// The word that the web framework itself uses.
const WEB_WORD: &str = "Handler";
const WEB_CRATE: &str = "agentos-server";

/// Checks the names of the types under `crates/`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| file.crate_name().is_some())
        .flat_map(|file| check_file(&file))
        .collect()
}

fn check_file(file: &RustFile<'_>) -> Vec<Finding> {
    let types = file.scan.sights.iter().filter_map(|sight| match &sight.what {
        What::Type(name) => Some((sight.line, name)),
        _ => None,
    });
    types
        .filter_map(|(line, name)| {
            let vague = vague_word(name)?;
            let is_web = vague == WEB_WORD && file.crate_name() == Some(WEB_CRATE);
            let what = format!("`{name}`: \"{vague}\" says nothing here; use a word of the glossary in docs/architecture.md");
            (!is_web).then(|| Finding::error(file.path, line, RULE, what))
        })
        .collect()
}

fn vague_word(name: &str) -> Option<&'static str> {
    let words = words(name);
    VAGUE
        .into_iter()
        .find(|vague| words.iter().any(|word| word.strip_suffix('s').unwrap_or(word) == *vague))
}

/// `HTTPRunList` is `HTTP`, `Run`, `List`.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    for (at, letter) in letters.iter().enumerate() {
        let after_small = at > 0 && !letters[at - 1].is_uppercase();
        let before_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let starts_word = letter.is_uppercase() && (after_small || before_small);
        match words.last_mut() {
            Some(word) if !starts_word => word.push(*letter),
            _ => words.push(letter.to_string()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        fixture::shown(&check(&fixture::tree(&[(path, text)])))
    }

    #[test]
    fn names_are_cut_into_words() {
        assert_eq!(words("HTTPRunList"), ["HTTP", "Run", "List"]);
        assert_eq!(words("Taskmaster"), ["Taskmaster"]);
    }

    #[test]
    fn vague_types_are_found() {
        assert_eq!(
            findings(
                "crates/a/src/a.rs",
                "pub struct RunManager;\nenum Jobs { A }\ntrait JSONUtils {}\n"
            ),
            ["RunManager: Manager", "Jobs: Job", "JSONUtils: Util"]
                .iter()
                .enumerate()
                .map(|(at, pair)| {
                    let (name, word) = pair.split_once(": ").unwrap();
                    format!(
                        "crates/a/src/a.rs:{}: vocabulary: `{name}`: \"{word}\" says nothing here; \
                     use a word of the glossary in docs/architecture.md",
                        at + 1
                    )
                })
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn other_words_and_uses_pass() {
        assert!(
            findings(
                "crates/a/src/a.rs",
                "struct Multitasking;\nimpl Service for Run {}\n// struct Manager\n"
            )
            .is_empty()
        );
        assert!(findings("xtask/src/a.rs", "struct Task;\n").is_empty());
    }

    #[test]
    fn handlers_live_in_the_server() {
        assert!(findings("crates/agentos-server/src/a.rs", "struct RunHandler;").is_empty());
        assert_eq!(findings("crates/agentos-engine/src/a.rs", "struct RunHandler;").len(), 1);
    }
}
