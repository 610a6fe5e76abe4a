//! Templates that change while somebody drives runs: what a run invokes is the workflow as it is then.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use agentos_engine::library::MixedLibrary;
use agentos_script::files::WORKFLOWS_FOLDER;
use agentos_script::templates::load_templates;

/// How often the folder is looked at. Nobody looks while nothing is driven.
const LOOK: Duration = Duration::from_secs(2);

/// How many files are looked at.
const FILES: usize = 4_096;

/// Offers what is in the project's folder whenever that changes, for as long as somebody uses the library.
pub(crate) fn watch(library: &Arc<MixedLibrary>, project: Option<PathBuf>) {
    let Some(project) = project else { return };
    let (library, mut known) = (Arc::downgrade(library), stamp(&project));
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(LOOK).await;
            let Some(library) = library.upgrade() else { return };
            let found = stamp(&project);
            if found == known {
                continue;
            }
            known = found;
            let project = project.clone();
            let loaded = tokio::task::spawn_blocking(move || load_templates(&project)).await;
            if let Ok(templates) = loaded {
                library.scripts.offer(templates.workflows);
            }
        }
    });
}

/// Something that is another when a template or a module beside it is.
fn stamp(project: &Path) -> Vec<(PathBuf, SystemTime, u64)> {
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
