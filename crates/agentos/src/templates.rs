//! Templates that change while somebody drives runs: what a run invokes is the workflow as it is then.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use agentos_engine::library::Changes;
use agentos_script::files::WORKFLOWS_FOLDER;
use agentos_script::templates::load_templates;

/// How many files are looked at.
const FILES: usize = 4_096;

/// Tells what is in the project's folder whenever that has changed since the last time.
pub(crate) fn changes(project: PathBuf) -> Changes {
    let known = Mutex::new(stamp(&project));
    Box::new(move || {
        let found = stamp(&project);
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == found {
            return None;
        }
        *known = found;
        Some(load_templates(&project).workflows)
    })
}

/// Something that is another when one of the files is.
pub(crate) type Stamp = Vec<(PathBuf, SystemTime, u64)>;

/// What these files look like from outside; those that are not there are left out.
pub(crate) fn stamp_of(files: &[PathBuf]) -> Stamp {
    let seen = |path: &PathBuf| {
        let found = std::fs::metadata(path).ok()?;
        Some((path.clone(), found.modified().ok()?, found.len()))
    };
    files.iter().filter_map(seen).collect()
}

/// What the templates look like from outside.
pub(crate) fn stamp(project: &Path) -> Stamp {
    let mut folders = vec![project.join(WORKFLOWS_FOLDER).join("templates")];
    folders.push(project.join(WORKFLOWS_FOLDER).join("lib"));
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.take(FILES) {
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                folders.push(entry.path());
            } else if let Ok(changed) = found.modified() {
                files.push((entry.path(), changed, found.len()));
            }
        }
        if files.len() >= FILES {
            break;
        }
    }
    files.sort();
    files
}
