//! `agentos doctor`: what is here to work with, and what was left behind.

mod agents;
mod repository;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use agentos_engine::background::Seat;
use agentos_process::case::Case;
use agentos_process::directory::Directory;
use agentos_process::tool::{Answer, Tool};
use agentos_store::records::Records as _;
use agentos_store::sqlite::SqliteStore;
use serde::Serialize;

use crate::error::Result;
use crate::session::Session;
use crate::supervise;
use crate::terminal::paint::Tone;
use crate::terminal::text::Line;

use agents::AgentReport;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

/// The tools that can be of use, and for what.
const TOOLS: [(&str, &str); 3] = [
    ("git", "repositories; without it nothing in a repository works"),
    ("jj", "workspaces in jj repositories"),
    ("direnv", "environments of checkouts with an .envrc"),
];

/// How long a tool may take to say its version. Some agents load for seconds before they do.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How many commands are looked at.
const COMMANDS: usize = 10_000;

#[derive(Serialize)]
struct Report {
    tools: Vec<ToolReport>,
    agents: Vec<AgentReport>,
    database: Option<DatabaseReport>,
    problems: Vec<String>,
    /// What is worth knowing, and no problem.
    notes: Vec<String>,
}

/// Most that is told of what a program says about its version, in characters.
const VERSION: usize = 80;

#[derive(Serialize)]
struct ToolReport {
    name: &'static str,
    version: Option<String>,
    purpose: &'static str,
}

#[derive(Serialize)]
struct DatabaseReport {
    path: String,
    bytes: u64,
    runs: u64,
    interrupted: usize,
    executor: bool,
    commands_running: usize,
    commands_left_behind: Vec<String>,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let mut problems = Vec::new();
    let tools: Vec<ToolReport> = TOOLS.into_iter().map(look_for).collect();
    if tools.iter().any(|tool| tool.name == "git" && tool.version.is_none()) {
        problems.push("git is not installed; install it".to_owned());
    }
    let agents = agents::look(session)?;
    let database = match session.look() {
        Ok(Some(store)) => Some(look_at(&store).await?),
        Ok(None) => None,
        Err(error) => {
            problems.push(error.message);
            None
        }
    };
    problems.extend(database.iter().flat_map(complaints));
    let found = repository::look(session).await?;
    problems.extend(found.problems);
    let report = Report { tools, agents, database, problems, notes: found.notes };
    match args.json {
        true => session.output.document(&report)?,
        false => session.output.lines(lines(session, &report))?,
    }
    Ok(if report.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn look_for((name, purpose): (&'static str, &'static str)) -> ToolReport {
    ToolReport { name, version: version_of(name), purpose }
}

/// What a program says about its version.
fn version_of(program: &str) -> Option<String> {
    let answer = Tool::new(program).args(["--version"]).timeout(TIMEOUT).run();
    answer.ok().filter(Answer::is_success).map(|answer| {
        let text = String::from_utf8_lossy(&answer.output).into_owned();
        // Whatever it says, it says it on one line of the report.
        text.lines().next().unwrap_or_default().trim().chars().take(VERSION).collect()
    })
}

async fn look_at(store: &SqliteStore) -> Result<DatabaseReport> {
    let path = store.path();
    let runs = store.count_runs().await?;
    let interrupted = interrupted(store).await?;
    let (running, left) = commands(&supervise::commands_folder(path));
    Ok(DatabaseReport {
        path: path.display().to_string(),
        bytes: path.metadata().map_or(0, |found| found.len()),
        runs: runs.values().sum(),
        interrupted,
        executor: Seat::is_taken(path)?,
        commands_running: running,
        commands_left_behind: left,
    })
}

async fn interrupted(store: &SqliteStore) -> Result<usize> {
    let statuses = vec![agentos_store::projection::WorkflowStatus::Running];
    let query = agentos_store::records::RunQuery { statuses, limit: 1_000, ..Default::default() };
    let running = store.query_runs(query).await?;
    Ok(running.runs.iter().filter(|run| run.interrupted).count())
}

/// How many commands run, and those whose supervisor is dead.
fn commands(folder: &Path) -> (usize, Vec<String>) {
    let children = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect::<Vec<_>>()
    };
    let all = children(folder).into_iter().flat_map(|run| children(&run)).take(COMMANDS);
    let (mut running, mut left) = (0, Vec::new());
    for path in all {
        match Directory::at(&path).and_then(|directory| Case::of(&directory)) {
            Ok(Case::Held) => running += 1,
            Ok(Case::Lost(_)) => left.push(path.display().to_string()),
            Ok(Case::Over(_) | Case::Nothing) | Err(_) => {}
        }
    }
    (running, left)
}

fn complaints(database: &DatabaseReport) -> Vec<String> {
    let mut problems = Vec::new();
    if database.interrupted > 0 {
        problems.push(format!(
            "{} interrupted; `agentos resume --due` goes on with what is due",
            match database.interrupted {
                1 => "1 run was".to_owned(),
                more => format!("{more} runs were"),
            }
        ));
    }
    if !database.commands_left_behind.is_empty() {
        problems.push(format!(
            "the supervisor of {} died; resuming the run ends what is left of it",
            database.commands_left_behind.join(", ")
        ));
    }
    problems
}

fn lines(session: &Session, report: &Report) -> Vec<String> {
    let paint = session.output.paint;
    let mut lines = Vec::new();
    for tool in &report.tools {
        let line = Line::of(Tone::Plain, &format!("{:<10}", tool.name));
        lines.push(match &tool.version {
            Some(version) => line.with(Tone::Good, version).painted(paint),
            None => line.with(Tone::Faint, &format!("not found ({})", tool.purpose)).painted(paint),
        });
    }
    lines.extend(report.agents.iter().map(|agent| agent.line().painted(paint)));
    lines.push(String::new());
    match &report.database {
        None => lines.push("database  none here yet".to_owned()),
        Some(found) => {
            let executor = if found.executor { "running" } else { "not running" };
            let runs = if found.runs == 1 { "run" } else { "runs" };
            lines.push(format!(
                "database  {} ({} kB, {} {runs})",
                found.path,
                found.bytes >> 10,
                found.runs
            ));
            lines.push(format!("executor  {executor}"));
            lines.push(format!("commands  {} running", found.commands_running));
        }
    }
    if !report.problems.is_empty() {
        lines.push(String::new());
        let told =
            report.problems.iter().map(|problem| Line::of(Tone::Warning, problem).painted(paint));
        lines.extend(told);
    }
    if !report.notes.is_empty() {
        lines.push(String::new());
        lines.extend(report.notes.iter().map(|note| format!("note: {note}")));
    }
    lines
}
