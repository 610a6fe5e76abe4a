//! Projects, definitions and workspaces in SQL, and what is deleted with what.

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, named_params};
use uuid::Uuid;

use super::error::{Done, Fault};
use super::query::{optional_uuid_at, uuid_at, value_at};
use super::transaction::Tx;
use super::{blob, project_rows};
use crate::records::{
    Definition, DefinitionVersion, NewComment, NewDefinition, Project, RecordError, Workspace,
    WorkspaceState,
};

type Answer<T> = Done<Result<T, RecordError>>;

fn not_found<T>(what: impl Into<String>) -> Answer<T> {
    Ok(Err(RecordError::NotFound { what: what.into() }))
}

fn in_use<T>(what: impl Into<String>, why: impl Into<String>) -> Answer<T> {
    Ok(Err(RecordError::InUse { what: what.into(), why: why.into() }))
}

pub(super) fn put_project(tx: &Tx<'_>, project: &Project) -> Answer<()> {
    let mut taken = tx.statement("SELECT id FROM projects WHERE path = ?1 AND id <> ?2")?;
    let id = project.id.to_string();
    let by: Option<String> = taken.query_row((&project.path, &id), |row| row.get(0)).optional()?;
    if let Some(by) = by {
        return in_use(&project.path, format!("it belongs to project {by}"));
    }
    tx.statement(
        "INSERT INTO projects (id, name, path, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (id) DO UPDATE SET name = ?2, path = ?3, updated_at = ?5",
    )?
    .execute((
        id,
        &project.name,
        &project.path,
        project.created_at.0,
        project.updated_at.0,
    ))?;
    Ok(Ok(()))
}

pub(super) fn projects(connection: &Connection) -> Done<Vec<Project>> {
    let mut read = connection.prepare_cached(
        "SELECT id, name, path, created_at, updated_at FROM projects ORDER BY path",
    )?;
    let mut rows = read.query(())?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(Project {
            id: uuid_at(row, 0)?,
            name: row.get(1)?,
            path: row.get(2)?,
            created_at: Timestamp(row.get(3)?),
            updated_at: Timestamp(row.get(4)?),
        });
    }
    Ok(found)
}

pub(super) fn delete_project(tx: &Tx<'_>, project: Uuid) -> Answer<()> {
    let what = format!("project {project}");
    let Some(key) = tx.key_of("SELECT key FROM projects WHERE id = ?1", &project.to_string())?
    else {
        return not_found(what);
    };
    let mut active = tx.statement(
        "SELECT r.run_id FROM workflow_runs r \
         WHERE r.project_id = ?1 AND r.standing < 2 LIMIT 1",
    )?;
    if let Some(run) = active.query_row([key], |row| row.get::<_, String>(0)).optional()? {
        return in_use(what, format!("run {run} has not ended"));
    }
    let mut elsewhere = tx.statement(
        "SELECT r.run_id, d.name FROM workflow_definitions d JOIN workflow_runs r ON r.workflow_def_id = d.key \
         WHERE d.project_id = ?1 AND r.project_id IS NOT ?1 LIMIT 1",
    )?;
    let by: Option<(String, String)> =
        elsewhere.query_row([key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if let Some((run, name)) = by {
        let why =
            format!("run {run}, which is not of this project, was made from its workflow `{name}`");
        return in_use(what, why);
    }
    tx.statement("DELETE FROM projects WHERE key = ?1")?.execute([key])?;
    tx.memory.borrow_mut().clear();
    Ok(Ok(()))
}

pub(super) fn put_definition(tx: &Tx<'_>, new: &NewDefinition) -> Answer<u32> {
    let project = new.project.to_string();
    let Some(project) = tx.key_of("SELECT key FROM projects WHERE id = ?1", &project)? else {
        return not_found(format!("project {project}"));
    };
    let mut known =
        tx.statement("SELECT key FROM workflow_definitions WHERE project_id = ?1 AND name = ?2")?;
    let known: Option<i64> = known.query_row((project, &new.name), |row| row.get(0)).optional()?;
    if known.is_none() {
        let mut taken = tx.statement(
            "SELECT d.name, p.path FROM workflow_definitions d JOIN projects p ON p.key = d.project_id \
             WHERE d.id = ?1",
        )?;
        let id = new.id.to_string();
        let by: Option<(String, String)> =
            taken.query_row([&id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        if let Some((name, path)) = by {
            return in_use(format!("the id {id}"), format!("workflow `{name}` in {path} has it"));
        }
    }
    let version = put_definition_row(tx, project, new).and_then(|key| put_version(tx, key, new))?;
    Ok(Ok(version))
}

/// The version of a definition that is written down just so; none if there is something to write.
pub(super) fn version_as_it_is(connection: &Connection, new: &NewDefinition) -> Done<Option<u32>> {
    let mut find = connection.prepare_cached(
        "SELECT d.version FROM workflow_definitions d JOIN projects p ON p.key = d.project_id \
         JOIN workflow_definition_versions v ON v.definition_id = d.key AND v.version = d.version \
         WHERE p.id = :project AND d.name = :name AND d.description IS :description AND d.file_path IS :file \
         AND d.config = :config AND d.is_active = :active AND v.hash = :hash",
    )?;
    let parameters = named_params! {
        ":project": new.project.to_string(),
        ":name": new.name,
        ":description": new.description,
        ":file": new.file_path,
        ":config": new.config.to_string(),
        ":active": new.is_active,
        ":hash": new.hash,
    };
    Ok(find.query_row(parameters, |row| row.get(0)).optional()?)
}

fn put_definition_row(tx: &Tx<'_>, project: i64, new: &NewDefinition) -> Done<i64> {
    let mut put = tx.statement(
        "INSERT INTO workflow_definitions (id, project_id, name, description, version, file_path, config, is_active, \
         created_at, updated_at) VALUES (:id, :project, :name, :description, 0, :file, :config, :active, :at, :at) \
         ON CONFLICT (project_id, name) DO UPDATE SET description = :description, file_path = :file, \
         config = :config, is_active = :active, updated_at = :at RETURNING key",
    )?;
    let parameters = named_params! {
        ":id": new.id.to_string(),
        ":project": project,
        ":name": new.name,
        ":description": new.description,
        ":file": new.file_path,
        ":config": new.config.to_string(),
        ":active": new.is_active,
        ":at": new.at.0,
    };
    Ok(put.query_row(parameters, |row| row.get(0))?)
}

/// The version of this hash, which the definition is at from now on: a new one, or one that it had before.
fn put_version(tx: &Tx<'_>, key: i64, new: &NewDefinition) -> Done<u32> {
    let mut known = tx.statement(
        "SELECT version FROM workflow_definition_versions WHERE definition_id = ?1 AND hash = ?2",
    )?;
    let known: Option<u32> = known.query_row((key, &new.hash), |row| row.get(0)).optional()?;
    let version = match known {
        Some(version) => version,
        None => add_version(tx, key, new)?,
    };
    tx.statement("UPDATE workflow_definitions SET version = ?2 WHERE key = ?1")?
        .execute((key, version))?;
    Ok(version)
}

fn add_version(tx: &Tx<'_>, key: i64, new: &NewDefinition) -> Done<u32> {
    let version: u32 = tx
        .statement(
            "SELECT coalesce(max(version), 0) + 1 FROM workflow_definition_versions WHERE definition_id = ?1",
        )?
        .query_row([key], |row| row.get(0))?;
    tx.statement(
        "INSERT INTO workflow_definition_versions (definition_id, version, hash, author_version, source, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((key, version, &new.hash, &new.author_version, &new.source, new.at.0))?;
    Ok(version)
}

pub(super) fn definitions(connection: &Connection, project: Option<Uuid>) -> Done<Vec<Definition>> {
    let mut read = connection.prepare_cached(
        "SELECT d.id, p.id, d.name, d.description, d.version, d.file_path, d.config, d.is_active, d.created_at, \
         d.updated_at FROM workflow_definitions d JOIN projects p ON p.key = d.project_id \
         WHERE ?1 IS NULL OR p.id = ?1 ORDER BY d.name, p.path",
    )?;
    let mut rows = read.query([project.map(|id| id.to_string())])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(Definition {
            id: uuid_at(row, 0)?,
            project_id: uuid_at(row, 1)?,
            name: row.get(2)?,
            description: row.get(3)?,
            version: row.get(4)?,
            file_path: row.get(5)?,
            config: value_at(connection, row, 6)?,
            is_active: row.get(7)?,
            created_at: Timestamp(row.get(8)?),
            updated_at: Timestamp(row.get(9)?),
        });
    }
    Ok(found)
}

pub(super) fn versions(connection: &Connection, definition: Uuid) -> Done<Vec<DefinitionVersion>> {
    let mut read = connection.prepare_cached(
        "SELECT v.version, v.hash, v.author_version, v.source, v.created_at FROM workflow_definition_versions v \
         JOIN workflow_definitions d ON d.key = v.definition_id WHERE d.id = ?1 ORDER BY v.version DESC",
    )?;
    let mut rows = read.query([definition.to_string()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(DefinitionVersion {
            version: row.get(0)?,
            hash: row.get(1)?,
            author_version: row.get(2)?,
            source: row.get(3)?,
            created_at: Timestamp(row.get(4)?),
        });
    }
    Ok(found)
}

pub(super) fn delete_definition(tx: &Tx<'_>, definition: Uuid) -> Answer<()> {
    let what = format!("workflow definition {definition}");
    let sql = "SELECT key FROM workflow_definitions WHERE id = ?1";
    let Some(key) = tx.key_of(sql, &definition.to_string())? else {
        return not_found(what);
    };
    let runs: i64 = tx
        .statement("SELECT count(*) FROM workflow_runs WHERE workflow_def_id = ?1")?
        .query_row([key], |row| row.get(0))?;
    if runs > 0 {
        return in_use(what, format!("it has {runs} runs"));
    }
    tx.statement("DELETE FROM workflow_definitions WHERE key = ?1")?.execute([key])?;
    Ok(Ok(()))
}

pub(super) fn delete_run(tx: &Tx<'_>, run: RunId) -> Answer<()> {
    let Some(found) = tx.run(run)? else { return not_found(format!("run {run}")) };
    if !found.head.standing.is_ended() {
        return in_use(format!("run {run}"), "it has not ended");
    }
    tx.statement("DELETE FROM workflow_runs WHERE key = ?1")?.execute([found.key])?;
    tx.memory.borrow_mut().clear();
    Ok(Ok(()))
}

pub(super) fn add_comment(tx: &Tx<'_>, new: &NewComment) -> Answer<()> {
    let Some(found) = tx.run(new.run)? else { return not_found(format!("run {}", new.run)) };
    let id = new.id.to_string();
    let mut had = tx.statement(
        "SELECT execution_id, message FROM workflow_comments WHERE id = ?1 AND author IS NOT NULL",
    )?;
    let had: Option<(i64, String)> =
        had.query_row([&id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    match had {
        // The answer was lost.
        Some((run, message)) if run == found.key && message == new.message => return Ok(Ok(())),
        Some(_) => return in_use(format!("the id {id}"), "another comment has it"),
        None => {}
    }
    let step = project_rows::step_key(tx, found.key, new.step)?;
    if let Some(number) = new.step
        && step.is_none()
    {
        return not_found(format!("step {number} of run {}", new.run));
    }
    let metadata = blob::store(tx, found.key, new.metadata.as_ref())?;
    tx.statement(
        "INSERT INTO workflow_comments (id, execution_id, step_id, step_path, message, metadata, author, created_at) \
         VALUES (?1, ?2, ?3, (SELECT path FROM workflow_steps WHERE key = ?3), ?4, ?5, ?6, ?7)",
    )?
    .execute((
        &id,
        found.key,
        step,
        &new.message,
        metadata,
        &new.author,
        new.at.0,
    ))?;
    Ok(Ok(()))
}

pub(super) fn put_workspace(tx: &Tx<'_>, new: &Workspace, expected: u32) -> Answer<u32> {
    let current: Option<u32> = tx
        .statement("SELECT version FROM workspaces WHERE id = ?1")?
        .query_row([&new.id], |row| row.get(0))
        .optional()?;
    let current = current.unwrap_or(0);
    if current != expected {
        return Ok(Err(RecordError::Outdated { what: format!("workspace {}", new.id), current }));
    }
    let project = match new.project_id {
        None => None,
        Some(id) => match tx.key_of("SELECT key FROM projects WHERE id = ?1", &id.to_string())? {
            None => return not_found(format!("project {id}")),
            found => found,
        },
    };
    tx.statement(
        "INSERT INTO workspaces (id, project_id, kind, status, path, branch, base, detail, version, created_at, \
         updated_at) VALUES (:id, :project, :kind, :status, :path, :branch, :base, :detail, :version, :created, \
         :updated) ON CONFLICT (id) DO UPDATE SET project_id = :project, kind = :kind, status = :status, \
         path = :path, branch = :branch, base = :base, detail = :detail, version = :version, updated_at = :updated",
    )?
    .execute(named_params! {
        ":id": new.id,
        ":project": project,
        ":kind": new.kind,
        ":status": new.status.as_str(),
        ":path": new.path,
        ":branch": new.branch,
        ":base": new.base,
        ":detail": new.detail.as_ref().map(ToString::to_string),
        ":version": current + 1,
        ":created": new.created_at.0,
        ":updated": new.updated_at.0,
    })?;
    Ok(Ok(current + 1))
}

const WORKSPACES: &str = "SELECT w.id, p.id, w.kind, w.status, w.path, w.branch, w.base, w.detail, w.version, \
    w.created_at, w.updated_at FROM workspaces w LEFT JOIN projects p ON p.key = w.project_id";

pub(super) fn workspaces(connection: &Connection) -> Done<Vec<Workspace>> {
    let mut read = connection.prepare_cached(&format!("{WORKSPACES} ORDER BY w.id"))?;
    let mut rows = read.query(())?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(workspace(connection, row)?);
    }
    Ok(found)
}

pub(super) fn workspace_of_id(connection: &Connection, id: &str) -> Done<Option<Workspace>> {
    one_workspace(connection, &format!("{WORKSPACES} WHERE w.id = ?1"), id)
}

pub(super) fn workspace_at(connection: &Connection, path: &str) -> Done<Option<Workspace>> {
    one_workspace(
        connection,
        &format!("{WORKSPACES} WHERE w.path = ?1 ORDER BY w.id LIMIT 1"),
        path,
    )
}

fn one_workspace(connection: &Connection, sql: &str, key: &str) -> Done<Option<Workspace>> {
    let mut read = connection.prepare_cached(sql)?;
    let mut rows = read.query([key])?;
    rows.next()?.map(|row| workspace(connection, row)).transpose()
}

fn workspace(connection: &Connection, row: &Row<'_>) -> Done<Workspace> {
    let status: String = row.get(3)?;
    Ok(Workspace {
        id: row.get(0)?,
        project_id: optional_uuid_at(row, 1)?,
        kind: row.get(2)?,
        status: WorkspaceState::parse(&status)
            .ok_or_else(|| Fault::permanent(format!("`{status}` stands where a status should")))?,
        path: row.get(4)?,
        branch: row.get(5)?,
        base: row.get(6)?,
        detail: value_at(connection, row, 7)?,
        version: row.get(8)?,
        created_at: Timestamp(row.get(9)?),
        updated_at: Timestamp(row.get(10)?),
    })
}

pub(super) fn delete_workspace(tx: &Tx<'_>, id: &str) -> Answer<()> {
    match tx.statement("DELETE FROM workspaces WHERE id = ?1")?.execute([id])? {
        0 => not_found(format!("workspace {id}")),
        _ => Ok(Ok(())),
    }
}
