//! Copies of what a run has kept: under their names, whole, and proven to be what was kept.
//!
//! Nothing that is there already is written over unless that was said, and nothing is copied if anything is in the way. What
//! is damaged or gone is told, and does not keep anybody from the rest.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::path::{Component, Path, PathBuf};

use agentos_core::value::Value;
use agentos_store::records::ArtifactRecord;
use agentos_workspace::contained::{Contained, ContainedError, Sink};
use sha2::{Digest as _, Sha256};

use crate::error::{CommandError, Result};

/// Where copies go.
pub(super) struct Download<'a> {
    pub(super) folder: &'a Path,
    pub(super) force: bool,
}

impl Download<'_> {
    /// Copies artifacts of a project, and says where each is now, or why it is not.
    pub(super) fn copy(
        &self,
        project: &Path,
        wanted: &[ArtifactRecord],
    ) -> Result<Vec<Result<PathBuf>>> {
        let targets: Vec<PathBuf> =
            names(wanted).into_iter().map(|name| self.folder.join(name)).collect();
        let in_the_way = targets.iter().find(|path| fs::symlink_metadata(path).is_ok());
        if let Some(path) = in_the_way.filter(|_| !self.force) {
            return Err(CommandError::refused(format!("{} is there already", path.display()))
                .hint("nothing was copied; name another folder, or replace it with --force"));
        }
        let failed = |error: ContainedError| CommandError::failed(error.to_string());
        let files = Contained::open(project, None).map_err(failed)?;
        let copied = wanted
            .iter()
            .zip(targets)
            .map(|(artifact, target)| copy(&files, artifact, &target).map(|()| target));
        Ok(copied.collect())
    }
}

/// A path below a folder for each, none twice. What was kept together stays together.
fn names(wanted: &[ArtifactRecord]) -> Vec<PathBuf> {
    let mut taken: BTreeSet<(String, String)> = BTreeSet::new();
    wanted
        .iter()
        .map(|artifact| {
            let (first, rest) = artifact.name.split_once('/').unwrap_or((&artifact.name, ""));
            let root = artifact.storage_path.strip_suffix(rest).unwrap_or(&artifact.storage_path);
            let first = (1..)
                .map(|number| numbered(&safe(first), number))
                .find(|name| {
                    taken.contains(&(name.clone(), root.to_owned()))
                        || !taken.iter().any(|(other, _)| other == name)
                })
                .unwrap_or_default();
            taken.insert((first.clone(), root.to_owned()));
            let rest = Path::new(rest).components();
            let rest = rest.filter(|part| matches!(part, Component::Normal(_)));
            rest.fold(PathBuf::from(first), |path, part| {
                path.join(safe(&part.as_os_str().to_string_lossy()))
            })
        })
        .collect()
}

/// `report.html`, `report-2.html`, …
fn numbered(name: &str, number: usize) -> String {
    match (number, name.rsplit_once('.')) {
        (1, _) => name.to_owned(),
        (_, Some((stem, end))) if !stem.is_empty() => format!("{stem}-{number}.{end}"),
        _ => format!("{name}-{number}"),
    }
}

/// A name that stays in its folder, whoever gave it.
fn safe(name: &str) -> String {
    let safe: String =
        name.chars().map(|letter| if letter.is_control() { '_' } else { letter }).collect();
    match safe.as_str() {
        "" | "." | ".." => "_".to_owned(),
        _ => safe.replace('/', "_"),
    }
}

fn copy(files: &Contained, artifact: &ArtifactRecord, target: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        let (name, target) = (&artifact.name, target.display());
        CommandError::failed(format!("`{name}` can't be copied to {target}: {error}"))
    };
    if artifact.mime_type.as_deref() == Some("inode/directory") {
        return fs::create_dir_all(target).map_err(failed);
    }
    fs::create_dir_all(target.parent().unwrap_or(target)).map_err(failed)?;
    let beside = target.with_file_name(format!(".{}.new", artifact.id));
    let copied = fill(files, artifact, &beside).and_then(|()| {
        if target.is_dir() {
            return Err(CommandError::refused(format!("{} is a folder", target.display()))
                .hint("name another folder to copy into"));
        }
        fs::rename(&beside, target).map_err(failed)
    });
    if copied.is_err() {
        // It is of no use; why is being told.
        let _gone = fs::remove_file(&beside);
    }
    copied
}

/// Copies an artifact, and compares it with what was written down about it.
fn fill(files: &Contained, artifact: &ArtifactRecord, to: &Path) -> Result<()> {
    let failed = |error: ContainedError| {
        let (name, path) = (&artifact.name, &artifact.storage_path);
        CommandError::failed(match error {
            ContainedError::Missing { .. } => {
                format!("`{name}` is gone: there is no {path} in the project")
            }
            error => format!("`{name}` can't be copied: {error}"),
        })
    };
    let mut source = files.open_source(&artifact.storage_path).map_err(failed)?;
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(to)?;
    let sink = Sink { file: &mut file, path: &to.display().to_string() };
    let mut hash = Sha256::new();
    source
        .copy_into(sink, &|| false, |piece| match piece {
            Some(piece) => hash.update(piece),
            None => hash.reset(),
        })
        .map_err(failed)?;
    let mut found = String::new();
    for byte in hash.finalize() {
        let _never_fails = write!(found, "{byte:02x}");
    }
    let kept = artifact.metadata.as_ref().and_then(|metadata| metadata.get("sha256"));
    match kept.and_then(Value::as_str) {
        Some(kept) if kept != found => {
            let (name, path) = (&artifact.name, &artifact.storage_path);
            let message = format!("`{name}` is not what was kept: {path} was changed since");
            Err(CommandError::failed(message).hint("it was not copied"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use agentos_core::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn artifact(name: &str, storage_path: &str) -> ArtifactRecord {
        ArtifactRecord {
            id: Uuid::nil(),
            step_id: None,
            agent_session_id: None,
            name: name.to_owned(),
            r#type: "OTHER".to_owned(),
            storage_path: storage_path.to_owned(),
            storage_type: "FILESYSTEM".to_owned(),
            mime_type: None,
            size_bytes: None,
            metadata: None,
            created_at: Timestamp(0),
        }
    }

    #[test]
    fn no_two_copies_share_a_path_and_none_leaves_the_folder() {
        let wanted = [
            artifact("log.txt", "a/log.txt"),
            artifact("log.txt", "b/log.txt"),
            artifact("cov/a.js", "a/cov/a.js"),
            artifact("cov/a.js", "b/cov/a.js"),
            artifact("cov/only", "b/cov/only"),
            artifact("../../x", "c"),
            artifact("..", "d"),
            artifact("a\nb", "e"),
        ];
        let found: Vec<String> =
            names(&wanted).iter().map(|path| path.display().to_string()).collect();
        let expected =
            ["log.txt", "log-2.txt", "cov/a.js", "cov-2/a.js", "cov-2/only", "_/x", "_-2", "a_b"];
        assert_eq!(found, expected);
    }
}
