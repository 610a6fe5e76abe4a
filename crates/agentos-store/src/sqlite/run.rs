//! Creating a run in SQL.

use agentos_core::codec::{self, Chunk};
use agentos_core::entry::{Entry, RunStarted};
use agentos_core::id::{Epoch, RunId, Seq};
use agentos_core::short_name::short_name;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use rusqlite::{OptionalExtension as _, named_params};

use super::error::{Done, Fault};
use super::project::Target;
use super::row::{RunRow, standing_columns, to_i64, uuid};
use super::transaction::Tx;
use super::{blob, inbox, log, project};
use crate::claim::Claim;
use crate::log::end;
use crate::place::Place;
use crate::run::{CreateError, Created, Head, History, NewRun};

/// How many names are tried for a run before the store gives up.
const NAMES: u64 = 1_000;

pub(super) fn create(tx: &Tx<'_>, new: &NewRun) -> Done<Result<Created, CreateError>> {
    let run = new.run;
    if let Some(found) = tx.run(run)? {
        let began_so = began_with(tx, found.key, &new.first)?;
        return Ok(if began_so {
            Ok(Created::Existed)
        } else {
            Err(CreateError::Conflict { run })
        });
    }
    let Entry::RunStarted(started) = &new.first else {
        return Err(Fault::permanent("a run was not checked before it came here"));
    };
    let inherited;
    let new = match &started.parent {
        Some(parent) => {
            inherited = NewRun { place: inherit(tx, parent.run, &new.place)?, ..new.clone() };
            &inherited
        }
        None => new,
    };
    let keys = match keys(tx, &new.place, started)? {
        Ok(keys) => keys,
        Err(what) => return Ok(Err(CreateError::NoSuchPlace { run, what })),
    };
    let run_id = match readable_name(tx, new, started)? {
        Ok(run_id) => run_id,
        Err(taken) => return Ok(Err(taken)),
    };
    let begins = first_head(tx, new)?;
    let key = insert_row(tx, new, &run_id, keys, &begins)?;
    insert_log(tx, key, new)?;
    tx.remember(run, RunRow { key, head: begins, messages: 0 });
    let Head { head, epoch, owner, standing } = begins;
    let claim = Claim { epoch, head, standing };
    Ok(Ok(if owner.is_some() { Created::Claimed(claim) } else { Created::New }))
}

/// Where the run begins: with whoever it was created for, or free.
fn first_head(tx: &Tx<'_>, new: &NewRun) -> Done<Head> {
    let head = rest_of(new).last().map_or(Seq(1), end);
    let standing = standing_of(new);
    let free = Head { head, epoch: Epoch(0), owner: None, standing };
    Ok(match new.owner {
        Some(owner) if !standing.is_ended() && tx.owners.is_alive(owner)? => {
            Head { epoch: free.epoch.next(), owner: Some(owner), ..free }
        }
        _ => free,
    })
}

fn began_with(tx: &Tx<'_>, key: i64, first: &Entry) -> Done<bool> {
    let mut find = tx.statement("SELECT chunk FROM run_log WHERE run = ?1 AND first = 0")?;
    let text: String = find.query_row([key], |row| row.get(0))?;
    Ok(codec::decode(&text).is_ok_and(|chunk| chunk.entries.first() == Some(first)))
}

/// Whoever invokes a run shares its place with it, where nothing else is said.
fn inherit(tx: &Tx<'_>, parent: RunId, place: &Place) -> Done<Place> {
    const FIND: &str = "SELECT (SELECT p.id FROM projects p WHERE p.key = r.project_id), r.worktree_id, r.work_dir, \
        r.workspace_dir, r.workspace_id, r.branch_name FROM workflow_runs r WHERE r.id = ?1";
    let mut find = tx.statement(FIND)?;
    let mut rows = find.query([parent.to_string()])?;
    let mut place = place.clone();
    let Some(row) = rows.next()? else {
        return Ok(place);
    };
    if place.project.is_none() {
        let id: Option<String> = row.get(0)?;
        place.project = id.map(|id| uuid(&id)).transpose()?;
    }
    let fields = [
        &mut place.worktree_id,
        &mut place.work_dir,
        &mut place.workspace_dir,
        &mut place.workspace_id,
        &mut place.branch_name,
    ];
    for (column, field) in fields.into_iter().enumerate() {
        if field.is_none() {
            *field = row.get(column + 1)?;
        }
    }
    Ok(place)
}

/// Its project, its definition, and the version of that.
type Keys = (Option<i64>, Option<(i64, Option<u32>)>);

fn keys(tx: &Tx<'_>, place: &Place, started: &RunStarted) -> Done<Result<Keys, String>> {
    let project = match place.project {
        None => None,
        Some(id) => match tx.key_of("SELECT key FROM projects WHERE id = ?1", &id.to_string())? {
            None => return Ok(Err(format!("project {id}"))),
            found => found,
        },
    };
    let definition = match place.definition {
        None => definition_of(tx, project, started)?,
        Some(id) => {
            let sql = "SELECT key FROM workflow_definitions WHERE id = ?1";
            match tx.key_of(sql, &id.to_string())? {
                None => return Ok(Err(format!("workflow definition {id}"))),
                Some(key) => Some((key, place.definition_version)),
            }
        }
    };
    Ok(Ok((project, definition)))
}

/// Whoever invokes a workflow knows its name: that of a definition in the project, if it is written down there.
fn definition_of(
    tx: &Tx<'_>,
    project: Option<i64>,
    started: &RunStarted,
) -> Done<Option<(i64, Option<u32>)>> {
    let mut find = tx.statement(
        "SELECT d.key, (SELECT v.version FROM workflow_definition_versions v \
         WHERE v.definition_id = d.key AND v.hash = ?3) FROM workflow_definitions d \
         WHERE d.project_id = ?1 AND d.name = ?2",
    )?;
    let found = find.query_row((project, started.workflow.as_str(), &started.definition), |row| {
        Ok((row.get(0)?, row.get(1)?))
    });
    Ok(found.optional()?)
}

fn insert_row(tx: &Tx<'_>, new: &NewRun, run_id: &str, keys: Keys, head: &Head) -> Done<i64> {
    const INSERT: &str = "INSERT INTO workflow_runs (id, run_id, project_id, workflow_def_id, definition_version, \
        workflow, definition_hash, status, worktree_id, work_dir, workspace_dir, workspace_id, context_dir, \
        branch_name, log_file_path, parent_run_id, forked_from, created_at, updated_at, head, epoch, owner, \
        standing, wake_at, input) \
        VALUES (:id, :run_id, :project, :definition, :version, :workflow, :hash, 'PENDING', :worktree, :work_dir, \
        :workspace_dir, :workspace, :context_dir, :branch, :log_file, :parent, :forked_from, :at, :at, :head, :epoch, \
        :owner, :standing, :wake_at, :input)";
    let place = &new.place;
    let (number, wake_at) = standing_columns(head.standing);
    let Entry::RunStarted(started) = &new.first else {
        return Err(Fault::permanent("a run was not checked before it came here"));
    };
    // What is too large for the row refers to it, and follows when it is there.
    let told = started.told_input();
    let input = blob::inline(&told);
    tx.statement(INSERT)?.execute(named_params! {
        ":id": new.run.to_string(),
        ":run_id": run_id,
        ":project": keys.0,
        ":definition": keys.1.map(|(key, _)| key),
        ":version": keys.1.and_then(|(_, version)| version),
        ":workflow": started.workflow.as_str(),
        ":hash": started.definition,
        ":worktree": place.worktree_id,
        ":work_dir": place.work_dir,
        ":workspace_dir": place.workspace_dir,
        ":workspace": place.workspace_id,
        ":context_dir": place.context_dir,
        ":branch": place.branch_name,
        ":log_file": place.log_file_path,
        ":parent": started.parent.as_ref().map(|parent| parent.run.to_string()),
        ":forked_from": started.forked_from.map(|run| run.to_string()),
        ":at": new.at.0,
        ":head": to_i64(head.head.0),
        ":epoch": to_i64(head.epoch.0),
        ":owner": head.owner.map(|owner| owner.to_string()),
        ":standing": number,
        ":wake_at": wake_at,
        ":input": input,
    })?;
    let key = tx.connection.last_insert_rowid();
    if input.is_none() {
        let update = "UPDATE workflow_runs SET input = ?2 WHERE key = ?1";
        blob::put(tx, key, update, key, &told)?;
    }
    Ok(key)
}

fn insert_log(tx: &Tx<'_>, key: i64, new: &NewRun) -> Done<()> {
    let first = Chunk::new(Seq::FIRST, new.began(), vec![new.first.clone()]);
    for chunk in std::iter::once(&first).chain(rest_of(new)) {
        log::append(tx, key, chunk.first, &codec::encode(chunk))?;
        remember_messages(tx, key, chunk)?;
    }
    let target = Target { key, run: new.run };
    project::created(tx, target, std::iter::once(&first).chain(rest_of(new)), standing_of(new))
}

fn rest_of(new: &NewRun) -> &[Chunk] {
    new.history.as_ref().map_or(&[], |history| &history.rest)
}

fn standing_of(new: &NewRun) -> Standing {
    match &new.history {
        Some(History { standing, .. }) => *standing,
        None => Standing::Working { wake_at: None },
    }
}

fn remember_messages(tx: &Tx<'_>, key: i64, chunk: &Chunk) -> Done<()> {
    let at: Timestamp = chunk.at;
    let mut keys = chunk.entries.iter().filter_map(Entry::message_key);
    keys.try_for_each(|message| inbox::remember(tx, key, message, at))
}

/// The short readable name: the one that the run's code reads, the one that was wished for if nobody has it, or one that
/// follows from the run's id.
fn readable_name(
    tx: &Tx<'_>,
    new: &NewRun,
    started: &RunStarted,
) -> Done<Result<String, CreateError>> {
    let is_taken = |name: &str| -> Done<bool> {
        Ok(tx.statement("SELECT 1 FROM workflow_runs WHERE run_id = ?1")?.exists([name])?)
    };
    let own = &started.home.run_id;
    if !own.is_empty() {
        let (run, name) = (new.run, own.clone());
        return Ok(if is_taken(own)? {
            Err(CreateError::NameTaken { run, name })
        } else {
            Ok(name)
        });
    }
    if let Some(name) = &new.place.run_id
        && !is_taken(name)?
    {
        return Ok(Ok(name.clone()));
    }
    for choice in 0..NAMES {
        let name = short_name(new.run, started.workflow.as_str(), choice);
        if !is_taken(&name)? {
            return Ok(Ok(name));
        }
    }
    Err(Fault::permanent(format!("no short name is left for a run of `{}`", started.workflow)))
}
