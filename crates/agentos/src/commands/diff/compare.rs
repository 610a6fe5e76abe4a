//! Two runs side by side: how each of their steps went, how long it took and what it cost.

use agentos_store::records::{RunDetail, SessionRecord, StepRecord};
use serde::Serialize;

use crate::output::Output;
use crate::terminal::duration;
use crate::terminal::paint::Tone;
use crate::terminal::table::{Column, Table};
use crate::terminal::text::Line;

/// How a step or a whole run went.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct Went {
    status: String,
    attempts: Option<u32>,
    duration_ms: Option<i64>,
    tokens: i64,
    cost_usd: Option<f64>,
}

/// A step, in one run or in both.
#[derive(Debug, Clone, Serialize)]
struct Row {
    /// Where in the run it stands.
    path: String,
    name: String,
    one: Option<Went>,
    other: Option<Went>,
}

/// Two runs side by side.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Compared {
    steps: Vec<Row>,
    one: Went,
    other: Went,
}

impl Compared {
    pub(super) fn of(one: &RunDetail, other: &RunDetail) -> Self {
        let mut steps: Vec<Row> = one.steps.iter().map(|step| row(step, Some(one), None)).collect();
        // What only the other has stands after what both have before it.
        let mut place = 0;
        for step in &other.steps {
            match steps.iter().position(|row| row.path == step.path) {
                Some(found) => {
                    steps[found].other = Some(went(step, other));
                    place = found + 1;
                }
                None => {
                    steps.insert(place, row(step, None, Some(other)));
                    place += 1;
                }
            }
        }
        Self { steps, one: whole(one), other: whole(other) }
    }

    /// A table of them.
    pub(super) fn lines(&self, output: &Output, (one, other): (&str, &str)) -> Vec<String> {
        let mut table = Table::new(&[
            Column::text("STEP"),
            Column::text("RUN"),
            Column::text("STATUS"),
            Column::number("TIME"),
            Column::number("TOKENS"),
            Column::number("COST"),
        ]);
        for step in &self.steps {
            put(&mut table, &step.name, [(one, step.one.as_ref()), (other, step.other.as_ref())]);
        }
        put(&mut table, "all", [(one, Some(&self.one)), (other, Some(&self.other))]);
        table.lines(output.size.map(|size| size.width), output.paint)
    }
}

/// Two lines if both runs have it.
fn put(table: &mut Table, name: &str, sides: [(&str, Option<&Went>); 2]) {
    let there = sides.into_iter().filter_map(|(run, went)| Some((run, went?)));
    for (index, (run, went)) in there.enumerate() {
        let name = if index == 0 { name } else { "" };
        let tries = went.attempts.filter(|tries| *tries > 1);
        let tries = tries.map(|tries| format!(" (attempt {tries})")).unwrap_or_default();
        table.row(vec![
            Line::of(Tone::Strong, name),
            Line::of(Tone::Faint, run),
            Line::of(tone(&went.status), &went.status).with(Tone::Faint, &tries),
            Line::of(Tone::Plain, &went.duration_ms.map(duration::span).unwrap_or_default()),
            Line::of(Tone::Plain, &tokens(went.tokens)),
            Line::of(Tone::Plain, &went.cost_usd.map(cost).unwrap_or_default()),
        ]);
    }
}

fn tone(status: &str) -> Tone {
    match status {
        "COMPLETED" => Tone::Good,
        "FAILED" | "TIMED_OUT" => Tone::Bad,
        "RUNNING" | "RETRYING" => Tone::Busy,
        _ => Tone::Faint,
    }
}

fn tokens(count: i64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

fn cost(usd: f64) -> String {
    format!("${usd:.4}")
}

fn row(step: &StepRecord, one: Option<&RunDetail>, other: Option<&RunDetail>) -> Row {
    Row {
        path: step.path.clone(),
        name: step.name.clone(),
        one: one.map(|run| went(step, run)),
        other: other.map(|run| went(step, run)),
    }
}

fn went(step: &StepRecord, run: &RunDetail) -> Went {
    let sessions = run.agent_sessions.iter();
    let sessions = sessions.filter(|found| found.workflow_step_id == Some(step.id));
    let (tokens, cost_usd) = spent(sessions);
    Went {
        status: step.status.as_str().to_owned(),
        attempts: Some(step.attempt_number),
        duration_ms: step.duration,
        tokens,
        cost_usd,
    }
}

fn whole(run: &RunDetail) -> Went {
    let (tokens, cost_usd) = spent(run.agent_sessions.iter());
    Went {
        status: run.run.status.as_str().to_owned(),
        attempts: None,
        duration_ms: run.run.duration,
        tokens,
        cost_usd,
    }
}

/// What sessions have sent and written, and what that cost as far as it is known.
fn spent<'a>(sessions: impl Iterator<Item = &'a SessionRecord>) -> (i64, Option<f64>) {
    sessions.fold((0, None), |(tokens, cost), session| {
        let more = session.input_tokens.unwrap_or(0) + session.output_tokens.unwrap_or(0);
        let cost = match (cost, session.cost_usd) {
            (None, cost) | (cost, None) => cost,
            (Some(one), Some(other)) => Some(one + other),
        };
        (tokens + more, cost)
    })
}
