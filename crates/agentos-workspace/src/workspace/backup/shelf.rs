//! Which backups there are, and how one goes: by its own ref first, so that half of one is none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentos_core::time::Timestamp;
use serde::{Serialize, Serializer};

use super::{BackupError, REFS, io_error, names};
use crate::identity::folder_of;
use crate::metadata::written;
use crate::workspace::id::WorkspaceId;
use crate::workspace::plumbing::{Plumbing, Stand};
use crate::workspace::porcelain::{Porcelain, line};
use crate::workspace::yard::Yard;

/// A backup that there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Backup {
    /// Of which workspace.
    pub workspace_id: WorkspaceId,
    /// Its number: a later one is higher.
    pub number: u32,
    /// The ref that holds it.
    pub reference: String,
    /// The commit that the ref is at.
    pub commit: String,
    /// The archive.
    pub archive: PathBuf,
    /// When it was made, to the second.
    #[serde(serialize_with = "moment")]
    pub made_at: Timestamp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn moment<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&written(*at))
}

impl Yard<'_> {
    /// The backups of a workspace, the oldest first.
    ///
    /// # Errors
    /// [`BackupError`]
    pub fn backups(&self, id: &WorkspaceId) -> Result<Vec<Backup>, BackupError> {
        self.listed(&format!("{REFS}{id}/"))
    }

    /// All backups in the repository, those of one workspace together, the oldest first.
    ///
    /// # Errors
    /// [`BackupError`]
    pub fn all_backups(&self) -> Result<Vec<Backup>, BackupError> {
        self.listed(REFS)
    }

    /// Deletes a backup for good.
    ///
    /// # Errors
    /// [`BackupError`]
    pub fn discard(&self, backup: &Backup) -> Result<(), BackupError> {
        let lock = self.repository.lock()?;
        let porcelain = Porcelain { surroundings: self.surroundings, lock: Some(&lock) };
        discard(Plumbing(porcelain), &self.repository.checkout.repository, backup)
    }

    fn listed(&self, under: &str) -> Result<Vec<Backup>, BackupError> {
        let repository = &self.repository.checkout.repository;
        let porcelain = Porcelain { surroundings: self.surroundings, lock: None };
        let format = "--format=%(refname) %(objectname) %(committerdate:unix)";
        let said = Plumbing(porcelain)
            .call(Stand::repository(repository), ["for-each-ref", format, under])?;
        let said = line(&said);
        let mut found: Vec<Backup> =
            said.lines().filter_map(|known| parse(repository, known)).collect();
        found.sort_by(|one, other| {
            (&one.workspace_id, one.number).cmp(&(&other.workspace_id, other.number))
        });
        Ok(found)
    }
}

fn parse(repository: &Path, known: &str) -> Option<Backup> {
    let mut words = known.split(' ');
    let (reference, commit, seconds) = (words.next()?, words.next()?, words.next()?);
    let (id, number) = reference.strip_prefix(REFS)?.rsplit_once('/')?;
    let (workspace_id, number): (WorkspaceId, u32) = (id.parse().ok()?, number.parse().ok()?);
    Some(Backup {
        number,
        reference: reference.to_owned(),
        commit: commit.to_owned(),
        archive: archive_of(repository, &workspace_id, number),
        made_at: Timestamp(seconds.parse::<i64>().ok()?.saturating_mul(1000)),
        workspace_id,
    })
}

/// Deletes a backup; whoever calls holds the repository's lock.
pub(in crate::workspace) fn discard(
    plumbing: Plumbing<'_>,
    repository: &Path,
    backup: &Backup,
) -> Result<(), BackupError> {
    let stand = Stand::repository(repository);
    plumbing.call(stand, ["update-ref", "-d", &backup.reference, &backup.commit])?;
    names::clear(plumbing, stand, &names::prefix(&backup.workspace_id, backup.number))?;
    match fs::remove_file(&backup.archive) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_error(&backup.archive)(error))
        }
        _ => Ok(()),
    }
}

pub(super) fn archive_of(repository: &Path, id: &WorkspaceId, number: u32) -> PathBuf {
    folder_of(repository).join("backup").join(id.as_str()).join(format!("{number}.tar"))
}
