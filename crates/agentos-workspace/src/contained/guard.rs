//! What in a workspace belongs to others than its workflow: it is not changed, and no search goes into it.
//!
//! Some of it is known by its name, wherever it is, and some by the folder that it is: a run may work in the project
//! itself, and then its inputs and the folders of all runs are below, under whatever name leads there.

use std::path::{Path, PathBuf};

/// Folders that belong to others.
const PROTECTED: [&str; 3] = [".git", ".jj", ".agentos"];

/// Where a project keeps its runs.
const EXECUTIONS: [&str; 3] = [".agent", "workflows", "executions"];

/// What belongs to others.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// Real paths, from the folder that is guarded.
    places: Vec<PathBuf>,
}

impl Guard {
    pub(super) fn add(&mut self, place: &Path) {
        self.places.push(place.to_owned());
    }

    /// Whether a real path is one of these places itself.
    pub(super) fn is_place(&self, real: &Path) -> bool {
        let named = |part: &std::ffi::OsStr| {
            PROTECTED.iter().any(|protected| part.eq_ignore_ascii_case(protected))
        };
        real.file_name().is_some_and(named) || self.is_runs(real)
    }

    fn is_runs(&self, real: &Path) -> bool {
        let mut above = real.iter().rev();
        let by_name = EXECUTIONS
            .iter()
            .rev()
            .all(|name| above.next().is_some_and(|part| part.eq_ignore_ascii_case(name)));
        by_name || self.places.iter().any(|place| place == real)
    }

    /// The place that a real path is in, as people are told.
    pub(super) fn around(&self, real: &Path) -> Option<String> {
        let place = real.ancestors().find(|place| self.is_place(place))?;
        let shown = if self.is_runs(place) { place } else { Path::new(place.file_name()?) };
        Some(shown.to_string_lossy().into_owned())
    }
}
