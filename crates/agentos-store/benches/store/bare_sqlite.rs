//! SQLite by itself, to be measured beside ours: one row a commit, or the rows of a step, and a thread that merges those
//! that wait.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc;

use rusqlite::Connection;
use tokio::sync::oneshot;

fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("the file opens");
    let set = |name: &str, value: &str| {
        connection
            .pragma_update_and_check(None, name, value, |_| Ok(()))
            .or_else(|_| connection.pragma_update(None, name, value))
            .expect("SQLite knows its pragmas");
    };
    set("journal_mode", "wal");
    set("synchronous", "full");
    set("cache_size", "-65536");
    connection.execute_batch(TABLES).expect("tables are made");
    connection
}

const TABLES: &str = "\
    CREATE TABLE IF NOT EXISTS log (position INTEGER PRIMARY KEY, run INTEGER, first INTEGER, chunk TEXT);
    CREATE TABLE IF NOT EXISTS found (position INTEGER PRIMARY KEY, run INTEGER, first INTEGER, chunk TEXT);
    CREATE UNIQUE INDEX IF NOT EXISTS found_of_run ON found (run, first);
    CREATE TABLE IF NOT EXISTS runs (key INTEGER PRIMARY KEY, head INTEGER, step INTEGER, rest TEXT);
    CREATE TABLE IF NOT EXISTS steps (key INTEGER PRIMARY KEY, id TEXT, run INTEGER, number INTEGER, name TEXT, \
        status TEXT, started_at INTEGER, completed_at INTEGER);
    CREATE UNIQUE INDEX IF NOT EXISTS steps_of_run ON steps (run, number)";

/// What a commit writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// One row, which nothing has to find again.
    One,
    /// What a step needs to be found again: its row of the log, the run's own, the step that ends and the one that begins;
    /// each by a key that is known already, and nothing is checked.
    OfAStep,
}

type Row = (usize, oneshot::Sender<()>);

/// A thread that writes every row that waits in one transaction.
#[derive(Debug)]
pub(crate) struct Merging {
    queue: mpsc::Sender<Row>,
}

impl Merging {
    /// Starts the thread. Every row of the log holds `chunk`.
    pub(crate) fn start(path: &Path, rows: Rows, chunk: String) -> Self {
        let connection = connect(path);
        let (queue, received) = mpsc::channel();
        let table = Table { connection, rows, chunk, last: HashMap::new(), first: 0 };
        std::thread::spawn(move || table.write(&received));
        Self { queue }
    }

    /// Inserts a row, and returns when it is on the disk.
    pub(crate) async fn insert(&self, run: usize) {
        let (reply, answer) = oneshot::channel();
        self.queue.send((run, reply)).expect("the thread lives");
        answer.await.expect("the thread answers");
    }
}

struct Table {
    connection: Connection,
    rows: Rows,
    chunk: String,
    /// The latest step of each run.
    last: HashMap<i64, i64>,
    first: i64,
}

impl Table {
    fn execute(&self, sql: &str, values: impl rusqlite::Params) {
        let mut statement = self.connection.prepare_cached(sql).expect("it is SQL");
        statement.execute(values).expect("it is carried out");
    }

    fn write(mut self, received: &mpsc::Receiver<Row>) {
        while let Ok(row) = received.recv() {
            let batch: Vec<Row> = std::iter::once(row).chain(received.try_iter()).collect();
            self.execute("BEGIN IMMEDIATE", ());
            for (number, _) in &batch {
                self.first += 1;
                let run = i64::try_from(*number).unwrap_or(0);
                match self.rows {
                    Rows::One => self.write_one(run),
                    Rows::OfAStep => self.write_step(run),
                }
            }
            self.execute("COMMIT", ());
            for (_, reply) in batch {
                let _heard = reply.send(());
            }
        }
    }

    fn write_one(&self, run: i64) {
        let insert = "INSERT INTO log (run, first, chunk) VALUES (?1, ?2, ?3)";
        self.execute(insert, (run, self.first, &self.chunk));
    }

    fn write_step(&mut self, run: i64) {
        let first = self.first;
        let insert = "INSERT INTO found (run, first, chunk) VALUES (?1, ?2, ?3)";
        self.execute(insert, (run, first, &self.chunk));
        match self.last.get(&run) {
            Some(step) => {
                let update =
                    "UPDATE steps SET status = 'COMPLETED', completed_at = ?2 WHERE key = ?1";
                self.execute(update, (step, first));
            }
            None => {
                self.execute("INSERT INTO runs VALUES (?1, 0, NULL, ?2)", (run, &self.chunk[..200]))
            }
        }
        let insert = "INSERT INTO steps (id, run, number, name, status, started_at) \
                      VALUES ('00000000-0000-8f9e-8764-034d37df4ad1', ?1, ?2, 'step', 'RUNNING', ?2)";
        self.execute(insert, (run, first));
        let step = self.connection.last_insert_rowid();
        self.last.insert(run, step);
        self.execute("UPDATE runs SET head = ?2, step = ?3 WHERE key = ?1", (run, first, step));
    }
}
