//! `cargo xtask bench view`: `agentos status` over many databases, against one plain `sqlite3` call for each.
//!
//! Twenty worktrees with 5,000 runs and 50,000 steps each. What counts is the time of whole processes, as somebody who waits
//! for a prompt has it. The program is the one beside this one: `target/release/agentos`.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]

#[path = "store/report.rs"]
mod report;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use agentos_store::sqlite::{Options, SqliteStore};
use report::Report;
use rusqlite::Connection;
use uuid::Uuid;

const DATABASES: u32 = 20;
const RUNS: u32 = 5_000;
const STEPS: u32 = 10;
const ROUNDS: usize = 30;

const OURS: &str = "agentos status, 20 databases";
const JSON: &str = "agentos status --json, 20 databases";
const QUERY: &str = "agentos query, count of steps by status";
const THEIRS: &str = "sqlite3, one call for each";

/// What is asked of each file: the page, and how many there are.
const PLAIN: &str = "SELECT r.run_id, r.status, r.worktree_id, r.started_at, r.completed_at, s.name FROM workflow_runs r \
    LEFT JOIN workflow_steps s ON s.key = r.current_workflow_step_id \
    ORDER BY coalesce(r.started_at, 9223372036854775807) DESC, r.key DESC LIMIT 20; SELECT count(*) FROM workflow_runs;";

fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let roots = repository(folder.path());
    let files: Vec<PathBuf> =
        (0..).zip(&roots).map(|(number, root)| database(number, root)).collect();
    let program = std::env::current_exe()
        .ok()
        .and_then(|this| Some(this.parent()?.parent()?.join("agentos")));
    let program = program.filter(|path| path.exists()).expect("`cargo build --release` was called");
    let mut report = Report::default();
    for _round in 0..ROUNDS {
        let ours = |arguments: &[&str]| {
            timed(&mut || {
                call(Command::new(&program).args(arguments).current_dir(&roots[0]), folder.path())
            })
        };
        report.add(OURS, "ms", ours(&["status", "--all"]));
        let theirs = timed(&mut || {
            for file in &files {
                call(Command::new("sqlite3").arg("-readonly").arg(file).arg(PLAIN), folder.path());
            }
        });
        report.add(THEIRS, "ms", theirs);
        report.add(JSON, "ms", ours(&["status", "--all", "--json"]));
    }
    for _round in 0..3 {
        let sql = "SELECT status, count(*) FROM workflow_steps GROUP BY status";
        let ours = || {
            call(Command::new(&program).args(["query", sql]).current_dir(&roots[0]), folder.path())
        };
        report.add(QUERY, "ms", timed(&mut || ours()));
    }
    report.ratio(OURS, THEIRS, "ms");
    print!("{report}");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let kept = std::fs::create_dir_all(&results)
        .and_then(|()| std::fs::write(results.join("view.json"), report.to_json() + "\n"));
    match kept {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: could not write to {}: {error}", results.display());
            ExitCode::FAILURE
        }
    }
}

fn timed(work: &mut dyn FnMut()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1e3
}

fn call(command: &mut Command, home: &Path) {
    command.env("HOME", home).env("XDG_STATE_HOME", home.join("state"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    let status = command.status().expect("the program is there");
    assert!(status.success(), "{command:?}: {status}");
}

/// A repository and its worktrees.
fn repository(folder: &Path) -> Vec<PathBuf> {
    let root = folder.join("repo");
    std::fs::create_dir(&root).expect("a folder");
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        call(Command::new("git").args(who).args(arguments).current_dir(&root), folder);
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let mut roots = vec![root.clone()];
    for number in 1..DATABASES {
        let path = folder.join(format!("tree-{number}"));
        git(&["worktree", "add", "-q", "-b", &format!("b{number}"), &path.to_string_lossy()]);
        roots.push(path);
    }
    roots
}

/// Rows as the store would have written them, without the logs behind them.
fn database(number: u32, root: &Path) -> PathBuf {
    let path = root.join(".agentos/issue_workflow.db");
    std::fs::create_dir(root.join(".agentos")).expect("a folder");
    let id = Uuid::from_u128(u128::from(number) + 1);
    drop(SqliteStore::open(&path, Options::quiet(id)).expect("the store opens"));
    let steps = RUNS * STEPS;
    let sql = format!(
        "PRAGMA synchronous = off; BEGIN; \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {RUNS}) \
         INSERT INTO workflow_runs (key, id, run_id, workflow, definition_hash, status, started_at, completed_at, input, \
             created_at, updated_at, worktree_id, work_dir, current_workflow_step_id, head, epoch, standing) \
         SELECT i, printf('%08x-0000-7000-8000-%012x', i, {number}), printf('bench{number}-%06x', i), 'bench', 'h', \
             CASE i % 10 WHEN 0 THEN 'FAILED' ELSE 'COMPLETED' END, i * 1000 + {number}, i * 1000 + 500, \
             '{{\"brief\":\"notes.md\"}}', i * 1000, i * 1000, 'tree-{number}', '/code/project', i * {STEPS}, 100, 1, \
             CASE i % 10 WHEN 0 THEN 3 ELSE 2 END FROM n; \
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {steps} - 1) \
         INSERT INTO workflow_steps (key, id, execution_id, step_number, name, path, status, started_at, \
             completed_at, duration, output, created_at, updated_at) \
         SELECT i + 1, printf('%08x-0000-8000-8000-%012x', i, {number}), i / {STEPS} + 1, \
             i % {STEPS} + 1, 'implement', '/implement#1', 'COMPLETED', i, i + 5, 5, \
             '{{\"exitCode\":0,\"stdout\":\"ok\"}}', i, i FROM n; \
         COMMIT; PRAGMA wal_checkpoint(TRUNCATE);"
    );
    let connection = Connection::open(&path).expect("the file opens");
    connection.execute_batch(&sql).expect("it is filled");
    path
}
