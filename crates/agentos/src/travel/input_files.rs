//! The files that an input names, where a run is made out of another one or gets another source: some the old run has copies of
//! already, others are found where the caller is, as for a new run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_core::value::Value;
use agentos_store::folder::{Creating, RunFolder};
use agentos_store::records::RunRecord;

use crate::error::{CommandError, Result};
use crate::inputs::{FileInput, files, files_within, named_files};
use crate::session::Session;

/// The files that an input names.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputFiles {
    /// Those that the run has no copies of. They can be read.
    pub(crate) new: Vec<FileInput>,
    /// Copies that the run has.
    pub(crate) copies: Vec<FileInput>,
}

/// Finds the files that an input names. A caller who is elsewhere is given nothing but files of the project.
pub(crate) fn find(
    session: &Session,
    old: &RunRecord,
    (schema, input): (Option<&Value>, &Value),
    from_afar: bool,
) -> Result<Vec<FileInput>> {
    if from_afar {
        return files_within(&project_of(old), schema, input);
    }
    files(schema, input, &session.surroundings.cwd.clone().unwrap_or_default())
}

/// The same for the input of a run that has copies in this folder.
pub(crate) fn find_new(
    session: &Session,
    old: &RunRecord,
    (schema, input): (Option<&Value>, &Value),
    (context, from_afar): (&Path, bool),
) -> Result<InputFiles> {
    let is_copy = |path: &Path| !context.as_os_str().is_empty() && path.starts_with(context);
    let mut copies = named_files(schema, input, Path::new(""));
    copies.retain(|file| is_copy(&file.path));
    let mut rest = input.clone();
    if let Value::Object(fields) = &mut rest {
        fields.retain(|property, _| copies.iter().all(|copy| copy.property != *property));
    }
    let new = find(session, old, (schema, &rest), from_afar)?;
    Ok(InputFiles { new, copies })
}

/// The folder for files that a run gets when it has begun already. Where it reads the files of the run that it was made out of, or
/// that invoked it, its own have a place apart.
pub(crate) fn folder_for_more(run: &RunRecord, context: &Path) -> PathBuf {
    let own = RunFolder::new(&project_of(run), run.id).path().join("context");
    if context.as_os_str().is_empty() || context == own {
        return own;
    }
    context.join(run.id.to_string())
}

/// The checkout that a run was started from.
pub(crate) fn project_of(run: &RunRecord) -> PathBuf {
    PathBuf::from(run.work_dir.clone().unwrap_or_default())
}

/// The folder of a run that is about to be made, with copies of its input files.
#[derive(Debug, Clone)]
pub(crate) struct NewFolder {
    /// Where the copies are.
    pub(crate) context: PathBuf,
    /// Kept until the run is there.
    pub(crate) creating: Arc<Creating>,
}

impl NewFolder {
    /// Copies files there, and lets the input name the copies.
    pub(crate) fn create<'a>(
        old: &RunRecord,
        run: RunId,
        (found, input): (impl Iterator<Item = &'a FileInput>, &mut Value),
    ) -> Result<Self> {
        let folder = RunFolder::new(&project_of(old), run);
        let creating = folder.begin().map_err(|error| CommandError::failed(error.to_string()))?;
        let context = folder.path().join("context");
        for file in found {
            file.copy_into(&context, input)?;
        }
        Ok(Self { context, creating: Arc::new(creating) })
    }
}
