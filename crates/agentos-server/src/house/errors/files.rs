//! Files of runs: why they can't be shown.

super::refusals! {
    /// Why nobody can say what a run, or one of its steps, has done to the files.
    DiffError {
        /// The run was deleted meanwhile.
        UnknownRun,
        /// The run has no such step.
        UnknownStep,
        /// Several steps of the run have this name.
        AmbiguousStep,
        /// The run works in the checkout itself, the files are gone, or somebody else worked on them at the same time.
        FilesNotKept,
        /// The project's configuration can't be read, or its checkout can't be used as it is.
        ProjectUnusable,
        /// There is no room to compare them.
        DiskFull,
    }

    /// Why a file that a run has kept can't be opened.
    OpenArtifactError {
        /// The run was deleted meanwhile.
        UnknownRun,
        /// It is not where it was kept.
        FileGone,
        /// Something else is in its place: a link, or a file outside of the run's folder.
        NotAsKept,
    }

    /// Why a log of a run can't be opened.
    OpenLogError {
        /// The run was deleted meanwhile.
        UnknownRun,
        /// The run has no such step.
        UnknownStep,
        /// Something else is in its place: a link that leads out of the project.
        NotAsKept,
    }
}
