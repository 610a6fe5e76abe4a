//! Why something was not done, for programs.
//!
//! What a command refuses is told to people in words, and to scripts by an exit status. The server tells its clients more:
//! which cause it was. So that nobody has to read that out of words, whoever refuses something names the cause with it.

/// Why something was not done. Only what somebody tells apart has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// There is no such run.
    NoSuchRun,
    /// The run has ended, and what has ended stays so.
    RunHasEnded,
    /// Somebody who lives has the run.
    RunIsDriven,
    /// The run goes on in another database.
    RunIsElsewhere,
    /// The workflow as it is now does other things than the run has done.
    LatestDoesNotFit,
    /// There is nothing to be mended in the run.
    NotRetryable,
    /// What was done before a step can't be done alike.
    NotForkable,
    /// Nobody knows how the files were.
    FilesNotKept,
    /// The run has no such step.
    NoSuchStep,
    /// Several steps of the run have this name.
    SeveralSteps,
    /// The run asks nothing.
    NothingToAnswer,
    /// The run asks something else.
    OtherQuestion,
    /// The run asks several questions, and none is named.
    SeveralQuestions,
    /// The question has another answer already.
    AlreadyAnswered,
    /// The event can't be sent like this.
    Event,
    /// The run was told something else under this key.
    KeyUsedOtherwise,
    /// Too much waits for the run.
    Busy,
    /// The workflow is gone, or broken.
    Unstartable,
    /// The input is not what the workflow takes.
    Input,
    /// A file is named that is not in the project.
    OutsideProject,
    /// Agents are named that can't be had.
    Agents,
    /// A workspace is wanted that there can't be.
    Place,
    /// Several things that were asked for are wrong, each in its own way.
    Fields,
    /// There is no such workspace.
    NoSuchWorkspace,
    /// Several projects have a workspace of this id.
    SeveralWorkspaces,
    /// Somebody works in the workspace.
    WorkspaceInUse,
    /// The workspace is not what it should be.
    WorkspaceUnusable,
    /// The workspace is still there.
    WorkspaceThere,
    /// What is in the workspace is nowhere else.
    WorkWouldBeLost,
    /// There is no such backup.
    NoBackup,
    /// There can be no backup, or it can't be used.
    BackupUnusable,
    /// Something else still needs it.
    StillNeeded,
    /// The configuration can't be read, or the checkout can't be used.
    Project,
    /// The database can't be used as it is now.
    Database,
    /// There is no room left.
    DiskFull,
    /// A signal has ended git or jj again and again, or a program that they need.
    ToolKilled {
        /// Whether it was such a program.
        is_helper: bool,
    },
}
