//! Where an artifact is kept: the same place for every try of its operation, and for no other operation.

use std::path::{Path, PathBuf};

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::StepNumber;
use agentos_core::path::OperationId;
use agentos_store::folder::RunFolder;
use agentos_store::ids::step_id;
use agentos_workspace::contained::ContainedError;

use crate::files::mark;
use crate::performer::Order;

/// Where an artifact is kept.
#[derive(Debug)]
pub(super) struct Place {
    run: RunFolder,
    /// The artifact's name.
    pub(super) name: String,
    /// Relative to the project.
    pub(super) relative: PathBuf,
    /// The same, absolute.
    pub(super) path: PathBuf,
}

impl Place {
    pub(super) fn of(order: &Order) -> Result<Self, Failure> {
        let refused = |message: String| Failure::new(FailureKind::NonRetryable, message);
        if order.home.project_path.is_empty() {
            let message = "the run belongs to no project in which an artifact could be kept";
            return Err(refused(message.to_owned()));
        }
        let project = Path::new(&order.home.project_path);
        let run = RunFolder::new(project, order.run);
        let name = order.operation.name();
        let name = name.map(|name| name.to_string()).unwrap_or_default();
        let step = step_around(order.step.as_ref(), &order.operation);
        let step = step.map(|path| step_id(order.run, path));
        let mut relative =
            run.artifact_file(step, &name).map_err(|error| refused(error.to_string()))?;
        if !is_first(order) {
            relative = beside(&relative, mark(order.run, &order.operation));
        }
        let path = project.join(&relative);
        Ok(Self { run, name, relative, path })
    }

    /// Makes the folder that it is kept in.
    pub(super) fn prepare(&self) -> Result<(), ContainedError> {
        let failed = |source| ContainedError::Io {
            path: self.relative.display().to_string(),
            what: "can't be kept",
            source,
        };
        self.run.create().map_err(|error| failed(std::io::Error::other(error)))?;
        std::fs::create_dir_all(self.folder()).map_err(failed)
    }

    /// Sees that the names that lead to it are on the disk, up to the folder of all runs.
    pub(super) fn sync(&self) -> std::io::Result<()> {
        let run = self.run.path();
        let around = run.parent().unwrap_or(&run);
        let folders = self.folder().ancestors().take_while(|folder| folder.starts_with(around));
        folders.into_iter().try_for_each(super::safety::sync_folder)
    }

    /// The folder that it is in.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }
}

/// The path of the step around an operation; none if it is outside of all steps, and so forms one by itself.
pub(crate) fn step_around<'a>(
    step: Option<&'a (StepNumber, String)>,
    operation: &OperationId,
) -> Option<&'a str> {
    step.map(|(_, path)| path.as_str()).filter(|path| *path != operation.as_str())
}

/// Whether no other operation of the step, or outside of all steps, can have kept something under the same name.
fn is_first(order: &Order) -> bool {
    let scope = order.operation.scope();
    let is_direct = match step_around(order.step.as_ref(), &order.operation) {
        Some(step) => scope.as_str() == format!("{step}@1"),
        None => scope.is_root(),
    };
    is_direct && order.operation.as_str().ends_with("#1")
}

/// The same name in the folder beside.
fn beside(relative: &Path, mark: u64) -> PathBuf {
    let (folder, name) = (relative.parent(), relative.file_name());
    let (folder, name) = (folder.unwrap_or(relative), name.unwrap_or_default());
    let other = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!("{other}-{mark:016x}")).join(name)
}
