//! `cargo xtask soak`: the long suites with the full numbers, and a record of the last time each
//! passed.
//!
//! Each suite prints a line that starts with `summary:`, or how many of its tests passed. It becomes the suite's row in
//! docs/soak.md, with the date and the commit, so that a reader can tell how fresh the evidence is.
//! A suite that fails leaves its row alone: the table says when it last passed.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::release::{
    crowd_of_clients, crowd_of_pull_requests, crowd_of_runs, crowd_of_workspaces, databases,
    engine_kills, hunt_for_lost_work, real_agents, store_bench, storm_over_worktrees,
    testing_binary,
};
use crate::shell::{self, CommandLine, say};

const RECORD: &str = "docs/soak.md";

const NEW_RECORD: &str = "\
# Soak

The long suites, and the last time each passed. Run them with `cargo xtask soak`, which writes this table.

| suite | date | commit | summary |
|---|---|---|---|
";

/// The suites: a name for the record, and the command line.
fn suites() -> [(&'static str, CommandLine); 11] {
    [
        ("simulate", testing_binary("simulate", &["soak"])),
        ("store", store_bench("crowd", &[])),
        ("kills", engine_kills()),
        ("runs", crowd_of_runs()),
        ("one view", storm_over_worktrees()),
        ("agents", real_agents()),
        ("workspaces", crowd_of_workspaces()),
        ("lost work", hunt_for_lost_work()),
        ("databases", databases()),
        ("server", crowd_of_clients()),
        ("sdlc", crowd_of_pull_requests()),
    ]
}

/// What to hand to the suites.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The suite to run; all of them if left out
    #[arg(long)]
    suite: Option<String>,
    /// Arguments for the simulation, such as `--schedules 500 --seed 7`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    forwarded: Vec<String>,
}

/// Runs every suite and records its summary.
pub(crate) fn run(args: &Args) -> Result<()> {
    let is_wanted = |suite: &str| args.suite.as_deref().is_none_or(|wanted| wanted == suite);
    let wanted: Vec<_> = suites().into_iter().filter(|(suite, _)| is_wanted(suite)).collect();
    let known = suites().map(|(suite, _)| suite).join(", ");
    ensure!(!wanted.is_empty(), "there is no suite of that name; there are {known}");
    for (suite, command) in wanted {
        let forwarded = args.forwarded.iter().filter(|_| suite == "simulate").cloned();
        let lines = command.args(forwarded).run_and_listen()?;
        let summary = summary_of(&lines).with_context(|| {
            format!("{suite} passed but printed no line that starts with `summary:`")
        })?;
        let commit = commit();
        record(&Row { suite, date: &today()?, commit: &commit, summary: &summary })?;
        say(format!("recorded in {RECORD} for commit {commit}"));
    }
    Ok(())
}

fn summary_of(lines: &[String]) -> Option<String> {
    let told = lines.iter().rev().find_map(|line| line.strip_prefix("summary:"));
    told.map(|told| told.trim().to_owned()).or_else(|| tests_passed(lines))
}

/// How many tests passed, where a suite is nothing but tests. None is nothing to be proud of.
fn tests_passed(lines: &[String]) -> Option<String> {
    let results = lines.iter().filter_map(|line| line.strip_prefix("test result: ok. "));
    let passed: u32 = results.filter_map(|rest| rest.split(' ').next()?.parse::<u32>().ok()).sum();
    (passed > 0).then(|| format!("{passed} tests passed"))
}

fn today() -> Result<String> {
    CommandLine::new("date", ["-u", "+%F"]).output()
}

/// The commit that was soaked; what differs from it is admitted.
fn commit() -> String {
    let Ok(commit) = CommandLine::git(["rev-parse", "--short", "HEAD"]).output() else {
        return "not committed".to_owned();
    };
    // The record itself changes with every soak and decides nothing.
    let changes =
        CommandLine::git(["status", "--porcelain", "--", ".", &format!(":!{RECORD}")]).output();
    if changes.is_ok_and(|changes| changes.is_empty()) {
        commit
    } else {
        format!("{commit} + changes")
    }
}

struct Row<'a> {
    suite: &'a str,
    date: &'a str,
    commit: &'a str,
    summary: &'a str,
}

fn record(row: &Row<'_>) -> Result<()> {
    let path = shell::root().join(RECORD);
    let text = if path.exists() {
        fs::read_to_string(&path).with_context(|| format!("could not read {RECORD}"))?
    } else {
        NEW_RECORD.to_owned()
    };
    fs::write(&path, with_row(&text, row)).with_context(|| format!("could not write {RECORD}"))
}

/// The record with the suite's row replaced, or added at the end of the table.
fn with_row(text: &str, row: &Row<'_>) -> String {
    let key = format!("| {} |", row.suite);
    let summary = row.summary.replace('|', r"\|");
    let new = format!("{key} {} | {} | {summary} |", row.date, row.commit);
    let mut lines: Vec<&str> = text.lines().collect();
    if let Some(old) = lines.iter().position(|line| line.starts_with(&key)) {
        lines[old] = &new;
    } else {
        let end_of_table = lines
            .iter()
            .rposition(|line| line.starts_with('|'))
            .map_or(lines.len(), |last| last + 1);
        lines.insert(end_of_table, &new);
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'a>(suite: &'a str, summary: &'a str) -> Row<'a> {
        Row { suite, date: "2026-11-15", commit: "1a2b3c4", summary }
    }

    #[test]
    fn the_last_summary_line_counts() {
        let lines = ["summary: early", "noise", "summary: 10000 schedules, 0 failures", "done"]
            .map(str::to_owned);
        assert_eq!(summary_of(&lines).as_deref(), Some("10000 schedules, 0 failures"));
        assert_eq!(summary_of(&lines[1..2]), None);
    }

    #[test]
    fn tests_are_summed_up() {
        let lines = [
            "test result: ok. 14 passed; 0 failed; 0 ignored",
            "test result: ok. 0 passed; 0 failed",
            "test result: ok. 2 passed; 0 failed",
        ];
        assert_eq!(summary_of(&lines.map(str::to_owned)).as_deref(), Some("16 tests passed"));
        assert_eq!(summary_of(&[lines[1].to_owned()]), None, "nothing was tested");
    }

    #[test]
    fn a_suite_has_one_row_however_often_it_runs() {
        let first = with_row(NEW_RECORD, &row("simulate", "10 schedules"));
        let other = with_row(&first, &row("processes", "150 kills"));
        let again = with_row(&other, &row("simulate", "a | b"));
        assert_eq!(
            again.strip_prefix(NEW_RECORD).unwrap(),
            "| simulate | 2026-11-15 | 1a2b3c4 | a \\| b |\n| processes | 2026-11-15 | 1a2b3c4 | 150 kills |\n"
        );
    }

    #[test]
    fn prose_below_the_table_stays_below() {
        let text = format!("{NEW_RECORD}\nNotes.\n");
        let written = with_row(&text, &row("simulate", "fine"));
        assert!(written.ends_with("| fine |\n\nNotes.\n"), "{written}");
    }

    #[test]
    fn the_date_reads_year_month_day() {
        assert_eq!(today().unwrap().len(), "2026-11-15".len());
    }
}
