//! Listings with filters. The cursor is where the last run of a page stands in the order: its start and its id. That means
//! the same in every database, so one cursor leads through several.

use agentos_core::id::RunId;
use rusqlite::types::Value as Parameter;
use rusqlite::{Connection, params_from_iter};

use super::{RUN_COLUMNS, RUNS, run_record, uuid_at};
use crate::bounds;
use crate::list::{ListError, RunCursor};
use crate::records::{Paging, RunListing, RunQuery, Sort};
use crate::sqlite::error::Done;
use crate::sqlite::owner::Owners;
use crate::sqlite::row::{from_i64, to_i64};

/// The start of a run, as the indexes have it: what has not started counts as newest.
const START: &str = "coalesce(r.started_at, 9223372036854775807)";

/// Those that have not ended, by the index of statuses: only they wait for anything.
const OPEN: &str = "r.status IN ('PENDING', 'RUNNING')";

/// What a run waits for.
pub(super) const WAITS_FOR: &str = "json_extract(r.waiting, '$.kind')";

/// Conditions and what they compare with.
#[derive(Default)]
pub(super) struct Conditions {
    sql: Vec<String>,
    pub(super) parameters: Vec<Parameter>,
}

impl Conditions {
    pub(super) fn of(query: &RunQuery) -> Self {
        let mut all = Self::default();
        if !query.statuses.is_empty() {
            let marks = vec!["?"; query.statuses.len()].join(", ");
            let statuses = query.statuses.iter().map(|status| text(status.as_str()));
            all.add(format!("r.status IN ({marks})"), statuses);
        }
        if !query.waiting.is_empty() {
            let marks = vec!["?"; query.waiting.len()].join(", ");
            let kinds = query.waiting.iter().map(|kind| text(kind.as_str()));
            all.add(format!("{OPEN} AND {WAITS_FOR} IN ({marks})"), kinds);
        }
        if let Some(workflow) = &query.workflow {
            let sql = "(r.workflow_def_id = (SELECT key FROM workflow_definitions WHERE id = ?) OR r.workflow = ?)";
            all.add(sql, [text(workflow), text(workflow)]);
        }
        match query.projects.as_slice() {
            [] => {}
            [project] => {
                let sql = "r.project_id = (SELECT key FROM projects WHERE id = ?)";
                all.add(sql, [text(&project.to_string())]);
            }
            several => {
                let sql = "r.project_id IN (SELECT key FROM projects WHERE id IN (SELECT value FROM json_each(?)))";
                all.add(sql, [text(&as_json(several))]);
            }
        }
        if let Some(worktree) = &query.worktree {
            all.add("r.worktree_id = ?", [text(worktree)]);
        }
        if let Some(since) = query.since {
            all.add(format!("{START} >= ?"), [Parameter::Integer(since.0)]);
        }
        if let Some(wanted) = &query.text {
            let sql = "(instr(lower(r.run_id), lower(?)) > 0 OR instr(lower(coalesce(r.branch_name, '')), lower(?)) > 0 \
                       OR instr(r.id, lower(?)) > 0)";
            all.add(sql, [text(wanted), text(wanted), text(wanted)]);
        }
        if !query.except.is_empty() {
            let sql = "r.id NOT IN (SELECT value FROM json_each(?))";
            all.add(sql, [text(&as_json(&query.except))]);
        }
        all
    }

    fn add(&mut self, sql: impl Into<String>, parameters: impl IntoIterator<Item = Parameter>) {
        self.sql.push(sql.into());
        self.parameters.extend(parameters);
    }

    /// The same, and only those that wait for something.
    pub(super) fn and_waits(mut self) -> Self {
        self.add(format!("{OPEN} AND r.waiting IS NOT NULL"), []);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sql.is_empty()
    }

    pub(super) fn sql(&self) -> String {
        if self.sql.is_empty() {
            String::new()
        } else {
            format!("WHERE {}", self.sql.join(" AND "))
        }
    }
}

fn text(text: &str) -> Parameter {
    Parameter::Text(text.to_owned())
}

/// Ids as one parameter, however many they are.
pub(in crate::sqlite) fn as_json(ids: &[impl std::fmt::Display]) -> String {
    let quoted: Vec<String> = ids.iter().map(|id| format!("\"{id}\"")).collect();
    format!("[{}]", quoted.join(","))
}

/// The text of a place in a listing: behind this run, wherever it is kept.
pub(in crate::sqlite) fn cursor_of(start: i64, run: RunId) -> RunCursor {
    RunCursor(format!("s{start}.{run}"))
}

pub(in crate::sqlite) fn list(
    connection: &Connection,
    owners: &Owners,
    query: &RunQuery,
) -> Done<Result<RunListing, ListError>> {
    let mut conditions = Conditions::of(query);
    let total = if query.with_total { Some(count(connection, &conditions)?) } else { None };
    let limit = bounds::page(query.limit);
    let skipped = match &query.paging {
        Paging::Page(page) => page.saturating_sub(1).saturating_mul(limit as u64),
        Paging::After(cursor) => {
            let Some((start, run)) = parse(cursor) else {
                return Ok(Err(ListError::Cursor { cursor: cursor.clone() }));
            };
            let sign = if query.sort == Sort::LatestFirst { "<" } else { ">" };
            let parameters = [Parameter::Integer(start), text(&run.to_string())];
            conditions.add(format!("({START}, r.id) {sign} (?, ?)"), parameters);
            0
        }
    };
    let sql = format!(
        "SELECT {RUN_COLUMNS} FROM {RUNS} {} {} LIMIT {} OFFSET {}",
        conditions.sql(),
        order(query.sort),
        limit + 1,
        to_i64(skipped)
    );
    let mut find = connection.prepare_cached(&sql)?;
    let mut rows = find.query(params_from_iter(conditions.parameters))?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        runs.push(run_record(connection, owners, row)?);
    }
    let has_more = runs.len() > limit;
    runs.truncate(limit);
    let next = runs.last().filter(|_| has_more);
    let next = next.map(|run| cursor_of(run.started_at.map_or(i64::MAX, |at| at.0), run.id));
    Ok(Ok(RunListing { runs, total, next }))
}

/// Where the first of the runs that the query shows stand in the order; its paging is not looked at.
pub(in crate::sqlite) fn positions(
    connection: &Connection,
    query: &RunQuery,
    limit: u64,
) -> Done<Vec<(i64, RunId)>> {
    let conditions = Conditions::of(query);
    let sql = format!(
        "SELECT {START}, r.id FROM workflow_runs r {} {} LIMIT {}",
        conditions.sql(),
        order(query.sort),
        to_i64(limit)
    );
    let mut find = connection.prepare_cached(&sql)?;
    let mut rows = find.query(params_from_iter(conditions.parameters))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((row.get(0)?, RunId(uuid_at(row, 1)?)));
    }
    Ok(found)
}

fn order(sort: Sort) -> String {
    let direction = if sort == Sort::LatestFirst { "DESC" } else { "ASC" };
    format!("ORDER BY {START} {direction}, r.id {direction}")
}

fn count(connection: &Connection, conditions: &Conditions) -> Done<u64> {
    let sql = format!("SELECT count(*) FROM workflow_runs r {}", conditions.sql());
    let mut count = connection.prepare_cached(&sql)?;
    let parameters = params_from_iter(conditions.parameters.iter());
    Ok(from_i64(count.query_row(parameters, |row| row.get(0))?))
}

/// A cursor of ours is spelled as we spell it. The run may be gone, have started since, or be in another database.
fn parse(cursor: &RunCursor) -> Option<(i64, RunId)> {
    let (start, run) = cursor.0.strip_prefix('s')?.split_once('.')?;
    let (start, run) = (start.parse().ok()?, RunId(run.parse().ok()?));
    (cursor_of(start, run) == *cursor).then_some((start, run))
}
