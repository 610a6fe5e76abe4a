//! Where a run that comes in belongs: its project, and the definition that it was made from.

use std::hash::Hasher as _;

use rusqlite::{OptionalExtension as _, named_params};
use siphasher::sip128::{Hasher128 as _, SipHasher13};
use uuid::Builder;

use crate::records::Project;
use crate::sqlite::error::Done;
use crate::sqlite::transaction::Tx;
use crate::transfer::CopiedDefinition;

/// The key of the project: the one of this id, the one at this path, or a new one.
pub(super) fn project(tx: &Tx<'_>, project: &Project) -> Done<i64> {
    let id = project.id.to_string();
    if let Some(key) = tx.key_of("SELECT key FROM projects WHERE id = ?1", &id)? {
        return Ok(key);
    }
    if let Some(key) = tx.key_of("SELECT key FROM projects WHERE path = ?1", &project.path)? {
        return Ok(key);
    }
    tx.statement(
        "INSERT INTO projects (id, name, path, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((
        id,
        &project.name,
        &project.path,
        project.created_at.0,
        project.updated_at.0,
    ))?;
    Ok(tx.connection.last_insert_rowid())
}

/// The key of the definition in this project, with every version of it that came along.
pub(super) fn definition(tx: &Tx<'_>, project: i64, from: &CopiedDefinition) -> Done<i64> {
    let mut known =
        tx.statement("SELECT key FROM workflow_definitions WHERE project_id = ?1 AND name = ?2")?;
    let known: Option<i64> = known.query_row((project, &from.name), |row| row.get(0)).optional()?;
    let key = match known {
        Some(key) => key,
        None => add_definition(tx, project, from)?,
    };
    for version in &from.versions {
        let mut had = tx.statement(
            "SELECT 1 FROM workflow_definition_versions WHERE definition_id = ?1 AND hash = ?2",
        )?;
        if had.exists((key, &version.hash))? {
            continue;
        }
        // A number that is taken is another source's; the label is local, the hash is not.
        tx.statement(
            "INSERT INTO workflow_definition_versions (definition_id, version, hash, author_version, source, created_at) \
             SELECT ?1, CASE WHEN EXISTS (SELECT 1 FROM workflow_definition_versions v \
             WHERE v.definition_id = ?1 AND v.version = ?2) \
             THEN (SELECT max(v.version) + 1 FROM workflow_definition_versions v WHERE v.definition_id = ?1) \
             ELSE ?2 END, ?3, ?4, ?5, ?6",
        )?
        .execute((
            key,
            version.version,
            &version.hash,
            &version.author_version,
            &version.source,
            version.created_at.0,
        ))?;
    }
    Ok(key)
}

fn add_definition(tx: &Tx<'_>, project: i64, from: &CopiedDefinition) -> Done<i64> {
    let is_taken =
        tx.key_of("SELECT key FROM workflow_definitions WHERE id = ?1", &from.id)?.is_some();
    let id = if is_taken { derived(&from.id, project) } else { from.id.clone() };
    let version = from.versions.last().map_or(0, |version| version.version);
    tx.statement(
        "INSERT INTO workflow_definitions (id, project_id, name, description, version, file_path, config, is_active, \
         created_at, updated_at) VALUES (:id, :project, :name, :description, :version, :file, :config, :active, :at, \
         :at)",
    )?
    .execute(named_params! {
        ":id": id,
        ":project": project,
        ":name": from.name,
        ":description": from.description,
        ":version": version,
        ":file": from.file_path,
        ":config": from.config.as_ref().map(ToString::to_string),
        ":active": from.is_active,
        ":at": from.at,
    })?;
    Ok(tx.connection.last_insert_rowid())
}

/// An id for a definition whose own another project's has here. The same each time.
fn derived(id: &str, project: i64) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(id.as_bytes());
    hasher.write_i64(project);
    Builder::from_custom_bytes(hasher.finish128().as_bytes()).into_uuid().to_string()
}
