//! Projects: why they can't be listed, served or let go.

super::refusals! {
    /// Why the projects can't be listed.
    ListProjectsError {}

    /// Why a project is not served.
    AddProjectError {
        /// There is no checkout at the path.
        WrongPath,
        /// Its configuration can't be read, or its checkout can't be used as it is.
        ProjectUnusable,
        /// There is no room for its database.
        DiskFull,
    }

    /// Why a project is still served.
    RemoveProjectError {
        /// There is no such project.
        UnknownProject,
        /// It was to be purged, and some of its runs are active, or others were made from them.
        ProjectInUse,
        /// There is no room to write down that its runs are gone.
        DiskFull,
    }
}
