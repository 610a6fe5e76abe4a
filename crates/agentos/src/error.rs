//! The one error of the command line: what was wrong, what to do next, and the exit status.
//!
//! Everything below has error types of its own; here they become words for a person and a number for a script.

mod cause;

use std::fmt;
use std::process::ExitCode;

use agentos_engine::background::AttendError;
use agentos_engine::fork::ForkError;
use agentos_engine::takeover::TakeOverError;
use agentos_process::tool::{KilledBySignal, killed_by};
use agentos_server::problem;
use agentos_store::backend::{BackendError, BackendErrorKind};
use agentos_store::inbox::SendError;
use agentos_store::list::ListError;
use agentos_store::log::ReadError;
use agentos_store::records::RecordError;
use agentos_store::run::CreateError;
use agentos_store::sqlite::OpenError;
use agentos_workspace::checkout::CheckoutError;
use agentos_workspace::state::{LocateError, PrepareError};
use agentos_workspace::workspace::room;

use crate::config::ConfigError;
pub(crate) use cause::Cause;

/// What kind of failure it is: the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// It was tried, and did not work.
    Failed,
    /// The database can't be used as it is now.
    Unusable,
    /// It was asked for wrongly.
    Usage,
    /// There is no such thing.
    NotFound,
    /// Doing it could cost work.
    Refused,
    /// Somebody ended the command; the run can be resumed.
    Interrupted,
    /// Nobody reads any more: no failure, and nothing to be said.
    PipeClosed,
}

impl ErrorKind {
    const fn status(self) -> u8 {
        match self {
            Self::PipeClosed => 0,
            Self::Failed | Self::Unusable => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Refused => 4,
            Self::Interrupted => 130,
        }
    }
}

/// Why a command did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandError {
    pub(crate) kind: ErrorKind,
    /// Why, if somebody has to tell that apart.
    pub(crate) cause: Option<Cause>,
    pub(crate) message: String,
    /// What to do next, for somebody at a terminal.
    pub(crate) hint: Option<String>,
    /// What to do next, for a program that asks the server.
    pub(crate) api_hint: Option<String>,
    /// Which parts of what was asked for are wrong, and how: JSON pointers into the body of the server's request of the same
    /// name.
    pub(crate) fields: Vec<(String, String)>,
}

/// What is said when git can't use a checkout, whoever asked it: its `.git` is gone, or damaged.
const UNUSABLE_CHECKOUT: [&str; 3] = [
    "git can't use the repository that ",
    "`git` can't be started in ",
    "fatal: not a git repository",
];

pub(crate) type Result<T, E = CommandError> = std::result::Result<T, E>;

impl CommandError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let (message, fields) = (message.into(), Vec::new());
        Self { kind, cause: None, message, hint: None, api_hint: None, fields }
    }

    /// It did not work. If that is because the disk is full, making room helps, whoever could not write and whatever it was;
    /// if git can't use the checkout, nobody can, whatever they wanted to do in it.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        let failed = Self::new(ErrorKind::Failed, message);
        // SQLite's words; what the others say is known elsewhere.
        let is_full = failed.message.contains("database or disk is full");
        if is_full || room::is_full_disk(&failed.message) {
            return failed.because(Cause::DiskFull).hint("make room on that disk, then try again");
        }
        match UNUSABLE_CHECKOUT.iter().any(|words| failed.message.contains(words)) {
            true => failed
                .because(Cause::Project)
                .api_hint("somebody has to look at the checkout on the server's machine"),
            false => failed,
        }
    }

    /// It did not work because of this error. If that is because a signal has ended git or jj, trying again helps.
    pub(crate) fn caused(error: &(dyn std::error::Error + 'static)) -> Self {
        let failed = Self::failed(error.to_string());
        match killed_by(error) {
            Some(killed) => failed
                .because(Cause::ToolKilled { is_helper: killed.is_helper })
                .hint(hint_after_kill(killed)),
            None => failed,
        }
    }

    /// Whether it is because a signal has ended git or jj, or a program that they need.
    pub(crate) const fn is_of_kill(&self) -> bool {
        matches!(self.cause, Some(Cause::ToolKilled { .. }))
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// The same for a cause that is told apart.
    pub(crate) const fn because(mut self, cause: Cause) -> Self {
        self.cause = Some(cause);
        self
    }

    /// The same with what to do next, by whatever door somebody came.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.api_hint = Some(hint.clone());
        self.hint = Some(hint);
        self
    }

    /// The same with what to do next on the command line.
    pub(crate) fn cli_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with what to do next over HTTP.
    pub(crate) fn api_hint(mut self, hint: impl Into<String>) -> Self {
        self.api_hint = Some(hint.into());
        self
    }

    /// The same about this field of a request.
    pub(crate) fn field(mut self, pointer: impl Into<String>) -> Self {
        self.fields.push((pointer.into(), self.message.clone()));
        self
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.status())
    }
}

const fn hint_after_kill(killed: KilledBySignal) -> &'static str {
    match (killed.is_helper, killed.signal) {
        (true, _) => "try again; if it ends like this each time, look at that hook or filter",
        (false, 9) => {
            "nothing is wrong with the repository; try again when the machine has memory to spare"
        }
        (false, _) => "nothing was lost; try again",
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Errors whose own words say everything, and which say nothing about what was asked for.
macro_rules! failed {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                Self::failed(error.to_string())
            }
        })*
    };
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string()).because(Cause::Project)
    }
}

failed!(AttendError, PrepareError);

impl From<BackendError> for CommandError {
    fn from(error: BackendError) -> Self {
        let unusable = Self::new(ErrorKind::Unusable, error.to_string());
        let unusable = unusable.api_hint(problem::advice(error.kind));
        match error.kind {
            BackendErrorKind::Full => unusable.because(Cause::DiskFull),
            BackendErrorKind::Damaged => unusable
                .because(Cause::Database)
                .cli_hint("`agentos db check` tells what is wrong with it"),
            BackendErrorKind::Transient | BackendErrorKind::Permanent => {
                unusable.because(Cause::Database)
            }
        }
    }
}

impl From<CreateError> for CommandError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Backend(error) => error.into(),
            _ => Self::failed(error.to_string()),
        }
    }
}

impl From<ListError> for CommandError {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Backend(error) => error.into(),
            ListError::Cursor { .. } => Self::failed(error.to_string()),
        }
    }
}

impl From<LocateError> for CommandError {
    fn from(error: LocateError) -> Self {
        Self::from(&error)
    }
}

impl From<&LocateError> for CommandError {
    fn from(error: &LocateError) -> Self {
        let message = error.to_string();
        match error {
            // Whoever stands there has to go somewhere else.
            LocateError::Checkout(found)
                if matches!(
                    **found,
                    CheckoutError::Bare { .. } | CheckoutError::InsideGitDirectory { .. }
                ) =>
            {
                Self::usage(message)
            }
            _ => Self::failed(message).because(Cause::Project),
        }
    }
}

impl From<OpenError> for CommandError {
    fn from(error: OpenError) -> Self {
        let unusable = match error {
            // Somebody's data: not one byte of it is touched.
            OpenError::NotADatabase { .. }
            | OpenError::Foreign { .. }
            | OpenError::Newer { .. }
            | OpenError::Truncated { .. }
            | OpenError::LogOnly { .. } => Self::refused(error.to_string()),
            _ => Self::failed(error.to_string()),
        };
        match unusable.cause {
            Some(_) => unusable,
            None => unusable
                .because(Cause::Database)
                .api_hint("somebody has to look at the file on the server's machine"),
        }
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::new(ErrorKind::PipeClosed, error.to_string()),
            _ => Self::failed(error.to_string()),
        }
    }
}

impl From<ReadError> for CommandError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotFound { .. } => {
                Self::not_found(error.to_string()).because(Cause::NoSuchRun)
            }
            ReadError::Backend(error) => error.into(),
            _ => Self::failed(error.to_string()),
        }
    }
}

impl From<RecordError> for CommandError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::NotFound { .. } => Self::not_found(error.to_string()),
            RecordError::Ambiguous { .. } => Self::usage(error.to_string()),
            RecordError::InUse { .. } => {
                Self::refused(error.to_string()).because(Cause::StillNeeded)
            }
            RecordError::Outdated { .. } => Self::failed(error.to_string()),
            RecordError::Backend(error) => error.into(),
        }
    }
}

impl From<SendError> for CommandError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::NotFound { .. } => {
                Self::not_found(error.to_string()).because(Cause::NoSuchRun)
            }
            SendError::Elsewhere { .. } => {
                Self::refused(error.to_string()).because(Cause::RunIsElsewhere)
            }
            SendError::Backend(error) => error.into(),
            SendError::Message { .. } => Self::usage(error.to_string()).because(Cause::Event),
            SendError::Ended { .. } => Self::usage(error.to_string()).because(Cause::RunHasEnded),
            SendError::InboxFull { .. } => Self::failed(error.to_string())
                .because(Cause::Busy)
                .hint("try again when the run has taken some of them"),
        }
    }
}

impl From<ForkError> for CommandError {
    fn from(error: ForkError) -> Self {
        match error {
            ForkError::Read(error) => error.into(),
            ForkError::Create(error) => error.into(),
            ForkError::Rebase(_) => Self::refused(error.to_string()).because(Cause::NotForkable),
            ForkError::Panicked => Self::failed(error.to_string()),
        }
    }
}

impl From<TakeOverError> for CommandError {
    fn from(error: TakeOverError) -> Self {
        match error {
            TakeOverError::Read(error) => error.into(),
            TakeOverError::Owner(_) => Self::refused(error.to_string()).because(Cause::RunIsDriven),
            TakeOverError::Interrupted => Self::new(ErrorKind::Interrupted, error.to_string()),
        }
    }
}
