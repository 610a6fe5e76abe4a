//! Workspaces: why they can't be shown, removed or brought back.

super::refusals! {
    /// Why the workspaces can't be listed.
    ListWorkspacesError {
        /// The project's configuration can't be read, or its checkout can't be used as it is.
        ProjectUnusable,
    }

    /// Why a workspace can't be shown.
    ShowWorkspaceError {
        /// There is no such workspace.
        UnknownWorkspace,
        /// Several projects have one of this id, and none of them is named.
        AmbiguousWorkspace,
        /// What is in its place is something else.
        WorkspaceUnusable,
        /// The project's configuration can't be read, or its checkout can't be used as it is.
        ProjectUnusable,
    }

    /// Why a workspace was not removed.
    CleanError {
        /// There is no such workspace.
        UnknownWorkspace,
        /// Several projects have one of this id, and none of them is named.
        AmbiguousWorkspace,
        /// It was removed before.
        WorkspaceGone,
        /// It belongs to a run that has not ended.
        WorkspaceInUse,
        /// What is in it is nowhere else.
        WorkWouldBeLost,
        /// What is in its place is something else, or not ours to remove.
        WorkspaceUnusable,
        /// What is in it can't be backed up.
        BackupUnusable,
        /// The project's configuration can't be read, or its checkout can't be used as it is.
        ProjectUnusable,
        /// There is no room for the backup.
        DiskFull,
    }

    /// Why a workspace was not brought back.
    RestoreError {
        /// There is no such workspace.
        UnknownWorkspace,
        /// Several projects have one of this id, and none of them is named.
        AmbiguousWorkspace,
        /// There are backups of it, but not this one.
        WrongBackup,
        /// There is no backup of it.
        NoBackup,
        /// It is still there.
        WorkspaceThere,
        /// The backup is damaged, or its place or its branch is taken.
        BackupUnusable,
        /// The project's configuration can't be read, or its checkout can't be used as it is.
        ProjectUnusable,
        /// There is no room for it.
        DiskFull,
    }
}
