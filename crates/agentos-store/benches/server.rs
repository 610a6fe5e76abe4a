//! `cargo xtask bench server`: what it costs to ask the server instead of the database.
//!
//! | figure | beside |
//! |---|---|
//! | a page of runs, and one run, over REST at a million steps | the same rows in plain SQL, in this process |
//! | from `POST execute` until the first step runs | two commits with everything forced to disk |
//! | an idle server: memory and CPU | nothing |
//!
//! The program is the one beside this one: `target/release/agentos`.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]

#[path = "store/report.rs"]
mod report;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use agentos_store::sqlite::{Options, SqliteStore};
use report::Report;
use rusqlite::{Connection, Params};
use serde_json::Value;
use uuid::Uuid;

const RUNS: u32 = 50_000;
const STEPS: u32 = 20;
const ROUNDS: u32 = 300;
const STARTS: usize = 40;
const IDLE: Duration = Duration::from_secs(10);

/// What a run in a list has: its own columns, the ids of what it belongs to, and the step that it is at.
const RUN: &str = "r.key, r.id, r.run_id, (SELECT d.id FROM workflow_definitions d WHERE d.key = r.workflow_def_id), \
    (SELECT p.id FROM projects p WHERE p.key = r.project_id), r.workflow, r.definition_hash, r.definition_version, \
    r.status, r.waiting, r.started_at, r.completed_at, r.duration, r.branch_name, r.commit_sha, r.pr_url, \
    r.log_file_path, r.worktree_id, r.work_dir, r.workspace_dir, r.workspace_id, r.context_dir, r.parent_run_id, \
    r.forked_from, r.created_at, r.updated_at, r.head, r.owner, r.error, s.id, s.step_number, s.name, s.phase, \
    s.status, s.started_at, s.completed_at, s.duration, s.error, s.attempt_number, s.max_attempts, s.log_file_path, \
    s.created_at, s.updated_at, s.path";
const FROM: &str =
    "workflow_runs r LEFT JOIN workflow_steps s ON s.key = r.current_workflow_step_id";
const LATEST: &str =
    "ORDER BY coalesce(r.started_at, 9223372036854775807) DESC, r.id DESC LIMIT 50";
const COUNT: &str = "SELECT count(*) FROM workflow_runs";

/// What belongs to a run, by the run's key.
const STEPS_OF: &str = "SELECT id, step_number, name, phase, status, started_at, completed_at, duration, input, output, \
    error, attempt_number, max_attempts, log_file_path, created_at, updated_at, path FROM workflow_steps \
    WHERE execution_id = ?1 ORDER BY step_number";
const COMMENTS_OF: &str = "SELECT c.id, (SELECT s.id FROM workflow_steps s WHERE s.key = c.step_id), c.message, \
    c.metadata, c.author, c.created_at FROM workflow_comments c \
    WHERE c.execution_id = ?1 ORDER BY c.created_at, c.key";
const ARTIFACTS_OF: &str = "SELECT a.*, (SELECT s.id FROM workflow_steps s WHERE s.key = a.step_id) \
    FROM workflow_artifacts a WHERE a.execution_id = ?1 ORDER BY a.key";
const SESSIONS_OF: &str = "SELECT g.*, (SELECT s.id FROM workflow_steps s WHERE s.key = g.workflow_step_id) \
    FROM agent_sessions g WHERE g.execution_id = ?1 ORDER BY g.key";

/// The two queries that were compared with before: every column of runs and steps, and nothing else that belongs to a run.
const WIDE_LIST: &str = "SELECT r.*, s.* FROM workflow_runs r \
    LEFT JOIN workflow_steps s ON s.key = r.current_workflow_step_id \
    ORDER BY coalesce(r.started_at, 9223372036854775807) DESC, r.id DESC LIMIT 50";
const JOINED_DETAIL: &str = "SELECT r.*, s.* FROM workflow_runs r JOIN workflow_steps s ON s.execution_id = r.key \
    WHERE r.id = ?1 ORDER BY s.step_number";

const SQL_LIST: &str = "list in SQL";
const SQL_WIDE: &str = "list in SQL, every column";
const SQL_DETAIL: &str = "detail in SQL";
const SQL_JOINED: &str = "detail in SQL, run and steps only";

/// Other lists that people ask for.
const OTHERS: [(&str, &str); 3] = [
    ("list of one run over REST", "limit=1"),
    ("list of failed runs over REST", "status=FAILED&limit=50"),
    ("list, page 500, over REST", "limit=50&page=500"),
];

const WORKFLOW: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "waits", workspace: "none" }, async (ctx) => {
    await ctx.run("wait", async () => { await ctx.waitFor("never"); });
});"#;

fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let root = repository(folder.path());
    let mut report = Report::default();
    {
        let fresh = Server::start(folder.path(), &root);
        std::thread::sleep(Duration::from_secs(2));
        report.add("memory of a fresh server", "MB", fresh.memory_mb());
    }
    let file = fill(&root);
    let server = Server::start(folder.path(), &root);
    let mut client = Client::connect(&server.address);
    reading(&file, &mut client, &mut report);
    starting(folder.path(), &mut client, &mut report);
    idle(&server, &mut report);
    print!("{report}");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let kept = std::fs::create_dir_all(&results)
        .and_then(|()| std::fs::write(results.join("server.json"), report.to_json() + "\n"));
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

fn timed_us(work: &mut dyn FnMut()) -> f64 {
    timed(work) * 1e3
}

fn reading(file: &Path, client: &mut Client, report: &mut Report) {
    let bare = Connection::open(file).expect("the file opens");
    bare.pragma_update(None, "cache_size", -65_536).expect("SQLite knows its pragmas");
    let mut all = Vec::new();
    let nothing = "an answer that asks nobody";
    for round in 0..ROUNDS {
        let run = format!("{:08x}-0000-7000-8000-000000000000", round * 7_919 % RUNS + 1);
        report.add(nothing, "µs", timed_us(&mut || client.read("/healthz")));
        let took = timed_us(&mut || client.read("/api/executions?limit=50"));
        report.add("list over REST", "µs", took);
        all.push(took);
        for (what, query) in OTHERS {
            let path = format!("/api/executions?{query}");
            report.add(what, "µs", timed_us(&mut || client.read(&path)));
        }
        let list = format!("SELECT {RUN} FROM {FROM} {LATEST}");
        for (what, sql) in [(SQL_LIST, list.as_str()), (SQL_WIDE, WIDE_LIST)] {
            let took = timed_us(&mut || {
                rows(&bare, sql, ());
                rows(&bare, COUNT, ());
            });
            report.add(what, "µs", took);
        }
        let path = format!("/api/executions/{run}");
        let took = timed_us(&mut || client.read(&path));
        report.add("detail over REST", "µs", took);
        all.push(took);
        let detail =
            format!("SELECT {RUN}, r.input, r.output, r.state FROM {FROM} WHERE r.id = ?1");
        let took = timed_us(&mut || {
            bare.prepare_cached("BEGIN").and_then(|mut sql| sql.execute(())).expect("it begins");
            let key = rows(&bare, &detail, [&run]);
            for sql in [STEPS_OF, COMMENTS_OF, ARTIFACTS_OF, SESSIONS_OF] {
                rows(&bare, sql, [key]);
            }
            bare.prepare_cached("COMMIT").and_then(|mut sql| sql.execute(())).expect("it ends");
        });
        report.add(SQL_DETAIL, "µs", took);
        report.add(
            SQL_JOINED,
            "µs",
            timed_us(&mut || {
                rows(&bare, JOINED_DETAIL, [&run]);
            }),
        );
    }
    all.sort_by(f64::total_cmp);
    report.add("p99 of both over REST", "µs", all[all.len() * 99 / 100]);
    for sql in [SQL_LIST, SQL_WIDE] {
        report.ratio("list over REST", sql, "µs");
    }
    for sql in [SQL_DETAIL, SQL_JOINED] {
        report.ratio("detail over REST", sql, "µs");
    }
}

/// Reads every value of every row, as whoever wants to show them has to. The number that stands first in the last of them.
fn rows(connection: &Connection, sql: &str, asked: impl Params) -> i64 {
    let mut question = connection.prepare_cached(sql).expect("it is SQL");
    let columns = question.column_count();
    let mut rows = question.query(asked).expect("it answers");
    let (mut bytes, mut first) = (0, 0);
    while let Some(row) = rows.next().expect("a row") {
        first = row.get_ref(0).expect("a value").as_i64().unwrap_or(0);
        for column in 0..columns {
            let text = row.get_ref(column).expect("a value");
            bytes += text.as_str_or_null().ok().flatten().map_or(0, str::len);
        }
    }
    std::hint::black_box(bytes);
    first
}

fn starting(folder: &Path, client: &mut Client, report: &mut Report) {
    let plain = Connection::open(folder.join("plain.db")).expect("a file");
    let setup = "PRAGMA journal_mode = wal; PRAGMA synchronous = full; CREATE TABLE t (x)";
    plain.execute_batch(setup).expect("a table");
    for _ in 0..STARTS {
        let two = timed(&mut || {
            plain.execute("INSERT INTO t VALUES (1)", ()).expect("a commit");
            plain.execute("INSERT INTO t VALUES (1)", ()).expect("a commit");
        });
        report.add("two commits", "ms", two);
        let mut run = String::new();
        let took = timed(&mut || {
            let (status, mut shown) = client.post("/api/workflows/waits/execute", "{}");
            assert_eq!(status, 201, "{shown}");
            run = shown["id"].as_str().expect("an id").to_owned();
            while shown["steps"][0]["status"] != "RUNNING" {
                shown = client.get(&format!("/api/executions/{run}")).1;
            }
        });
        report.add("POST execute until the first step runs", "ms", took);
        report.add("the same, beyond two commits", "ms", took - two);
        client.post(&format!("/api/executions/{run}/cancel"), "{}");
    }
}

fn idle(server: &Server, report: &mut Report) {
    // What was begun for the last requests ends first.
    std::thread::sleep(Duration::from_secs(2));
    let (before, begun) = (server.cpu_ms(), Instant::now());
    std::thread::sleep(IDLE);
    let share = (server.cpu_ms() - before) / (begun.elapsed().as_secs_f64() * 1e3) * 100.0;
    report.add("CPU of an idle server", "%", share);
    report.add("memory of the server after all that", "MB", server.memory_mb());
}

/// A server in a process of its own.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(home: &Path, root: &Path) -> Self {
        let program = std::env::current_exe().ok().and_then(|this| {
            let program = this.parent()?.parent()?.join("agentos");
            program.exists().then_some(program)
        });
        let program = program.expect("`cargo build --release` was called");
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0"]).current_dir(root).stdout(Stdio::piped());
        command.env("HOME", home).env("XDG_STATE_HOME", home.join("state")).stdin(Stdio::null());
        let mut child = command.spawn().expect("the server starts");
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        while !line.starts_with("AgentOS is at http://") {
            line.clear();
            assert_ne!(said.read_line(&mut line).expect("it speaks"), 0, "it ended");
        }
        let address = line.trim_end().trim_start_matches("AgentOS is at http://").to_owned();
        // Whoever reads no more would end it with the next line.
        std::mem::forget(said);
        Self { child, address }
    }

    fn proc(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).expect("Linux")
    }

    fn memory_mb(&self) -> f64 {
        let status = self.proc("status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a figure");
        let kb: f64 = line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).expect("kB");
        kb / 1_024.0
    }

    /// As the scheduler counts it, which is finer than the clock of `stat`.
    fn cpu_ms(&self) -> f64 {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("Linux");
        let spent = threads.flatten().filter_map(|thread| {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<f64>().ok()
        });
        spent.sum::<f64>() / 1e6
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// One connection that stays open.
struct Client {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Client {
    fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("somebody listens");
        stream.set_nodelay(true).expect("a socket");
        Self { stream: BufReader::new(stream), address: address.to_owned() }
    }

    /// Takes an answer, and does not look into it: what a client does with it is not the server's.
    fn read(&mut self, path: &str) {
        let answer = self.ask(&format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address));
        assert_eq!(answer.0, 200, "{path}");
    }

    fn get(&mut self, path: &str) -> (u16, Value) {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        understood(self.ask(&request))
    }

    fn post(&mut self, path: &str, body: &str) -> (u16, Value) {
        let (address, length) = (&self.address, body.len());
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n"
        );
        understood(self.ask(&format!("{head}content-length: {length}\r\n\r\n{body}")))
    }

    fn ask(&mut self, request: &str) -> (u16, Vec<u8>) {
        self.stream.get_mut().write_all(request.as_bytes()).expect("it reads");
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("an answer");
            let line = line.trim_end().to_lowercase();
            if let Some(code) = line.strip_prefix("http/1.1 ") {
                status =
                    code.split(' ').next().and_then(|code| code.parse().ok()).expect("a status");
            } else if let Some(bytes) = line.strip_prefix("content-length:") {
                length = bytes.trim().parse().expect("a length");
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body");
        (status, body)
    }
}

fn understood((status, body): (u16, Vec<u8>)) -> (u16, Value) {
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

fn repository(folder: &Path) -> PathBuf {
    let root = folder.join("repo");
    let templates = root.join(".agent/workflows/templates");
    std::fs::create_dir_all(&templates).expect("a folder");
    std::fs::write(templates.join("waits.ts"), WORKFLOW).expect("a template");
    for words in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "first"]] {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let mut git = Command::new("git");
        git.args(who).args(words).current_dir(&root).env("HOME", folder);
        assert!(git.status().expect("git is there").success());
    }
    root
}

/// Rows as the store would have written them, without the logs behind them.
fn fill(root: &Path) -> PathBuf {
    let path = root.join(".agentos/issue_workflow.db");
    drop(SqliteStore::open(&path, Options::quiet(Uuid::from_u128(1))).expect("the store opens"));
    let steps = RUNS * STEPS;
    let sql = format!(
        "PRAGMA synchronous = off; BEGIN; \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {RUNS}) \
         INSERT INTO workflow_runs (key, id, run_id, workflow, definition_hash, status, started_at, completed_at, input, \
             created_at, updated_at, worktree_id, work_dir, current_workflow_step_id, head, epoch, standing) \
         SELECT i, printf('%08x-0000-7000-8000-000000000000', i), printf('bench-%06x', i), 'bench', 'h', \
             CASE i % 10 WHEN 0 THEN 'FAILED' ELSE 'COMPLETED' END, i * 1000, i * 1000 + 500, \
             '{{\"brief\":\"notes.md\"}}', i * 1000, i * 1000, 'main', '/code/project', i * {STEPS}, 100, 1, \
             CASE i % 10 WHEN 0 THEN 3 ELSE 2 END FROM n; \
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {steps} - 1) \
         INSERT INTO workflow_steps (key, id, execution_id, step_number, name, path, status, started_at, \
             completed_at, duration, output, created_at, updated_at) \
         SELECT i + 1, printf('%08x-0000-8000-8000-000000000000', i), i / {STEPS} + 1, \
             i % {STEPS} + 1, 'implement', '/implement#1', 'COMPLETED', i, i + 5, 5, \
             '{{\"exitCode\":0,\"stdout\":\"ok\"}}', i, i FROM n; \
         COMMIT; PRAGMA wal_checkpoint(TRUNCATE);"
    );
    let connection = Connection::open(&path).expect("the file opens");
    connection.execute_batch(&sql).expect("it is filled");
    path
}
