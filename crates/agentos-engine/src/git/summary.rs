//! What is told about a run in its pull request: what was done, by whom, and what it cost.
//!
//! Markdown that people read, within bounds: a run of a thousand steps shows the latest of them.

use agentos_core::value::Value;
use agentos_store::records::{ArtifactRecord, RunDetail, SessionRecord, StepRecord};
use agentos_workspace::version_control::LoggedCommit;

use super::propose::Proposal;
use super::template::Place;
use super::wish::Wish;

/// Most rows of a table, and most lines of a list.
pub(super) const ROWS: usize = 50;

/// Longest text in a row, in characters.
const CELL: usize = 120;

/// Everything that a body is made of.
pub(super) struct Summary<'a> {
    pub(super) wish: &'a Wish,
    pub(super) proposal: &'a Proposal,
    /// What is known of the run; none outside of a store.
    pub(super) run: Option<&'a RunDetail>,
    /// The number of the step that opens the pull request, which is not over.
    pub(super) step: Option<u32>,
}

impl Summary<'_> {
    pub(super) fn value(&self, place: Place) -> String {
        let base = &self.proposal.base;
        match place {
            Place::Title => self.wish.title.clone(),
            Place::Body => self.wish.body.trim().to_owned(),
            Place::Summary => self.whole(),
            Place::Workflow => self.run.map(|run| run.run.workflow.clone()).unwrap_or_default(),
            Place::RunId => self.run.map(|run| run.run.run_id.clone()).unwrap_or_default(),
            Place::Branch => base.head.clone(),
            Place::Base => base.base.clone(),
            Place::Commit => base.head_commit.clone(),
            Place::Behind => base.behind.to_string(),
            Place::Steps => self.steps(),
            Place::Agents => self.agents(),
            Place::Commits => commits(&self.proposal.commits),
            Place::Tests => self.tests(),
        }
    }

    fn whole(&self) -> String {
        let run = self.run.map(|RunDetail { run, .. }| {
            format!("Made by the run `{}` of the workflow `{}`.", run.run_id, run.workflow)
        });
        let titled = [
            ("Steps", self.steps()),
            ("Agents", self.agents()),
            ("Commits", commits(&self.proposal.commits)),
            ("Tests", self.tests()),
        ];
        let titled = titled.into_iter().filter(|(_, text)| !text.is_empty());
        let sections = titled.map(|(title, text)| format!("**{title}**\n\n{text}"));
        let parts: Vec<String> =
            run.into_iter().chain(sections).chain(behind(self.proposal)).collect();
        parts.join("\n\n")
    }

    fn steps(&self) -> String {
        let steps = self.run.map(|run| run.steps.as_slice()).unwrap_or_default();
        // An operation outside of a step is a detail, and whoever opens the pull request is not done.
        let told = |step: &&StepRecord| step.input.is_none() && Some(step.step_number) != self.step;
        let rows = steps.iter().filter(told).map(|step| {
            let name = match &step.phase {
                Some(phase) => format!("{phase} / {}", step.name),
                None => step.name.clone(),
            };
            [name, status(&step.status), step.duration.map(took).unwrap_or_default()]
        });
        table(["Step", "Status", "Took"], rows.collect())
    }

    fn agents(&self) -> String {
        let sessions = self.run.map(|run| run.agent_sessions.as_slice()).unwrap_or_default();
        let rows = sessions.iter().map(|session| {
            let who = [&session.agent, &session.model].into_iter().flatten();
            let who: Vec<&str> = who.map(String::as_str).collect();
            let cost = session.cost_usd.map(|cost| format!("${cost:.2}")).unwrap_or_default();
            [session.name.clone(), who.join(", "), status(&session.status), tokens(session), cost]
        });
        table(["Session", "Agent", "Status", "Tokens in / out", "Cost"], rows.collect())
    }

    fn tests(&self) -> String {
        let artifacts = self.run.map(|run| run.artifacts.as_slice()).unwrap_or_default();
        let reports = artifacts.iter().filter(|artifact| artifact.r#type == "TEST_REPORT");
        let lines: Vec<String> = reports.take(ROWS).map(report).collect();
        lines.join("\n")
    }
}

/// How far the base has gone on.
fn behind(proposal: &Proposal) -> Option<String> {
    let base = &proposal.base;
    match (proposal.is_rebased, base.behind) {
        (true, _) => Some(format!("Rebased onto `{}`.", base.base)),
        (false, 0) => None,
        (false, 1) => Some(format!("`{}` has 1 commit that this branch does not have.", base.base)),
        (false, count) => {
            Some(format!("`{}` has {count} commits that this branch does not have.", base.base))
        }
    }
}

fn commits(commits: &[LoggedCommit]) -> String {
    let line = |commit: &LoggedCommit| {
        let id: String = commit.sha.chars().take(10).collect();
        format!("- `{id}` {}", cell(&commit.subject))
    };
    commits.iter().take(ROWS).map(line).collect::<Vec<_>>().join("\n")
}

/// What was said about a report: numbers and words, not whole documents.
fn report(artifact: &ArtifactRecord) -> String {
    let fields = artifact.metadata.as_ref().and_then(Value::as_object);
    let said = fields.into_iter().flatten().filter_map(|(key, value)| match value {
        _ if key == "sha256" => None,
        Value::Number(number) => Some(format!("{key} {number}")),
        Value::Bool(is) => Some(format!("{key} {is}")),
        Value::String(text) => Some(format!("{key} {}", cell(text))),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    });
    let said: Vec<String> = said.take(10).collect();
    let colon = if said.is_empty() { "" } else { ": " };
    format!("- {}{colon}{}", cell(&artifact.name), said.join(", "))
}

fn tokens(session: &SessionRecord) -> String {
    match (session.input_tokens, session.output_tokens) {
        (None, None) => String::new(),
        (read, written) => {
            format!("{} / {}", grouped(read.unwrap_or(0)), grouped(written.unwrap_or(0)))
        }
    }
}

/// `12,345`
fn grouped(number: i64) -> String {
    let digits = number.max(0).to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// As people say it.
fn took(millis: i64) -> String {
    match millis.max(0) / 1_000 {
        0 => format!("{} ms", millis.max(0)),
        seconds @ 1..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// In small letters, as in a sentence.
fn status(status: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(status).unwrap_or_default();
    value.as_str().unwrap_or_default().to_lowercase()
}

/// The latest rows under a heading; nothing if there are none.
fn table<const N: usize>(heading: [&str; N], rows: Vec<[String; N]>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let left_out = rows.len().saturating_sub(ROWS);
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let mut lines = vec![line(&heading.map(str::to_owned)), line(&[(); N].map(|()| "---".into()))];
    lines.extend(rows[left_out..].iter().map(|row| {
        let cells: Vec<String> = row.iter().map(|text| cell(text)).collect();
        line(&cells)
    }));
    if left_out > 0 {
        lines.push(format!("\n({left_out} before these are left out)"));
    }
    lines.join("\n")
}

/// A text that stays in its cell: on one line, without what means something there.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = match line.char_indices().nth(CELL) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    // Names must not mention people, and comments must not swallow the rest.
    line.replace('|', "\\|").replace('<', "&lt;").replace('@', "@\u{200b}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_its_form_and_shows_the_latest_rows() {
        let rows = (0..ROWS + 2).map(|number| [format!("a|{number}"), "<!-- b\nc".to_owned()]);
        let text = table(["A", "B"], rows.collect());
        assert!(text.starts_with("| A | B |\n| --- | --- |\n| a\\|2 | &lt;!-- b c |\n"), "{text}");
        assert!(text.ends_with("\n(2 before these are left out)"), "{text}");
        assert_eq!(table(["A"], Vec::new()), "");
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [40, 1_999, 61_000, 3_660_000].map(took),
            ["40 ms", "1 s", "1 min 1 s", "1 h 1 min"]
        );
    }
}
