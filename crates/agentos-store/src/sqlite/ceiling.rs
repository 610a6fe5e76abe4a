//! SQLite by itself, to be measured beside ours: one row a commit, and a thread that merges those that wait.
//!
//! Only with the feature `ceiling`; nothing but benchmarks uses it.

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
    connection
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS log (position INTEGER PRIMARY KEY, run INTEGER, first INTEGER, chunk TEXT)",
        )
        .expect("a table is made");
    connection
}

type Row = (usize, oneshot::Sender<()>);

/// A thread that writes every row that waits in one transaction.
#[derive(Debug)]
pub struct Merging {
    queue: mpsc::Sender<Row>,
}

impl Merging {
    /// Starts the thread. Every row holds `chunk`.
    ///
    /// # Panics
    /// If the file can't be opened.
    #[must_use]
    pub fn start(path: &Path, chunk: String) -> Self {
        let connection = connect(path);
        let (queue, rows) = mpsc::channel();
        std::thread::spawn(move || write(&connection, &rows, &chunk));
        Self { queue }
    }

    /// Inserts a row, and returns when it is on the disk.
    ///
    /// # Panics
    /// If the thread has failed.
    pub async fn insert(&self, run: usize) {
        let (reply, answer) = oneshot::channel();
        self.queue.send((run, reply)).expect("the thread lives");
        answer.await.expect("the thread answers");
    }
}

fn write(connection: &Connection, rows: &mpsc::Receiver<Row>, chunk: &str) {
    let run = |sql: &str| {
        connection
            .prepare_cached(sql)
            .and_then(|mut sql| sql.execute(()))
            .expect("it is carried out")
    };
    let mut first = 0_i64;
    while let Ok(row) = rows.recv() {
        let batch: Vec<Row> = std::iter::once(row).chain(rows.try_iter()).collect();
        run("BEGIN IMMEDIATE");
        for (number, _) in &batch {
            first += 1;
            connection
                .prepare_cached("INSERT INTO log (run, first, chunk) VALUES (?1, ?2, ?3)")
                .and_then(|mut sql| {
                    sql.execute((i64::try_from(*number).unwrap_or(0), first, chunk))
                })
                .expect("a row is inserted");
        }
        run("COMMIT");
        for (_, reply) in batch {
            let _heard = reply.send(());
        }
    }
}
