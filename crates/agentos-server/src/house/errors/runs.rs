//! Runs: why something was not done to one.

super::refusals! {
    /// Why a run was not cancelled. One that has ended already is no error.
    CancelError {
        /// The run was deleted meanwhile.
        UnknownRun,
        /// It goes on in another database.
        RunIsElsewhere,
        /// Where it was started, nothing can be used any more.
        ProjectUnusable,
        /// Too much waits for the run.
        Busy,
        /// There is no room to write it down.
        DiskFull,
    }

    /// Why a run does not go on.
    ResumeError {
        /// The run was deleted meanwhile.
        UnknownRun,
        /// It goes on in another database.
        RunIsElsewhere,
        /// What has ended stays so.
        RunHasEnded,
        /// Somebody who lives drives it, or can't be ended.
        RunIsDriven,
        /// It was to go on with the workflow as it is now, which does other things than the run has done.
        LatestDoesNotFit,
        /// It was to go on with the workflow as it is now, whose file is gone or broken.
        WorkflowNotStartable,
        /// The workflow as it is now does not take the run's input.
        WrongInput,
        /// The workflow as it is now has a default that names a file which is not in the project.
        OutsideProject,
        /// The agents of the workflow as it is now are not known.
        WrongAgents,
        /// Somebody else works in its workspace.
        WorkspaceInUse,
        /// Its workspace is not what it should be, and can't be made again.
        WorkspaceUnusable,
        /// The project's configuration can't be read, or its checkout can't be used as it is.
        ProjectUnusable,
        /// There is no room to go on.
        DiskFull,
    }

    /// Why there is no new run that mends an old one.
    RetryError {
        /// The run was deleted meanwhile.
        UnknownRun,
        /// It has not failed, or what failed can't be done again.
        NotRetryable,
        /// It was to be retried with the workflow as it is now, which does other things than the run has done.
        LatestDoesNotFit,
        /// It was to be retried with the workflow as it is now, whose file is gone or broken.
        WorkflowNotStartable,
        /// The workflow as it is now does not take the run's input.
        WrongInput,
        /// The workflow as it is now has a default that names a file which is not in the project.
        OutsideProject,
        /// The agents of the workflow as it is now are not known.
        WrongAgents,
        /// Somebody else works in its workspace.
        WorkspaceInUse,
        /// Its workspace is not what it should be, and can't be made again.
        WorkspaceUnusable,
        /// The project's configuration can't be read, or its checkout can't be used as it is.
        ProjectUnusable,
        /// There is no room for the new run.
        DiskFull,
    }

    /// Why there is no new run that goes on from before some step.
    ForkError {
        /// The run was deleted meanwhile.
        UnknownRun,
        /// The run has no such step, or several of this name.
        WrongStep,
        /// The input is not what the workflow takes.
        WrongInput,
        /// The input or an agent names a file that is not in the project.
        OutsideProject,
        /// The agents are not known, or have nothing to play.
        WrongAgents,
        /// A fork can't have such a workspace.
        WrongWorkspace,
        /// What was done before the step can't be done alike.
        NotForkable,
        /// It was to be forked with the workflow as it is now, which does other things than the run has done.
        LatestDoesNotFit,
        /// It was to be forked with the workflow as it is now, whose file is gone or broken.
        WorkflowNotStartable,
        /// Nobody knows how the files were at that step.
        FilesNotKept,
        /// The new workspace can't be made.
        WorkspaceUnusable,
        /// The project's configuration can't be read, or its checkout can't be used as it is.
        ProjectUnusable,
        /// There is no room for the new run.
        DiskFull,
    }

    /// Why an event was not sent to a run.
    SignalError {
        /// The run was deleted meanwhile.
        UnknownRun,
        /// It goes on in another database.
        RunIsElsewhere,
        /// What has ended hears nothing.
        RunHasEnded,
        /// It can't have this name, or carries too much.
        WrongEvent,
        /// Something else was sent under the same key.
        KeyUsedOtherwise,
        /// Where the run was started, nothing can be used any more.
        ProjectUnusable,
        /// Too much waits for the run.
        Busy,
        /// There is no room to write it down.
        DiskFull,
    }

    /// Why a question of a run was not answered.
    ApproveError {
        /// The run was deleted meanwhile.
        UnknownRun,
        /// It goes on in another database.
        RunIsElsewhere,
        /// What has ended asks nothing.
        RunHasEnded,
        /// It asks nothing.
        NothingToAnswer,
        /// It asks, but not this.
        WrongQuestion,
        /// Somebody has answered it, and said something else.
        AlreadyAnswered,
        /// It asks several questions, and none is named.
        QuestionNeeded,
        /// Where the run was started, nothing can be used any more.
        ProjectUnusable,
        /// Too much waits for the run.
        Busy,
        /// There is no room to write it down.
        DiskFull,
    }

    /// Why a remark was not kept.
    CommentError {
        /// The run was deleted meanwhile.
        UnknownRun,
        /// The run has no such step.
        WrongStep,
        /// It is empty, or too long.
        WrongMessage,
        /// Where the run was started, nothing can be used any more.
        ProjectUnusable,
        /// There is no room to write it down.
        DiskFull,
    }

    /// Why nobody can say what is under way in a run.
    OperationsError {
        /// The run was deleted meanwhile.
        UnknownRun,
        /// Where the run was started, nothing can be used any more.
        ProjectUnusable,
    }
}
