//! What the command line refuses, as the errors of the server's operations.
//!
//! Each table says which causes an operation tells apart. The words are those that were said, with the hint for whoever
//! asks over HTTP. A refusal without a cause of its own lies in how the project is: whoever asks can't have asked better.

use agentos_server::house::Words;
use agentos_server::house::errors::{
    AddProjectError, ApproveError, CancelError, CleanError, CommentError, DiffError, ExecuteError,
    ForkError, ListProjectsError, ListWorkspacesError, OpenArtifactError, OpenLogError,
    OperationsError, RemoveProjectError, RemoveWorkflowError, RestoreError, ResumeError,
    RetryError, ShowWorkspaceError, SignalError,
};

use crate::error::{Cause, CommandError, ErrorKind};

/// What is said about an error, to whoever asks over HTTP.
pub(super) fn words(error: CommandError) -> Words {
    Words { message: error.message, hint: error.api_hint, fields: error.fields }
}

const fn is_refusal(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Usage | ErrorKind::NotFound | ErrorKind::Refused)
}

macro_rules! told_apart {
    ($($error:ident, else $otherwise:ident { $($cause:ident => $variant:ident,)* })+) => {
        $(impl From<CommandError> for $error {
            fn from(error: CommandError) -> Self {
                let variant: fn(Words) -> Self = match error.cause {
                    $(Some(Cause::$cause) => Self::$variant,)*
                    Some(Cause::Database) => Self::DatabaseUnusable,
                    _ if error.kind == ErrorKind::Unusable => Self::DatabaseUnusable,
                    _ if is_refusal(error.kind) => Self::$otherwise,
                    _ => Self::Failed,
                };
                variant(words(error))
            }
        })+
    };
}

told_apart! {
    ListProjectsError, else Failed {}
    AddProjectError, else WrongPath {
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    RemoveProjectError, else Failed {
        StillNeeded => ProjectInUse,
        DiskFull => DiskFull,
    }
    RemoveWorkflowError, else ProjectUnusable {
        StillNeeded => WorkflowHasRuns,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    ExecuteError, else ProjectUnusable {
        Unstartable => WorkflowNotStartable,
        Input => WrongInput,
        OutsideProject => OutsideProject,
        Agents => WrongAgents,
        Place => WrongWorkspace,
        Fields => WrongFields,
        WorkspaceInUse => WorkspaceInUse,
        WorkspaceUnusable => WorkspaceUnusable,
        BackupUnusable => WorkspaceUnusable,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    CancelError, else ProjectUnusable {
        NoSuchRun => UnknownRun,
        RunIsElsewhere => RunIsElsewhere,
        Busy => Busy,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    ResumeError, else ProjectUnusable {
        NoSuchRun => UnknownRun,
        RunIsElsewhere => RunIsElsewhere,
        RunHasEnded => RunHasEnded,
        RunIsDriven => RunIsDriven,
        LatestDoesNotFit => LatestDoesNotFit,
        Unstartable => WorkflowNotStartable,
        Input => WrongInput,
        OutsideProject => OutsideProject,
        Agents => WrongAgents,
        WorkspaceInUse => WorkspaceInUse,
        WorkspaceUnusable => WorkspaceUnusable,
        Place => WorkspaceUnusable,
        BackupUnusable => WorkspaceUnusable,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    RetryError, else ProjectUnusable {
        NoSuchRun => UnknownRun,
        NotRetryable => NotRetryable,
        LatestDoesNotFit => LatestDoesNotFit,
        Unstartable => WorkflowNotStartable,
        Input => WrongInput,
        OutsideProject => OutsideProject,
        Agents => WrongAgents,
        WorkspaceInUse => WorkspaceInUse,
        WorkspaceUnusable => WorkspaceUnusable,
        Place => WorkspaceUnusable,
        BackupUnusable => WorkspaceUnusable,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    ForkError, else ProjectUnusable {
        NoSuchRun => UnknownRun,
        NoSuchStep => WrongStep,
        SeveralSteps => WrongStep,
        Input => WrongInput,
        OutsideProject => OutsideProject,
        Agents => WrongAgents,
        Place => WrongWorkspace,
        NotForkable => NotForkable,
        LatestDoesNotFit => LatestDoesNotFit,
        Unstartable => WorkflowNotStartable,
        FilesNotKept => FilesNotKept,
        WorkspaceUnusable => WorkspaceUnusable,
        WorkspaceInUse => WorkspaceUnusable,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    SignalError, else ProjectUnusable {
        NoSuchRun => UnknownRun,
        RunIsElsewhere => RunIsElsewhere,
        RunHasEnded => RunHasEnded,
        Event => WrongEvent,
        KeyUsedOtherwise => KeyUsedOtherwise,
        Busy => Busy,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    ApproveError, else ProjectUnusable {
        NoSuchRun => UnknownRun,
        RunIsElsewhere => RunIsElsewhere,
        RunHasEnded => RunHasEnded,
        NothingToAnswer => NothingToAnswer,
        OtherQuestion => WrongQuestion,
        SeveralQuestions => QuestionNeeded,
        AlreadyAnswered => AlreadyAnswered,
        Busy => Busy,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    CommentError, else ProjectUnusable {
        NoSuchRun => UnknownRun,
        NoSuchStep => WrongStep,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    OperationsError, else ProjectUnusable {
        NoSuchRun => UnknownRun,
        Project => ProjectUnusable,
    }
    DiffError, else ProjectUnusable {
        NoSuchRun => UnknownRun,
        NoSuchStep => UnknownStep,
        SeveralSteps => AmbiguousStep,
        FilesNotKept => FilesNotKept,
        WorkspaceUnusable => FilesNotKept,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    OpenArtifactError, else NotAsKept {
        NoSuchRun => UnknownRun,
    }
    OpenLogError, else NotAsKept {
        NoSuchRun => UnknownRun,
        NoSuchStep => UnknownStep,
    }
    ListWorkspacesError, else ProjectUnusable {
        Project => ProjectUnusable,
    }
    ShowWorkspaceError, else ProjectUnusable {
        NoSuchWorkspace => UnknownWorkspace,
        SeveralWorkspaces => AmbiguousWorkspace,
        WorkspaceUnusable => WorkspaceUnusable,
        Project => ProjectUnusable,
    }
    CleanError, else ProjectUnusable {
        NoSuchWorkspace => UnknownWorkspace,
        SeveralWorkspaces => AmbiguousWorkspace,
        WorkspaceInUse => WorkspaceInUse,
        WorkWouldBeLost => WorkWouldBeLost,
        WorkspaceUnusable => WorkspaceUnusable,
        BackupUnusable => BackupUnusable,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
    RestoreError, else ProjectUnusable {
        NoSuchWorkspace => UnknownWorkspace,
        SeveralWorkspaces => AmbiguousWorkspace,
        NoBackup => NoBackup,
        WorkspaceThere => WorkspaceThere,
        WorkspaceUnusable => BackupUnusable,
        WorkspaceInUse => BackupUnusable,
        BackupUnusable => BackupUnusable,
        Project => ProjectUnusable,
        DiskFull => DiskFull,
    }
}

#[cfg(test)]
mod tests {
    use agentos_core::id::RunId;
    use agentos_store::inbox::SendError;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_run_for_which_too_much_waits_is_busy_and_can_be_told_later() {
        let full = || CommandError::from(SendError::InboxFull { run: RunId(Uuid::nil()) });
        assert!(full().api_hint.is_some_and(|hint| hint.contains("try again")));
        assert!(matches!(SignalError::from(full()), SignalError::Busy(_)));
        assert!(matches!(ApproveError::from(full()), ApproveError::Busy(_)));
        assert!(matches!(CancelError::from(full()), CancelError::Busy(_)));
    }
}
