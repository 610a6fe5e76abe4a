//! Why a file of the run could not be had.

use std::io;

use rustix::io::Errno;
use thiserror::Error;

/// Why a call failed: what, where, and what to do about it.
#[derive(Debug, Error)]
pub enum ContainedError {
    /// The text is no path.
    #[error("`{path}` can't be a path: {why}")]
    Path {
        /// The path, as far as it can be shown.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It leads elsewhere.
    #[error("`{path}` leads out of the workspace; name something inside of it, relative to it")]
    Outside {
        /// The path.
        path: String,
    },
    /// It is not for workflows to write.
    #[error(
        "`{path}` is not written by workflows: `{part}` belongs to others; use ctx.git or a command"
    )]
    Protected {
        /// The path.
        path: String,
        /// The part of it that is not to be written.
        part: String,
    },
    /// It is one of the run's input files.
    #[error(
        "`{path}` is an input of the run, which is only read; copy it into the workspace first"
    )]
    ReadOnly {
        /// The path.
        path: String,
    },
    /// There is nothing.
    #[error("there is no `{path}` in the workspace")]
    Missing {
        /// The path.
        path: String,
    },
    /// There is something else.
    #[error("`{path}` is {is}, and {wanted} is needed")]
    Kind {
        /// The path.
        path: String,
        /// What it is.
        is: &'static str,
        /// What it should be, or what to do.
        wanted: &'static str,
    },
    /// It is more than fits.
    #[error("`{path}` has {size} bytes, and at most {limit} become a value; {advice}")]
    TooLarge {
        /// The path.
        path: String,
        /// How large it is.
        size: u64,
        /// How large it may be.
        limit: u64,
        /// What to do instead.
        advice: &'static str,
    },
    /// It is no text.
    #[error("`{path}` is not UTF-8 text (byte {at} is not); read it as bytes")]
    NotText {
        /// The path.
        path: String,
        /// Where it stops being text.
        at: usize,
    },
    /// It is no pattern.
    #[error("`{pattern}` is not a pattern of files: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// There are too many.
    #[error("`{path}` stands for more than {limit} {what}; name a smaller part")]
    TooMany {
        /// The path or pattern.
        path: String,
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
    /// Somebody writes it.
    #[error("`{path}` changed while it was copied, twice; wait until whoever writes it is done")]
    Changing {
        /// The path.
        path: String,
    },
    /// Nobody wants it any more.
    #[error("stopped")]
    Stopped,
    /// The file system refused.
    #[error("`{path}` {what}: {source}")]
    Io {
        /// The path.
        path: String,
        /// What could not be done.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl ContainedError {
    /// Whether the call itself is wrong: the same call would never work, whatever becomes of the files.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Path { .. }
                | Self::Outside { .. }
                | Self::Protected { .. }
                | Self::ReadOnly { .. }
                | Self::Pattern { .. }
        )
    }

    /// A word for programs.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Path { .. } => "path",
            Self::Outside { .. } => "outside",
            Self::Protected { .. } => "protected",
            Self::ReadOnly { .. } => "read_only",
            Self::Missing { .. } => "missing",
            Self::Kind { .. } => "kind",
            Self::TooLarge { .. } => "too_large",
            Self::NotText { .. } => "not_text",
            Self::Pattern { .. } => "pattern",
            Self::TooMany { .. } => "too_many",
            Self::Changing { .. } => "changing",
            Self::Stopped => "stopped",
            Self::Io { .. } => "io",
        }
    }

    /// What it means if a file that is open can't be read.
    pub(super) fn unread(path: &str) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Io { path: path.to_owned(), what: "can't be read", source }
    }

    /// What an error of the file system means for whoever named this path.
    pub(super) fn of<'a>(path: &'a str, what: &'static str) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| {
            let path = path.to_owned();
            match source.kind() {
                // The error of paths that would lead out comes from no system call.
                io::ErrorKind::PermissionDenied if source.raw_os_error().is_none() => {
                    Self::Outside { path }
                }
                // Nothing is below a file.
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing { path },
                io::ErrorKind::InvalidFilename => {
                    Self::Path { path, why: "a name in it is longer than the file system takes" }
                }
                _ if Errno::from_io_error(&source) == Some(Errno::LOOP) => Self::Kind {
                    path,
                    is: "a symbolic link that leads in a circle",
                    wanted: "something that it leads to",
                },
                _ => Self::Io { path, what, source },
            }
        }
    }
}
