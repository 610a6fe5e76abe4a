//! Listings with filters. The cursor is where the last run of a page stands in the order: its start and its key.

use rusqlite::types::Value as Parameter;
use rusqlite::{Connection, params_from_iter};

use super::{RUN_COLUMNS, run_record};
use crate::bounds;
use crate::list::{ListError, RunCursor};
use crate::records::{Paging, RunListing, RunQuery, Sort};
use crate::sqlite::error::Done;
use crate::sqlite::list::last_key;
use crate::sqlite::owner::Owners;
use crate::sqlite::row::{from_i64, to_i64};

/// The start of a run, as the indexes have it: what has not started counts as newest.
const START: &str = "coalesce(r.started_at, 9223372036854775807)";

/// Conditions and what they compare with.
#[derive(Default)]
struct Conditions {
    sql: Vec<String>,
    parameters: Vec<Parameter>,
}

impl Conditions {
    fn of(query: &RunQuery) -> Self {
        let mut all = Self::default();
        if !query.statuses.is_empty() {
            let marks = vec!["?"; query.statuses.len()].join(", ");
            let statuses = query.statuses.iter().map(|status| text(status.as_str()));
            all.add(format!("r.status IN ({marks})"), statuses);
        }
        if let Some(workflow) = &query.workflow {
            let sql = "(r.workflow_def_id = (SELECT key FROM workflow_definitions WHERE id = ?) OR r.workflow = ?)";
            all.add(sql, [text(workflow), text(workflow)]);
        }
        if let Some(project) = query.project {
            let sql = "r.project_id = (SELECT key FROM projects WHERE id = ?)";
            all.add(sql, [text(&project.to_string())]);
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
        all
    }

    fn add(&mut self, sql: impl Into<String>, parameters: impl IntoIterator<Item = Parameter>) {
        self.sql.push(sql.into());
        self.parameters.extend(parameters);
    }

    fn sql(&self) -> String {
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
            let Some((start, key)) = parse(connection, cursor)? else {
                return Ok(Err(ListError::Cursor { cursor: cursor.clone() }));
            };
            let sign = if query.sort == Sort::LatestFirst { "<" } else { ">" };
            let parameters = [Parameter::Integer(start), Parameter::Integer(key)];
            conditions.add(format!("({START}, r.key) {sign} (?, ?)"), parameters);
            0
        }
    };
    let direction = if query.sort == Sort::LatestFirst { "DESC" } else { "ASC" };
    let sql = format!(
        "SELECT {RUN_COLUMNS} FROM workflow_runs r {} \
         ORDER BY {START} {direction}, r.key {direction} LIMIT {} OFFSET {}",
        conditions.sql(),
        limit + 1,
        to_i64(skipped)
    );
    let mut find = connection.prepare_cached(&sql)?;
    let mut rows = find.query(params_from_iter(conditions.parameters))?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        let key: i64 = row.get(0)?;
        runs.push((key, run_record(connection, owners, row)?));
    }
    let has_more = runs.len() > limit;
    runs.truncate(limit);
    let next = runs.last().filter(|_| has_more).map(|(key, run)| {
        RunCursor(format!("s{}.{key}", run.started_at.map_or(i64::MAX, |at| at.0)))
    });
    Ok(Ok(RunListing { runs: runs.into_iter().map(|(_, run)| run).collect(), total, next }))
}

fn count(connection: &Connection, conditions: &Conditions) -> Done<u64> {
    let sql = format!("SELECT count(*) FROM workflow_runs r {}", conditions.sql());
    let mut count = connection.prepare_cached(&sql)?;
    let parameters = params_from_iter(conditions.parameters.iter());
    Ok(from_i64(count.query_row(parameters, |row| row.get(0))?))
}

/// A cursor of ours names a key that was given out, and is spelled as we spell it. The run may be gone, or have started
/// since.
fn parse(connection: &Connection, cursor: &RunCursor) -> Done<Option<(i64, i64)>> {
    let numbers = || -> Option<(i64, i64)> {
        let (start, key) = cursor.0.strip_prefix('s')?.split_once('.')?;
        Some((start.parse().ok()?, key.parse().ok()?))
    };
    let given_out = last_key(connection)?;
    Ok(numbers().filter(|(start, key)| {
        (1..=given_out).contains(key) && cursor.0 == format!("s{start}.{key}")
    }))
}
