//! The text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::time::Duration;

use agentos_store::sqlite::{
    DURATION_BOUNDS_MS, DurationFigures, Figures, GROUP_BOUNDS, GroupFigures,
};

use crate::live::Audience;
use crate::traffic::{Answered, BOUNDS, CLASSES};

/// How many workflows are told of by name: those with the most runs. The others are told of together.
const WORKFLOWS: usize = 20;

/// Workflows that are not told of by name. No workflow can be called so.
const OTHERS: &str = "(others)";

/// Figures, one after the other.
struct Text(String);

/// What is counted by size: the bounds, how many are within each, how many there are, and their sum.
struct Sizes<'a> {
    up_to: Vec<(String, u64)>,
    count: u64,
    sum: &'a dyn Display,
}

impl Text {
    // Writing to a text can't fail.

    fn head(&mut self, name: &str, kind: &str, what: &str) {
        let _written = writeln!(self.0, "# HELP {name} {what}\n# TYPE {name} {kind}");
    }

    fn one(&mut self, name: &str, kind: &str, what: &str, value: impl Display) {
        self.head(name, kind, what);
        let _written = writeln!(self.0, "{name} {value}");
    }

    fn labelled(&mut self, name: &str, (label, key): (&str, &str), value: impl Display) {
        let key = escaped(key);
        let _written = writeln!(self.0, "{name}{{{label}=\"{key}\"}} {value}");
    }

    fn each(&mut self, name: &str, label: &str, what: &str, values: &BTreeMap<String, u64>) {
        self.head(name, "gauge", what);
        for (key, value) in values {
            self.labelled(name, (label, key), value);
        }
    }

    /// A histogram, without its head; `label` stands before the others.
    fn sizes(&mut self, name: &str, label: Option<(&str, &str)>, sizes: &Sizes<'_>) {
        let own = label.map(|(label, key)| format!("{label}=\"{}\"", escaped(key)));
        let first = own.as_ref().map(|own| format!("{own},")).unwrap_or_default();
        for (bound, count) in &sizes.up_to {
            let _written = writeln!(self.0, "{name}_bucket{{{first}le=\"{bound}\"}} {count}");
        }
        let (count, sum) = (sizes.count, sizes.sum);
        let own = own.map(|own| format!("{{{own}}}")).unwrap_or_default();
        let _written = writeln!(
            self.0,
            "{name}_bucket{{{first}le=\"+Inf\"}} {count}\n{name}_sum{own} {sum}\n{name}_count{own} {count}"
        );
    }

    fn durations(&mut self, name: &str, label: Option<(&str, &str)>, found: &DurationFigures) {
        let seconds = |ms: u64| Duration::from_millis(ms).as_secs_f64();
        let bounds = DURATION_BOUNDS_MS.iter().map(|ms| seconds(ms.unsigned_abs()).to_string());
        let (up_to, sum) = (bounds.zip(found.up_to).collect(), seconds(found.sum_ms));
        self.sizes(name, label, &Sizes { up_to, count: found.count, sum: &sum });
    }
}

/// A label's value may be anything.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// What is in the databases.
pub(super) fn of_databases(
    all: &Figures,
    (databases, unreadable): (usize, usize),
    disk: u64,
) -> String {
    let mut text = Text(String::new());
    text.head("agentos_info", "gauge", "The program.");
    text.labelled("agentos_info", ("version", env!("CARGO_PKG_VERSION")), 1);
    text.each("agentos_runs", "status", "Runs, by status.", &all.runs);
    text.one("agentos_queue", "gauge", "Runs that have not ended.", all.queue);
    let name = "agentos_run_duration_seconds";
    text.head(name, "histogram", "How long runs took that have ended, by workflow.");
    for (workflow, durations) in by_workflow(&all.run_durations) {
        text.durations(name, Some(("workflow", workflow)), &durations);
    }
    text.each("agentos_steps", "status", "Steps, by status.", &all.steps);
    let name = "agentos_step_duration_seconds";
    text.head(name, "histogram", "How long steps took that have ended.");
    text.durations(name, None, &all.step_durations);
    text.one("agentos_commits_total", "counter", "Commits of turns that are kept.", all.commits);
    let (read, wrote, cached) = all.tokens;
    text.head("agentos_agent_tokens_total", "counter", "Tokens of agents.");
    for (kind, tokens) in [("input", read), ("output", wrote), ("cached", cached)] {
        text.labelled("agentos_agent_tokens_total", ("kind", kind), tokens);
    }
    let cost = all.cost_usd;
    text.one("agentos_agent_cost_usd_total", "counter", "What agents cost, as far as known.", cost);
    text.each("agentos_workspaces", "status", "Workspaces, by status.", &all.workspaces);
    text.one("agentos_artifact_bytes", "gauge", "Bytes of artifacts.", all.artifact_bytes);
    text.one("agentos_database_bytes", "gauge", "Bytes of databases.", disk);
    text.one("agentos_databases", "gauge", "Databases that can be read.", databases);
    text.one("agentos_databases_unreadable", "gauge", "Databases that can't.", unreadable);
    text.0
}

/// The workflows with the most runs, by name, and all others together.
fn by_workflow(all: &BTreeMap<String, DurationFigures>) -> BTreeMap<&str, DurationFigures> {
    let mut ranked: Vec<(&String, &DurationFigures)> = all.iter().collect();
    ranked.sort_by_key(|(name, durations)| (std::cmp::Reverse(durations.count), *name));
    let mut told = BTreeMap::new();
    for (rank, (name, durations)) in ranked.into_iter().enumerate() {
        let name = if rank < WORKFLOWS { name.as_str() } else { OTHERS };
        told.entry(name).or_insert_with(DurationFigures::default).add(durations);
    }
    told
}

/// What this process has done so far.
pub(super) fn of_this_process(
    answered: &Answered,
    audience: Audience,
    groups: Vec<GroupFigures>,
) -> String {
    let mut text = Text(String::new());
    let name = "agentos_http_requests_total";
    text.head(name, "counter", "Requests that were answered, by class of status.");
    for (class, count) in CLASSES.iter().zip(answered.by_class) {
        text.labelled(name, ("status", class), count);
    }
    let name = "agentos_http_request_duration_seconds";
    text.head(name, "histogram", "How long it took until an answer began.");
    let up_to = BOUNDS.iter().map(ToString::to_string).zip(answered.up_to).collect();
    let sum = &answered.seconds;
    text.sizes(name, None, &Sizes { up_to, count: answered.count, sum });
    text.one("agentos_websockets", "gauge", "WebSockets that are open.", audience.sockets);
    let name = "agentos_subscriptions";
    text.head(name, "gauge", "How often somebody follows a run or a project.");
    text.labelled(name, ("to", "run"), audience.runs);
    text.labelled(name, ("to", "project"), audience.projects);
    let name = "agentos_commit_group_size";
    text.head(name, "histogram", "Commits of turns that shared a transaction of this process.");
    let sum = |of: &dyn Fn(&GroupFigures) -> u64| groups.iter().map(of).sum::<u64>();
    let within = |at: usize| sum(&|group: &GroupFigures| group.up_to[at]);
    let up_to = GROUP_BOUNDS.iter().enumerate().map(|(at, size)| (size.to_string(), within(at)));
    let (count, commits) = (sum(&|group| group.count), sum(&|group| group.sum));
    text.sizes(name, None, &Sizes { up_to: up_to.collect(), count, sum: &commits });
    text.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_many_workflows_only_some_are_told_of_by_name() {
        let of = |count: u64| DurationFigures { count, ..DurationFigures::default() };
        let all: BTreeMap<String, DurationFigures> =
            (1..=50).map(|number| (format!("w{number}"), of(number))).collect();
        let told = by_workflow(&all);
        assert_eq!(told.len(), WORKFLOWS + 1);
        assert_eq!((told["w50"].count, told["w31"].count), (50, 31));
        assert_eq!(told[OTHERS].count, (1..=30).sum::<u64>());
    }

    #[test]
    fn whatever_a_label_says_the_text_stays_readable() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
