//! Files of runs, opened in a way that can't lead out of the project.

use std::fs::File;
use std::path::{Component, Path};

use agentos_server::house::errors::{OpenArtifactError, OpenLogError};
use agentos_server::house::{Kept, Words};
use agentos_store::folder::executions;
use agentos_store::records::{ArtifactRecord, Records as _, RunDetail};
use agentos_store::unified::Found;
use agentos_workspace::contained::{Contained, ContainedError};
use uuid::Uuid;

use super::refused::words;
use super::room::naming_it;
use crate::commands::artifacts::project_of;
use crate::commands::logs;
use crate::error::{CommandError, Result};

async fn detail_of(found: &Found) -> Result<RunDetail> {
    let detail = found.source.store.run_detail(found.run.id).await;
    detail.map_err(|error| naming_it(found.source.path())(error.into()))
}

/// A file that a run has kept.
pub(super) async fn artifact(
    found: &Found,
    artifact: ArtifactRecord,
) -> Result<Kept, OpenArtifactError> {
    let detail = detail_of(found).await?;
    let project = project_of(&detail).map_err(|error| OpenArtifactError::FileGone(words(error)))?;
    let path = Path::new(&artifact.storage_path);
    // A link in its place was put there by somebody else, wherever it leads.
    let is_link =
        std::fs::symlink_metadata(project.join(path)).is_ok_and(|found| found.is_symlink());
    let leaves = path.components().any(|part| part == Component::ParentDir);
    if is_link || leaves || !project.join(path).starts_with(executions(project)) {
        let what = format!("{} is no file that the run has kept", artifact.storage_path);
        return Err(OpenArtifactError::NotAsKept(Words::new(what)));
    }
    let Some(file) = contained(project, &artifact.storage_path)? else {
        let what =
            format!("the file is gone: there is no {} in the project", artifact.storage_path);
        return Err(OpenArtifactError::FileGone(Words::new(what)));
    };
    Ok(Kept { file, artifact })
}

/// The log of a run, or of one of its steps. None if nothing was logged yet.
pub(super) async fn log(found: &Found, step: Option<Uuid>) -> Result<Option<File>, OpenLogError> {
    let detail = detail_of(found).await?;
    let Some((project, file)) = logs::file_of(&detail, step)? else { return Ok(None) };
    Ok(contained(&project, &file.to_string_lossy())?)
}

/// Opens a file of the project without leaving it, by whatever link. None if there is none.
fn contained(project: &Path, path: &str) -> Result<Option<File>> {
    let failed = |error: ContainedError| CommandError::refused(error.to_string());
    let files = Contained::open(project, None).map_err(failed)?;
    match files.open_source(path) {
        Ok(source) => Ok(Some(source.file)),
        Err(ContainedError::Missing { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}
