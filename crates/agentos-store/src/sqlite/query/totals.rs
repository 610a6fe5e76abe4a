//! How many runs a query shows, and what their agents have used. Rows are counted where they are; none is read for that
//! whose index says enough.

use rusqlite::{Connection, Row, params_from_iter};

use super::listing::{Conditions, WAITS_FOR};
use crate::projection::{WaitKind, WorkflowStatus};
use crate::records::{RunQuery, RunTotals, TokenTotals};
use crate::sqlite::error::Done;
use crate::sqlite::row::from_i64;

/// What the agents of the one have used, and how the runs of the other stand: those that do not go on in another database.
pub(in crate::sqlite) fn totals(
    connection: &Connection,
    query: &RunQuery,
    here: &RunQuery,
) -> Done<RunTotals> {
    let mut totals = used(connection, &Conditions::of(query))?;
    for (status, count) in counts(connection, "r.status", &Conditions::of(here))? {
        totals.runs.extend(WorkflowStatus::parse(&status).map(|status| (status, count)));
    }
    for (kind, count) in counts(connection, WAITS_FOR, &Conditions::of(here).and_waits())? {
        totals.waiting.extend(WaitKind::parse(&kind).map(|kind| (kind, count)));
    }
    Ok(totals)
}

/// How many runs there are of each kind.
fn counts(connection: &Connection, by: &str, conditions: &Conditions) -> Done<Vec<(String, u64)>> {
    let shown = conditions.sql();
    let sql = format!("SELECT {by}, count(*) FROM workflow_runs r {shown} GROUP BY 1");
    let mut count = connection.prepare_cached(&sql)?;
    let rows = count.query_map(params_from_iter(conditions.parameters.iter()), |row| {
        Ok((row.get::<_, Option<String>>(0)?.unwrap_or_default(), from_i64(row.get(1)?)))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What the agents of these runs have used.
fn used(connection: &Connection, conditions: &Conditions) -> Done<RunTotals> {
    const SUMS: &str = "SELECT coalesce(sum(g.input_tokens), 0), coalesce(sum(g.output_tokens), 0), \
        coalesce(sum(g.cached_tokens), 0), coalesce(sum(g.cost_usd), 0.0) FROM agent_sessions g";
    // What a run has from another one counts there.
    const OWN: &str = "g.inherited = 0";
    let sql = match conditions.is_empty() {
        true => format!("{SUMS} WHERE {OWN}"),
        false => {
            let shown = conditions.sql();
            format!(
                "{SUMS} WHERE {OWN} AND g.execution_id IN (SELECT r.key FROM workflow_runs r {shown})"
            )
        }
    };
    let sums = |row: &Row<'_>| {
        let tokens = TokenTotals {
            input: from_i64(row.get(0)?),
            output: from_i64(row.get(1)?),
            cached: from_i64(row.get(2)?),
        };
        Ok(RunTotals { tokens, cost_usd: row.get(3)?, ..RunTotals::default() })
    };
    let mut ask = connection.prepare_cached(&sql)?;
    Ok(ask.query_row(params_from_iter(conditions.parameters.iter()), sums)?)
}
