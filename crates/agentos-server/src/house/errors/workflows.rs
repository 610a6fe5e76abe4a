//! Workflows: why no run was started, and why one can't be removed.

super::refusals! {
    /// Why a workflow was not removed.
    RemoveWorkflowError {
        /// There is no such workflow.
        UnknownWorkflow,
        /// It can still be started: its file is there.
        WorkflowHasFile,
        /// It can still be started: the program brings it along.
        WorkflowBuiltIn,
        /// Runs were made from it.
        WorkflowHasRuns,
        /// The configuration of its project can't be read, so nobody knows whether it can still be started.
        ProjectUnusable,
        /// There is no room to write down that it is gone.
        DiskFull,
    }

    /// Why no run was started.
    ExecuteError {
        /// No project that is served has such a workflow.
        UnknownWorkflow,
        /// The project that is named is not served.
        WrongProject,
        /// Several projects have a workflow of this name, and none is named.
        ProjectNeeded,
        /// It is known, but its file is gone or broken.
        WorkflowNotStartable,
        /// The input is not what the workflow takes.
        WrongInput,
        /// The input or an agent names a file that is not in the project.
        OutsideProject,
        /// There can be no workspace like that.
        WrongWorkspace,
        /// The agents are not known, not installed, or have nothing to play.
        WrongAgents,
        /// Several of these at once.
        WrongFields,
        /// Another request was made under the same key.
        KeyUsedOtherwise,
        /// Somebody works in the workspace that is named.
        WorkspaceInUse,
        /// The workspace that is named is not what it should be, or there is something in its place.
        WorkspaceUnusable,
        /// The project's configuration can't be read, or its checkout can't be used as it is.
        ProjectUnusable,
        /// There is no room for the run.
        DiskFull,
    }
}
