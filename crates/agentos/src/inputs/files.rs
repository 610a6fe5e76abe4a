//! Inputs that are files: named where the command was called, copied to where the run can read them.

use std::fs;
use std::path::{Path, PathBuf};

use agentos_core::value::Value;

use crate::error::{Cause, CommandError, Result};

/// The largest file that is taken as an input, in bytes.
const LARGEST: u64 = 256 << 20;

/// A file that was given as an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileInput {
    /// The property.
    pub(crate) property: String,
    /// The file, absolute.
    pub(crate) path: PathBuf,
}

/// The files among an input: properties of the format `file`, found from `folder`. They can be read.
pub(crate) fn files(
    schema: Option<&Value>,
    input: &Value,
    folder: &Path,
) -> Result<Vec<FileInput>> {
    let found = named_files(schema, input, folder);
    found.iter().try_for_each(|file| check(&file.property, &file.path))?;
    Ok(found)
}

/// The same, whether or not they are there.
pub(crate) fn named_files(schema: Option<&Value>, input: &Value, folder: &Path) -> Vec<FileInput> {
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let named = properties
        .into_iter()
        .flatten()
        .filter(|(_, property)| property.get("format").and_then(Value::as_str) == Some("file"));
    let found = named.filter_map(|(property, _)| {
        let path = folder.join(input.get(property)?.as_str()?);
        Some(FileInput { property: property.clone(), path })
    });
    found.collect()
}

/// The same for whoever asks from afar, and is given nothing but files of the project.
pub(crate) fn files_within(
    project: &Path,
    schema: Option<&Value>,
    input: &Value,
) -> Result<Vec<FileInput>> {
    let found = files(schema, input, project)?;
    match found.iter().find(|file| !is_inside(project, &file.path)) {
        None => Ok(found),
        Some(file) => Err(CommandError::usage(format!(
            "`{}`: {} is not in the project",
            file.property,
            file.path.display()
        ))
        .because(Cause::OutsideProject)
        .hint("copy it into the project, and name it there")
        .field(pointer(&file.property))),
    }
}

/// Whether a file is in a folder, wherever links lead.
pub(crate) fn is_inside(folder: &Path, file: &Path) -> bool {
    let folder = folder.canonicalize();
    folder.is_ok_and(|folder| file.canonicalize().is_ok_and(|file| file.starts_with(folder)))
}

/// Where a property is in the body of a request, as a JSON pointer.
fn pointer(property: &str) -> String {
    format!("/input/{}", property.replace('~', "~0").replace('/', "~1"))
}

fn check(property: &str, path: &Path) -> Result<()> {
    let wrong = |what: String| {
        CommandError::usage(format!("`{property}`: {} {what}", path.display()))
            .because(Cause::Input)
            .hint("give the path of a file that you can read")
            .field(pointer(property))
    };
    let unread = |error| wrong(format!("can't be read: {error}"));
    let found = fs::metadata(path).map_err(unread)?;
    if !found.is_file() {
        return Err(wrong("is no file".to_owned()));
    }
    if found.len() > LARGEST {
        return Err(wrong(format!("is larger than {} MB", LARGEST >> 20)));
    }
    // Before anything is made for the run: the copy is made when its folder and workspace are there.
    fs::File::open(path).map_err(unread)?;
    Ok(())
}

impl FileInput {
    /// What it is called, for people: as seen from the project, or absolute if it is elsewhere.
    pub(crate) fn told(&self, project: &Path) -> String {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let path = real(&self.path);
        path.strip_prefix(real(project)).unwrap_or(&path).to_string_lossy().into_owned()
    }

    /// Copies the file into a folder, and lets the input name the copy.
    pub(crate) fn copy_into(&self, folder: &Path, input: &mut Value) -> Result<()> {
        self.copy(folder)?;
        self.name_copy(folder, input);
        Ok(())
    }

    /// Where its copy is in a folder.
    fn copy_in(&self, folder: &Path) -> PathBuf {
        folder.join(&self.property).join(self.path.file_name().unwrap_or_default())
    }

    /// Lets the input name the copy in a folder, whether or not that is there yet.
    pub(crate) fn name_copy(&self, folder: &Path, input: &mut Value) {
        if let Some(value) = input.get_mut(&self.property) {
            *value = Value::String(self.copy_in(folder).to_string_lossy().into_owned());
        }
    }

    /// Copies the file into a folder.
    pub(crate) fn copy(&self, folder: &Path) -> Result<()> {
        let copy = self.copy_in(folder);
        let failed = |error: std::io::Error| {
            let (from, to) = (self.path.display(), copy.display());
            CommandError::failed(format!(
                "`{}`: {from} can't be copied to {to}: {error}",
                self.property
            ))
        };
        fs::create_dir_all(folder.join(&self.property)).map_err(failed)?;
        fs::copy(&self.path, &copy).map_err(failed)?;
        Ok(())
    }
}
