//! What lies about beside a database: folders of runs that no database knows, runs without theirs, artifacts without a file, and
//! directories of commands whose run is over.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use agentos_core::id::RunId;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_process::sweep;
use agentos_store::folder::{RunFolder, executions, find_creating, is_being_created};
use agentos_store::records::Records as _;
use agentos_store::sqlite::SqliteStore;
use agentos_store::transfer::Candidate;
use serde::Serialize;

use super::commands;
use super::others::Others;
use crate::error::{CommandError, Result};
use crate::never_created;
use crate::session::Session;
use crate::supervise::commands_folder;

/// What a folder is called while its run is removed.
pub(crate) const PRUNED: &str = ".pruned-";

/// Says in a folder that what was in it was removed on purpose.
pub(crate) const REMOVED: &str = ".removed";

/// A copy that nobody has touched for so long is not being made any more.
const STALE_MS: i64 = 600_000;

/// What kind of litter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// A copy that somebody was killed over.
    UnfinishedCopy,
    /// A folder whose run was about to be removed.
    UnfinishedPrune,
    /// A folder of a run that no database knows.
    FolderWithoutRun,
    /// A run whose folder is gone.
    RunWithoutFolder,
    /// An artifact whose file is gone.
    ArtifactWithoutFile,
    /// Files of commands whose run has ended.
    CommandFiles,
    /// A folder that a dead process has made for a run that it did not create any more.
    NeverCreated,
}

/// Something that lies about, or is missing.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Litter {
    pub(crate) kind: Kind,
    pub(crate) path: PathBuf,
    pub(crate) run: Option<RunId>,
}

impl Litter {
    /// Whether it is only what a dead process did not clear away, and the next one that drives runs does.
    pub(crate) const fn is_swept(&self) -> bool {
        matches!(self.kind, Kind::CommandFiles | Kind::NeverCreated)
    }

    pub(crate) fn words(&self) -> String {
        let path = self.path.display();
        match self.kind {
            Kind::UnfinishedCopy => format!("{path} is a copy that was never finished"),
            Kind::UnfinishedPrune => format!("{path} is left of a run that was being removed"),
            Kind::FolderWithoutRun => format!("{path} belongs to a run that no database knows"),
            Kind::RunWithoutFolder => format!("{path}, the folder of a run, is gone"),
            Kind::ArtifactWithoutFile => format!("{path}, the file of an artifact, is gone"),
            Kind::CommandFiles => format!("{path} is left of commands whose run has ended"),
            Kind::NeverCreated => format!("{path} was made for a run that was never created"),
        }
    }
}

/// Looks for all of it. `others` is what the other databases of this repository know.
pub(crate) async fn find(
    store: &SqliteStore,
    database: &Path,
    others: &Others,
) -> Result<Vec<Litter>> {
    let candidates = store.candidates().await?;
    let known: HashMap<String, &Candidate> =
        candidates.iter().map(|candidate| (candidate.run.to_string(), candidate)).collect();
    let mut found = Vec::new();
    let projects: BTreeSet<&str> =
        candidates.iter().filter_map(|candidate| candidate.work_dir.as_deref()).collect();
    for project in projects {
        look_at_folders(Path::new(project), &known, others, &mut found);
    }
    for candidate in &candidates {
        look_at_run(store, candidate, &mut found).await?;
    }
    let left = children(&commands_folder(database)).into_iter().filter_map(|path| {
        let run = known.get(&name_of(&path)).filter(|run| run.is_ended)?.run;
        let is_left = !commands::is_at_work(database, run);
        is_left.then_some(Litter { kind: Kind::CommandFiles, path, run: Some(run) })
    });
    found.extend(left);
    Ok(found)
}

fn look_at_folders(
    project: &Path,
    known: &HashMap<String, &Candidate>,
    others: &Others,
    found: &mut Vec<Litter>,
) {
    let left: Vec<RunId> =
        find_creating(&executions(project)).into_iter().map(|left| left.run).collect();
    for path in children(&executions(project)).into_iter().filter(|path| path.is_dir()) {
        let name = name_of(&path);
        if name.starts_with(".copying-") {
            if is_stale(&path) {
                found.push(Litter { kind: Kind::UnfinishedCopy, path, run: None });
            }
            continue;
        }
        if let Some(id) = name.strip_prefix(PRUNED) {
            let run = id.parse().ok().map(RunId);
            let run = run.filter(|run| known.contains_key(id) || others.may_know(*run));
            found.push(Litter { kind: Kind::UnfinishedPrune, path, run });
            continue;
        }
        let Ok(run) = name.parse().map(RunId) else { continue };
        if !known.contains_key(&name) && !others.may_know(run) {
            let kind = match left.contains(&run) {
                true => Kind::NeverCreated,
                // A process is about to create it.
                false if is_being_created(&path) => continue,
                false => Kind::FolderWithoutRun,
            };
            found.push(Litter { kind, path, run: Some(run) });
        }
    }
}

async fn look_at_run(
    store: &SqliteStore,
    candidate: &Candidate,
    found: &mut Vec<Litter>,
) -> Result<()> {
    let Some(project) = candidate.work_dir.as_deref().map(Path::new) else { return Ok(()) };
    if !project.is_dir() {
        return Ok(());
    }
    let folder = RunFolder::new(project, candidate.run).path();
    let run = Some(candidate.run);
    // A child has one only if it has something to keep there.
    if !folder.is_dir() && candidate.parent.is_none() {
        found.push(Litter { kind: Kind::RunWithoutFolder, path: folder.clone(), run });
    }
    if folder.join("artifacts").join(REMOVED).exists() {
        return Ok(());
    }
    // A run whose rows can't be read is told of elsewhere.
    let Ok(detail) = store.run_detail(candidate.run).await else { return Ok(()) };
    for artifact in &detail.artifacts {
        let path = project.join(&artifact.storage_path);
        if !path.exists() {
            found.push(Litter { kind: Kind::ArtifactWithoutFile, path, run });
        }
    }
    Ok(())
}

/// Clears it away where that is safe. Answers with what was done; none if nothing could be.
pub(crate) async fn clear(
    session: &Session,
    store: &SqliteStore,
    litter: &Litter,
) -> Result<Option<String>> {
    let path = litter.path.display();
    let failed = |error: std::io::Error| CommandError::failed(format!("{path}: {error}"));
    match (litter.kind, litter.run) {
        (Kind::UnfinishedPrune, Some(run)) => {
            let back = litter.path.with_file_name(run.to_string());
            fs::rename(&litter.path, &back).map_err(failed)?;
            Ok(Some(format!("put {} back", back.display())))
        }
        (Kind::UnfinishedCopy | Kind::UnfinishedPrune, _) => {
            fs::remove_dir_all(&litter.path).map_err(failed)?;
            Ok(Some(format!("removed {path}")))
        }
        (Kind::RunWithoutFolder, _) => {
            for part in ["logs", "artifacts"] {
                fs::create_dir_all(litter.path.join(part)).map_err(failed)?;
            }
            Ok(Some(format!("made {path} again, without what was in it")))
        }
        (Kind::CommandFiles, _) => {
            for directory in children(&litter.path) {
                sweep::remove(&directory)
                    .map_err(|error| CommandError::failed(format!("{path}: {error}")))?;
            }
            fs::remove_dir(&litter.path).map_err(failed)?;
            Ok(Some(format!("removed {path}")))
        }
        (Kind::NeverCreated, run) => {
            let executions = litter.path.parent().unwrap_or(&litter.path);
            let Some(run) = run else { return Ok(None) };
            let cleared = never_created::clear(session, store, (executions, run)).await;
            Ok(cleared.map_err(failed)?.then(|| format!("removed {path}")))
        }
        (Kind::FolderWithoutRun | Kind::ArtifactWithoutFile, _) => Ok(None),
    }
}

fn is_stale(path: &Path) -> bool {
    let changed = fs::metadata(path).and_then(|about| about.modified()).ok();
    let changed = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let changed = changed.and_then(|at| i64::try_from(at.as_millis()).ok());
    changed.is_some_and(|at| SystemClock.now().0.saturating_sub(at) > STALE_MS)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    found
}
