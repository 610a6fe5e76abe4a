//! What a rule says when it is broken: where, which rule, what is wrong and what to do about it.

use std::fmt;

/// Whether a finding must be repaired now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Fails the check.
    Error,
    /// Is printed, and nothing more.
    Warning,
}

/// One breach of one rule. Ordered by place, which is how a person works through a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// From the repository's root, with forward slashes.
    pub(crate) path: String,
    /// Counted from one.
    pub(crate) line: usize,
    /// The rule's name, which is the name of its file.
    pub(crate) rule: &'static str,
    /// What is wrong, and what to do.
    pub(crate) message: String,
    /// Whether it must be repaired now.
    pub(crate) severity: Severity,
}

impl Finding {
    /// A breach that fails the check.
    pub(crate) fn error(
        path: &str,
        line: usize,
        rule: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            line,
            rule,
            message: message.into(),
            severity: Severity::Error,
        }
    }

    /// A breach to come.
    pub(crate) fn warning(
        path: &str,
        line: usize,
        rule: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warning, ..Self::error(path, line, rule, message) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, message, severity } = self;
        let mark = match severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
        };
        write!(f, "{path}:{line}: {rule}: {mark}{message}")
    }
}
