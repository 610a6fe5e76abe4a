//! What is wrong with a template, in a form that an editor, a terminal and a test can use.

use std::fmt;

use oxc_diagnostics::OxcDiagnostic;
use serde::Serialize;

use crate::position::{Lines, Position};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The template works, but hardly as its author thinks.
    Warning,
    /// The template can't be used.
    Error,
}

/// A remark about a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file, relative to the folder of the workflows.
    pub file: String,
    /// The line, from 1; none if the whole file is meant.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The line of the source, and one before it.
    pub frame: Vec<FrameLine>,
}

/// A line of the source around a remark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FrameLine {
    /// Its number, from 1.
    pub line: u32,
    /// Its text, cut if it is very long.
    pub text: String,
}

/// Longest line shown, in characters.
const FRAME_CHARACTERS: usize = 160;

impl Diagnostic {
    /// An error about a whole file.
    pub(crate) fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            file: file.to_owned(),
            line: None,
            column: None,
            message: message.into(),
            help: None,
            frame: Vec::new(),
        }
    }

    /// An error at a place in a text.
    pub(crate) fn at(file: &str, text: &str, at: Position, message: impl Into<String>) -> Self {
        let lines = Lines::of(text);
        let frame = (at.line.saturating_sub(1).max(1)..=at.line).filter_map(|line| {
            let text = lines.line(line)?.chars().take(FRAME_CHARACTERS).collect();
            Some(FrameLine { line, text })
        });
        Self {
            line: Some(at.line),
            column: Some(at.column),
            frame: frame.collect(),
            ..Self::of_file(file, message)
        }
    }

    /// An error at a byte of a text.
    pub(crate) fn at_offset(
        file: &str,
        text: &str,
        offset: u32,
        message: impl Into<String>,
    ) -> Self {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
        Self::at(file, text, Lines::of(text).position(offset), message)
    }

    /// The same, with advice.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, as a warning.
    pub(crate) fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// What the parser found.
    pub(crate) fn from_parser(file: &str, text: &str, found: &OxcDiagnostic) -> Self {
        let message = found.message.to_string();
        let mut diagnostic = match found.labels.first() {
            Some(label) => Self::at_offset(file, text, label.offset(), message),
            None => Self::of_file(file, message),
        };
        diagnostic.help = found.help.as_ref().map(ToString::to_string);
        diagnostic
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        write!(f, ": {}", self.message)?;
        for FrameLine { line, text } in &self.frame {
            write!(f, "\n{line:>5} | {text}")?;
        }
        if let (Some(column), false) = (self.column, self.frame.is_empty()) {
            let indent = usize::try_from(column).unwrap_or(1).min(FRAME_CHARACTERS);
            write!(f, "\n      |{:>1$}", "^", indent + 1)?;
        }
        match &self.help {
            Some(help) => write!(f, "\n  {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Diagnostic {}
