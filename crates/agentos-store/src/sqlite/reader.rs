//! Reader threads: what is read never waits for what is written, and never holds up an executor.
//!
//! Threads are started when there is more to read than there are threads, up to [`READERS`]. Each has its own connection.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::error::{Done, Fault};
use super::lock::FileIdentity;
use super::restore;

/// Most threads that read at once.
const READERS: usize = 4;

type Question = Box<dyn FnOnce(Done<&Connection>) + Send>;

#[derive(Default)]
struct Queue {
    questions: VecDeque<Question>,
    threads: Vec<JoinHandle<()>>,
    idle: usize,
    closed: bool,
}

/// How a reader opens the file.
pub(super) type Open = fn(&Path) -> Done<Connection>;

/// Which history is to be read: the file it was in when the store was opened, and its identity, in case that it is found
/// in another.
pub(super) struct History {
    pub(super) file: Option<FileIdentity>,
    pub(super) store_id: String,
}

impl History {
    fn is_in(&self, path: &Path, found: Option<FileIdentity>) -> bool {
        found == self.file || restore::holds(path, &self.store_id)
    }
}

struct Shared {
    path: PathBuf,
    open: Open,
    /// What is to be read; whatever the path names if this is none.
    history: Option<History>,
    queue: Mutex<Queue>,
    news: Condvar,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // A question that panics has answered nobody; the queue is as good as before.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The readers of one store.
pub(super) struct Readers {
    shared: Arc<Shared>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, open: Open, history: Option<History>) -> Self {
        let shared = Shared { path, open, history, queue: Mutex::default(), news: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Asks in one read transaction: everything that `ask` sees is of one moment.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Connection) -> Done<T> + Send + 'static,
    ) -> Done<T> {
        let (reply, answer) = oneshot::channel();
        let question: Question = Box::new(move |connection| {
            // Whoever has stopped waiting does not hear it.
            let _heard =
                reply.send(connection.and_then(|connection| at_one_moment(connection, ask)));
        });
        self.put(question)?;
        answer.await.unwrap_or_else(|_| Err(Fault::permanent("a reader has ended")))
    }

    fn put(&self, question: Question) -> Done<()> {
        let mut queue = self.shared.queue();
        queue.questions.push_back(question);
        if queue.idle < queue.questions.len() && queue.threads.len() < READERS {
            let shared = Arc::clone(&self.shared);
            let started = thread::Builder::new()
                .name("sqlite-reader".into())
                .spawn(move || answer_questions(&shared));
            match started {
                Ok(thread) => queue.threads.push(thread),
                Err(error) if queue.threads.is_empty() => {
                    queue.questions.clear();
                    return Err(Fault::permanent(format!("no thread could be started: {error}")));
                }
                // The others get to it.
                Err(_) => {}
            }
        }
        self.shared.news.notify_one();
        Ok(())
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        queue.closed = true;
        let threads = std::mem::take(&mut queue.threads);
        drop(queue);
        self.shared.news.notify_all();
        for thread in threads {
            // A question that panicked was answered by that.
            let _ended = thread.join();
        }
    }
}

fn at_one_moment<T>(connection: &Connection, ask: impl FnOnce(&Connection) -> Done<T>) -> Done<T> {
    connection.prepare_cached("BEGIN")?.execute(())?;
    let answer = ask(connection);
    // Nothing was changed, so this ends the transaction in any case.
    let _ended = connection.prepare_cached("COMMIT")?.execute(());
    answer
}

fn answer_questions(shared: &Shared) {
    let mut open: Option<(Connection, Option<FileIdentity>)> = None;
    while let Some(question) = next_question(shared) {
        match current(shared, &mut open) {
            Ok(connection) => question(Ok(connection)),
            Err(fault) => question(Err(fault)),
        }
    }
}

fn next_question(shared: &Shared) -> Option<Question> {
    let mut queue = shared.queue();
    loop {
        if let Some(question) = queue.questions.pop_front() {
            return Some(question);
        }
        if queue.closed {
            return None;
        }
        queue.idle += 1;
        queue = shared.news.wait(queue).unwrap_or_else(PoisonError::into_inner);
        queue.idle -= 1;
    }
}

/// The connection to the file that the path names now. While it names none, or another, the old one still has everything.
fn current<'a>(
    shared: &Shared,
    open: &'a mut Option<(Connection, Option<FileIdentity>)>,
) -> Done<&'a Connection> {
    let path = &shared.path;
    let found =
        FileIdentity::of_path(path).map_err(|error| Fault::io("can't look at", path, &error))?;
    let is_current = open.as_ref().is_some_and(|(_, known)| found.is_none() || *known == found);
    if !is_current {
        let is_ours = shared.history.as_ref().is_none_or(|ours| ours.is_in(path, found));
        if is_ours {
            *open = Some(((shared.open)(path)?, found));
        }
    }
    open.as_ref()
        .map(|(connection, _)| connection)
        .ok_or_else(|| Fault::permanent(restore::replaced(path)))
}
