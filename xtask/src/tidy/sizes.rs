//! Files and functions that want to be two.
//!
//! Good code has a median function of ten lines, and every project that does not check it also has
//! a handful of giants that its authors regret. Test code counts for functions, where it is as hard
//! to read, and not for files.

use super::finding::Finding;
use super::scan::{Function, What};
use super::tree::{RustFile, Tree};

const RULE: &str = "sizes";
const FILE_LINES_MAX: usize = 600;
const FILE_LINES_WARN: usize = 400;
/// The same as `too-many-lines-threshold` in clippy.toml, which does not look into macro calls.
const FUNCTION_LINES_MAX: usize = 70;

/// Checks every Rust file of the repository.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .flat_map(|file| check_file(&file).into_iter().chain(check_functions(&file)))
        .collect()
}

fn check_file(file: &RustFile<'_>) -> Option<Finding> {
    if file.is_test() {
        return None;
    }
    let lines = production_lines(file);
    if lines > FILE_LINES_MAX {
        let what =
            format!("{lines} production lines, {FILE_LINES_MAX} at most; it wants to be two files");
        Some(Finding::error(file.path, 1, RULE, what))
    } else if lines > FILE_LINES_WARN {
        let what =
            format!("{lines} production lines of {FILE_LINES_MAX}; think of where to cut it");
        Some(Finding::warning(file.path, 1, RULE, what))
    } else {
        None
    }
}

/// All lines but those of the test modules.
fn production_lines(file: &RustFile<'_>) -> usize {
    let in_test_modules: usize = file
        .scan
        .sights
        .iter()
        .map(|sight| match &sight.what {
            What::TestModule(lines) => lines.last - lines.first + 1,
            _ => 0,
        })
        .sum();
    file.text.lines().count() - in_test_modules
}

fn check_functions(file: &RustFile<'_>) -> Vec<Finding> {
    let functions = file.scan.sights.iter().filter_map(|sight| match &sight.what {
        What::Function(function) => Some((sight.line, function)),
        _ => None,
    });
    functions
        .filter_map(|(line, function)| {
            let lines = code_lines(file.text, function);
            (lines > FUNCTION_LINES_MAX).then(|| {
                let what = format!(
                    "`{}` has {lines} lines, {FUNCTION_LINES_MAX} at most; split it",
                    function.name
                );
                Finding::error(file.path, line, RULE, what)
            })
        })
        .collect()
}

/// The lines between the braces that are neither empty nor a comment, as clippy counts them.
fn code_lines(text: &str, function: &Function) -> usize {
    let between_braces = function.body.last.saturating_sub(function.body.first + 1);
    let lines = text.lines().skip(function.body.first).take(between_braces);
    lines.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//")).count()
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        fixture::shown(&check(&fixture::tree(&[(path, text)])))
    }

    fn file_of(lines: usize) -> String {
        "use a;\n".repeat(lines)
    }

    fn function_of(lines: usize) -> String {
        format!("fn long() {{\n{}\n\n    // why\n}}\n", "    f();\n".repeat(lines).trim_end())
    }

    #[test]
    fn a_file_is_warned_about_before_it_is_too_long() {
        assert!(findings("crates/a/src/a.rs", &file_of(400)).is_empty());
        assert_eq!(
            findings("crates/a/src/a.rs", &file_of(401)),
            [
                "crates/a/src/a.rs:1: sizes: warning: 401 production lines of 600; think of where to cut it"
            ]
        );
        assert_eq!(
            findings("crates/a/src/a.rs", &file_of(601)),
            [
                "crates/a/src/a.rs:1: sizes: 601 production lines, 600 at most; it wants to be two files"
            ]
        );
    }

    #[test]
    fn tests_do_not_make_a_file_too_long() {
        let text = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", file_of(400), file_of(500));
        assert!(findings("crates/a/src/a.rs", &text).is_empty());
        assert!(findings("crates/a/tests/a.rs", &file_of(700)).is_empty());
    }

    #[test]
    fn a_function_is_counted_without_blank_lines_and_comments() {
        assert!(findings("crates/a/src/a.rs", &function_of(70)).is_empty());
        assert_eq!(
            findings("crates/a/src/a.rs", &format!("\n{}", function_of(71))),
            ["crates/a/src/a.rs:2: sizes: `long` has 71 lines, 70 at most; split it"]
        );
    }

    #[test]
    fn a_macro_call_hides_no_long_function() {
        let text = format!("proptest! {{\n{}}}\n", function_of(71));
        assert_eq!(findings("crates/a/tests/a.rs", &text).len(), 1);
    }
}
