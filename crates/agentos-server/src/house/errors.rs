//! Why the house does not do what it was asked for: one enum for each operation.
//!
//! A variant names a cause, and is called like the [kind of problem](ProblemKind) that it becomes: so each has one status and
//! one `type`, and the description of an address lists just those that its operation can meet. What is said about the cause
//! comes from the same functions as on the command line.

mod files;
mod projects;
mod runs;
mod workflows;
mod workspaces;

use std::fmt;

pub use files::{DiffError, OpenArtifactError, OpenLogError};
pub use projects::{AddProjectError, ListProjectsError, RemoveProjectError};
pub use runs::{
    ApproveError, CancelError, CommentError, ForkError, OperationsError, ResumeError, RetryError,
    SignalError,
};
pub use workflows::{ExecuteError, RemoveWorkflowError};
pub use workspaces::{CleanError, ListWorkspacesError, RestoreError, ShowWorkspaceError};

use crate::problem::{FieldProblem, Problem, ProblemKind};

/// What is said about a cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// Fields of the request that are wrong: JSON pointers, and how.
    pub fields: Vec<(String, String)>,
}

impl Words {
    /// Just this.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The same with what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// About a field of the request.
    pub fn field(pointer: &str, what: impl Into<String>) -> Self {
        let what = what.into();
        let message = format!("`{pointer}`: {what}");
        Self { message, hint: None, fields: vec![(pointer.to_owned(), what)] }
    }
}

impl Words {
    /// What is said about something that nobody can find while a database can't be read that may have it.
    #[must_use]
    pub fn hidden(what: &str, name: &str, unreadable: &[String]) -> Self {
        let unreadable = unreadable.join(", ");
        Self::new(format!("no database that can be read has a {what} `{name}`")).hint(format!(
            "{unreadable} can't be read, and it may be in there; `GET /readyz` tells why, and when it can be used"
        ))
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Why an operation was not done.
pub trait Refusal: std::error::Error + Sized {
    /// Every cause there is.
    const KINDS: &'static [ProblemKind];

    /// It was tried, and did not work.
    fn failed(words: Words) -> Self;

    /// Which cause it is.
    fn kind(&self) -> ProblemKind;

    /// What is said about it.
    fn into_words(self) -> Words;
}

impl<E: Refusal> From<E> for Problem {
    fn from(refusal: E) -> Self {
        let kind = refusal.kind();
        let Words { message, hint, fields } = refusal.into_words();
        let errors = fields.into_iter();
        let errors = errors.map(|(pointer, detail)| FieldProblem::at(pointer, detail)).collect();
        Self { hint, errors, ..Self::new(kind, message) }
    }
}

/// The errors of operations. Whatever is asked for, a database may be in no good state, and something may go wrong that
/// nobody has thought of.
macro_rules! refusals {
    ($($(#[$about:meta])+ $name:ident { $($(#[$when:meta])+ $cause:ident,)* })+) => {
        $(
            $(#[$about])+
            #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
            pub enum $name {
                $(
                    $(#[$when])+
                    #[error("{0}")]
                    $cause($crate::house::Words),
                )*
                /// A database can't be used now.
                #[error("{0}")]
                DatabaseUnusable($crate::house::Words),
                /// It was tried, and did not work. Whoever asked is not to blame.
                #[error("{0}")]
                Failed($crate::house::Words),
            }

            impl $crate::house::Refusal for $name {
                const KINDS: &'static [$crate::problem::ProblemKind] = &[
                    $($crate::problem::ProblemKind::$cause,)*
                    $crate::problem::ProblemKind::DatabaseUnusable,
                    $crate::problem::ProblemKind::Failed,
                ];

                fn failed(words: $crate::house::Words) -> Self {
                    Self::Failed(words)
                }

                fn kind(&self) -> $crate::problem::ProblemKind {
                    match self {
                        $(Self::$cause(_) => $crate::problem::ProblemKind::$cause,)*
                        Self::DatabaseUnusable(_) => $crate::problem::ProblemKind::DatabaseUnusable,
                        Self::Failed(_) => $crate::problem::ProblemKind::Failed,
                    }
                }

                fn into_words(self) -> $crate::house::Words {
                    match self {
                        $(Self::$cause(words) => words,)*
                        Self::DatabaseUnusable(words) | Self::Failed(words) => words,
                    }
                }
            }
        )+
    };
}
use refusals;
