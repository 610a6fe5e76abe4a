//! Who is who in a run: identity is a path, assigned at the call.
//!
//! ```text
//! run        (the empty path)
//! step       /implement#1            the first "implement" asked for in the run
//! attempt    /implement#1@2          its second attempt: the scope of everything the body asks for
//! phase      /~build#1               a grouping; its scope is /~build#1@1
//! operation  /implement#1@2/shell:test#3
//! ```
//!
//! A path never depends on what happens to run at the same time, only on what its own scope asked for before. That
//! is why a program that is executed again from the top finds its own answers.

use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::bounds;
use crate::id::{Attempt, Occurrence};
use crate::name::{self, Name};
use crate::operation::OperationKind;

/// The scope of a run, of one attempt at a step, or of a phase.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScopePath(Arc<str>);

/// A step or phase, whatever its attempts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StepPath(Arc<str>);

/// One operation: scope, kind, name and occurrence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OperationId(Arc<str>);

/// A text that is no path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not the path of {expected}")]
pub struct PathError {
    /// What was expected there.
    expected: &'static str,
    /// The text, cut to a readable length.
    text: String,
}

impl PathError {
    fn new(expected: &'static str, text: &str) -> Self {
        Self { expected, text: text.chars().take(80).collect() }
    }
}

impl ScopePath {
    /// The run's own scope.
    #[must_use]
    pub fn root() -> Self {
        Self("".into())
    }

    /// Whether this is the run's own scope.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of a step asked for here.
    #[must_use]
    pub fn step(&self, name: &Name, occurrence: Occurrence) -> StepPath {
        StepPath(self.child("", name, occurrence))
    }

    /// The path of a phase asked for here.
    #[must_use]
    pub fn phase(&self, name: &Name, occurrence: Occurrence) -> StepPath {
        StepPath(self.child("~", name, occurrence))
    }

    fn child(&self, mark: &str, name: &Name, occurrence: Occurrence) -> Arc<str> {
        let mut text = String::with_capacity(self.0.len() + name.as_str().len() + 8);
        text.push_str(&self.0);
        text.push('/');
        text.push_str(mark);
        name::escape_into(&mut text, name.as_str());
        let _ = write!(text, "#{occurrence}");
        text.into()
    }

    /// The id of an operation asked for here.
    #[must_use]
    pub fn operation(
        &self,
        kind: OperationKind,
        name: &Name,
        occurrence: Occurrence,
    ) -> OperationId {
        let mut text = String::with_capacity(self.0.len() + name.as_str().len() + 16);
        let _ = write!(text, "{}/{kind}:", self.0);
        name::escape_into(&mut text, name.as_str());
        let _ = write!(text, "#{occurrence}");
        OperationId(text.into())
    }

    /// The step whose attempt this is; `None` for the run.
    #[must_use]
    pub fn owner(&self) -> Option<StepPath> {
        self.0.rsplit_once('@').map(|(step, _)| StepPath(step.into()))
    }

    /// Which attempt this is; the run counts as its own first.
    #[must_use]
    pub fn attempt(&self) -> Attempt {
        let number = self.0.rsplit_once('@').and_then(|(_, number)| number.parse().ok());
        number.map_or(Attempt::FIRST, Attempt)
    }

    /// Whether this is an attempt at the step, or somewhere below one.
    #[must_use]
    pub fn is_within(&self, step: &StepPath) -> bool {
        self.0.strip_prefix(step.as_str()).is_some_and(|rest| rest.starts_with('@'))
    }

    /// How many steps and phases are around this scope.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.bytes().filter(|byte| *byte == b'/').count()
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl StepPath {
    /// The scope of one attempt at this step.
    #[must_use]
    pub fn attempt(&self, attempt: Attempt) -> ScopePath {
        ScopePath(format!("{}@{attempt}", self.0).into())
    }

    /// The scope that asked for this step.
    #[must_use]
    pub fn scope(&self) -> ScopePath {
        ScopePath(self.split().0.into())
    }

    /// The step's name.
    #[must_use]
    pub fn name(&self) -> Option<Name> {
        let (_, last) = self.split();
        let (name, _) = last.rsplit_once('#')?;
        name::unescape(name.strip_prefix('~').unwrap_or(name))
    }

    /// Whether this is a phase: a grouping without attempts or a row of its own.
    #[must_use]
    pub fn is_phase(&self) -> bool {
        self.split().1.starts_with('~')
    }

    fn split(&self) -> (&str, &str) {
        self.0.rsplit_once('/').unwrap_or(("", &self.0))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl OperationId {
    /// The scope that asked for it.
    #[must_use]
    pub fn scope(&self) -> ScopePath {
        ScopePath(self.split().0.into())
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Option<OperationKind> {
        self.split().1.split_once(':')?.0.parse().ok()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> Option<Name> {
        let (_, name) = self.split().1.split_once(':')?;
        name::unescape(name.rsplit_once('#')?.0)
    }

    fn split(&self) -> (&str, &str) {
        self.0.rsplit_once('/').unwrap_or(("", &self.0))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A count as we write it: no sign, no leading zero, not zero.
fn is_count(text: &str) -> bool {
    !text.starts_with(['0', '+']) && text.parse::<u32>().is_ok()
}

/// `name#2`
fn is_numbered(text: &str) -> bool {
    text.rsplit_once('#')
        .is_some_and(|(name, count)| is_count(count) && name::unescape(name).is_some())
}

/// `name#2` or `~name#1`
fn is_step_segment(text: &str) -> bool {
    is_numbered(text.strip_prefix('~').unwrap_or(text))
}

fn is_scope(text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    let Some(segments) = text.strip_prefix('/') else {
        return false;
    };
    text.len() <= bounds::PATH_BYTES
        && segments.split('/').all(|segment| {
            segment
                .rsplit_once('@')
                .is_some_and(|(step, attempt)| is_count(attempt) && is_step_segment(step))
        })
}

fn is_step(text: &str) -> bool {
    text.rsplit_once('/').is_some_and(|(scope, last)| is_scope(scope) && is_step_segment(last))
}

fn is_operation(text: &str) -> bool {
    text.rsplit_once('/').is_some_and(|(scope, last)| {
        is_scope(scope)
            && last.split_once(':').is_some_and(|(kind, name)| {
                kind.parse::<OperationKind>().is_ok() && is_numbered(name)
            })
    })
}

/// Parsing, display and encoding as text for one kind of path.
macro_rules! path_text {
    ($name:ident, $expected:literal, $check:ident) => {
        impl FromStr for $name {
            type Err = PathError;

            fn from_str(text: &str) -> Result<Self, PathError> {
                if $check(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(PathError::new($expected, text))
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = PathError;

            fn try_from(text: String) -> Result<Self, PathError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(path: $name) -> Self {
                path.0.as_ref().into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

path_text!(ScopePath, "a scope", is_scope);
path_text!(StepPath, "a step", is_step);
path_text!(OperationId, "an operation", is_operation);

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    #[test]
    fn paths_are_read_back_as_they_were_written() {
        let step = ScopePath::root().step(&name("review/all"), Occurrence(2));
        assert_eq!(step.as_str(), "/review%2Fall#2");
        let scope = step.attempt(Attempt(3));
        let operation = scope.operation(OperationKind::Shell, &name("npm: test"), Occurrence(1));
        assert_eq!(operation.as_str(), "/review%2Fall#2@3/shell:npm%3A test#1");
        assert_eq!(operation.to_string().parse(), Ok(operation.clone()));
        assert_eq!(operation.scope(), scope);
        assert_eq!(operation.kind(), Some(OperationKind::Shell));
        assert_eq!(operation.name(), Some(name("npm: test")));
        assert_eq!(
            (scope.owner(), scope.attempt(), scope.depth()),
            (Some(step.clone()), Attempt(3), 1)
        );
        assert_eq!((step.scope(), step.name()), (ScopePath::root(), Some(name("review/all"))));
    }

    #[test]
    fn phases_are_told_apart_from_steps_of_the_same_name() {
        let phase = ScopePath::root().phase(&name("build"), Occurrence(1));
        let step = ScopePath::root().step(&name("build"), Occurrence(1));
        assert_ne!(phase, step);
        assert!(phase.is_phase() && !step.is_phase());
        assert_eq!(phase.name(), step.name());
        assert_eq!(phase.to_string().parse(), Ok(phase));
    }

    #[test]
    fn hostile_texts_are_no_paths() {
        for text in [
            "x", "/", "/a", "/a#0@1", "/a#1", "/a#1@0", "/a#01@1", "/a#1@1/", "//a#1@1", "/a:b#1@1",
        ] {
            assert!(text.parse::<ScopePath>().is_err(), "{text}");
        }
        for text in ["", "/a#1@1", "a#1", "/~#1", "/a#99999999999"] {
            assert!(text.parse::<StepPath>().is_err(), "{text}");
        }
        for text in ["", "/shell:a", "/nope:a#1", "/shell#1", "/a#1/shell:b#1", "shell:a#1"] {
            assert!(text.parse::<OperationId>().is_err(), "{text}");
        }
        let long = "/a#1@1".repeat(bounds::PATH_BYTES);
        let error = long.parse::<ScopePath>().unwrap_err();
        assert!(error.to_string().len() < 200);
    }
}
