//! The body of a pull request: a text with places that are filled in.
//!
//! A place is a name in two pairs of braces. One that is not known is refused before anything is pushed: the other way
//! round a mistake would be seen by everybody who reads the pull request.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use agentos_core::failure::{Failure, FailureKind};

/// Where a project keeps its own, relative to its root.
pub const PROJECT_TEMPLATE: &str = ".agent/pull_request_template.md";

/// The one that is used where there is none.
const DEFAULT: &str = "{{body}}\n\n---\n\n{{summary}}\n";

/// Largest file, in bytes.
const FILE_BYTES: u64 = 256 << 10;

/// What can be filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Title,
    Body,
    Summary,
    Workflow,
    RunId,
    Branch,
    Base,
    Commit,
    Behind,
    Steps,
    Agents,
    Commits,
    Tests,
}

impl Place {
    const ALL: [(&'static str, Self); 13] = [
        ("title", Self::Title),
        ("body", Self::Body),
        ("summary", Self::Summary),
        ("workflow", Self::Workflow),
        ("run_id", Self::RunId),
        ("branch", Self::Branch),
        ("base", Self::Base),
        ("commit", Self::Commit),
        ("behind", Self::Behind),
        ("steps", Self::Steps),
        ("agents", Self::Agents),
        ("commits", Self::Commits),
        ("tests", Self::Tests),
    ];
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(Place),
}

/// A text with places.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

impl Template {
    /// The one that the workflow brings, else that of the project, else the usual one. `named` is a file that the
    /// configuration names.
    pub(super) fn load(
        given: Option<&str>,
        named: Option<&Path>,
        project: &Path,
    ) -> Result<Self, Failure> {
        if let Some(given) = given {
            return Self::parse(given, "`template`");
        }
        let file = project.join(named.unwrap_or(Path::new(PROJECT_TEMPLATE)));
        match (text_of(&file), named) {
            (Ok(text), _) => Self::parse(&text, &file.display().to_string()),
            (Err(error), None) if error.kind() == std::io::ErrorKind::NotFound => {
                Self::parse(DEFAULT, "the usual template")
            }
            (Err(error), _) => Err(refused(format!(
                "the template of pull requests {} can't be read: {error}",
                file.display()
            ))),
        }
    }

    fn parse(text: &str, whence: &str) -> Result<Self, Failure> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let at = || text[..text.len() - after.len()].lines().count().max(1);
            let Some((name, behind)) = after.split_once("}}") else {
                return Err(refused(format!("{whence}, line {}: `{{{{` has no `}}}}`", at())));
            };
            let known = Place::ALL.iter().find(|(known, _)| *known == name.trim());
            let Some((_, place)) = known else {
                let names: Vec<&str> = Place::ALL.iter().map(|(name, _)| *name).collect();
                let name: String = name.trim().chars().take(60).collect();
                return Err(refused(format!(
                    "{whence}, line {}: there is no `{{{{{name}}}}}`; there is {}",
                    at(),
                    names.join(", ")
                )));
            };
            parts.extend([Part::Text(before.to_owned()), Part::Place(*place)]);
            rest = behind;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts))
    }

    /// The text with everything filled in. Where nothing was to be said there is no gap.
    pub(super) fn filled(&self, value: impl Fn(Place) -> String) -> String {
        let whole: String = self
            .0
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Place(place) => value(*place),
            })
            .collect();
        let mut lines: Vec<&str> = Vec::new();
        for line in whole.lines() {
            let is_gap = line.trim().is_empty();
            if !(is_gap && lines.last().is_none_or(|last| last.trim().is_empty())) {
                lines.push(line);
            }
        }
        lines.join("\n").trim_end().to_owned()
    }
}

/// Only a plain file is opened: a pipe in somebody's repository would hold us up for ever.
fn text_of(file: &Path) -> std::io::Result<String> {
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES {
        let what = format!("it is larger than {FILE_BYTES} bytes");
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, what));
    }
    let not_text = |_| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not text");
    String::from_utf8(bytes).map_err(not_text)
}

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::NonRetryable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_in_and_leave_no_gaps() {
        let template = Template::parse("# {{title}}\n\n{{ body }}\n\n{{tests}}\n\nend", "it");
        let filled = template.expect("a template").filled(|place| match place {
            Place::Title => "T".to_owned(),
            Place::Body => "b1\n\n\nb2".to_owned(),
            _ => String::new(),
        });
        assert_eq!(filled, "# T\n\nb1\n\nb2\n\nend");
    }

    #[test]
    fn a_place_that_there_is_not_is_named_with_its_line() {
        let error = Template::parse("a\n\nb {{boddy}}", "pr.md").expect_err("it is refused");
        assert!(error.message.starts_with("pr.md, line 3: there is no `{{boddy}}`"), "{error}");
        let open = Template::parse("a {{body", "pr.md").expect_err("it is refused");
        assert_eq!(open.message, "pr.md, line 1: `{{` has no `}}`");
    }
}
