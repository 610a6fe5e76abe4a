//! Readers: what is read never waits for what is written, and never holds up an executor.
//!
//! Whoever asks on a thread that its runtime can do without reads there: what it asks for takes less time, as a rule, than
//! the way to another thread and back. Everybody else, and whoever finds all readers at work, asks reader threads. These
//! are started when there is more to read than there are threads, up to [`READERS`].

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::block_in_place;

use super::connection;
use super::error::{Done, Fault};
use super::lock::FileIdentity;
use super::probe::beside;
use super::restore;
use super::view::View;
use super::watch::Eyes;

/// Most reader threads; as many may read on threads of their own.
const READERS: usize = 4;

/// Something that is to be answered, perhaps asked more than once until the answer holds.
trait Question: Send {
    /// Asks; whatever was answered before does not count any more. The error is part of the answer.
    fn ask(&mut self, connection: &Connection) -> Done<()>;
    fn settle(self: Box<Self>, asked: Done<()>);
}

struct Asked<T, F> {
    ask: F,
    answer: Option<T>,
    reply: oneshot::Sender<Done<T>>,
}

impl<T: Send, F: Fn(&Connection) -> Done<T> + Send> Question for Asked<T, F> {
    fn ask(&mut self, connection: &Connection) -> Done<()> {
        self.answer = Some(at_one_moment(connection, &self.ask)?);
        Ok(())
    }

    fn settle(self: Box<Self>, asked: Done<()>) {
        let ended = || Fault::permanent("a reader has ended");
        let Self { answer, reply, .. } = *self;
        // Whoever has stopped waiting does not hear it.
        let _heard = reply.send(asked.and_then(|()| answer.ok_or_else(ended)));
    }
}

#[derive(Default)]
struct Queue {
    questions: VecDeque<Box<dyn Question>>,
    threads: Vec<JoinHandle<()>>,
    idle: usize,
    closed: bool,
    /// Readers that nobody needs now. The last that was used is the next: it knows most.
    resting: Vec<Reader>,
    /// How many read on threads that are not ours.
    guests: usize,
}

/// What is to be read, and how.
pub(super) enum Source {
    /// The history that this store writes.
    Own(History),
    /// Whatever the path names.
    Look(Eyes),
}

/// Which history is to be read: the file and the log it was in when the store was opened, and its identity, in case that it
/// is found in another.
pub(super) struct History {
    pub(super) file: FileIdentity,
    pub(super) log: FileIdentity,
    pub(super) store_id: String,
}

impl History {
    fn is_in(&self, path: &Path, found: Option<FileIdentity>) -> bool {
        // Beside the log that we know another file is no copy that was put back, and would not fit to it.
        let log = FileIdentity::of_path(&beside(path, "-wal"));
        found == Some(self.file)
            || (log.is_ok_and(|log| log != Some(self.log)) && restore::holds(path, &self.store_id))
    }
}

struct Shared {
    path: PathBuf,
    source: Source,
    queue: Mutex<Queue>,
    news: Condvar,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // A question that panics has answered nobody; the queue is as good as before.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reader(&self, queue: &mut Queue) -> Reader {
        queue.resting.pop().unwrap_or_else(|| {
            let eyes = match self.source {
                Source::Own(_) => Eyes::Looking,
                Source::Look(eyes) => eyes,
            };
            Reader { open: None, view: View::new(self.path.clone(), eyes) }
        })
    }

    fn rest(queue: &mut Queue, reader: Reader) {
        if queue.resting.len() < READERS {
            queue.resting.push(reader);
        }
    }
}

/// A connection to what is there now, as soon as somebody asks.
struct Reader {
    open: Option<(Connection, Option<FileIdentity>)>,
    view: View,
}

impl Reader {
    fn ask<T>(&mut self, shared: &Shared, mut ask: impl FnMut(&Connection) -> Done<T>) -> Done<T> {
        match &shared.source {
            Source::Own(history) => current(&shared.path, history, &mut self.open).and_then(ask),
            Source::Look(_) => self.view.ask(&mut ask),
        }
    }
}

/// Somebody who reads on a thread that is not ours, until it is dropped.
struct Guest<'a>(&'a Shared);

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.0.queue().guests -= 1;
    }
}

/// Whether the runtime of this thread has others, which go on with what waits here.
fn is_dispensable() -> bool {
    Handle::try_current().is_ok_and(|here| here.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// The readers of one store.
pub(super) struct Readers {
    shared: Arc<Shared>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, source: Source) -> Self {
        let shared = Shared { path, source, queue: Mutex::default(), news: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }

    /// As [`ask`](Self::ask), on this thread if that is in nobody's way.
    pub(super) async fn ask_here<T: Send + 'static>(
        &self,
        ask: impl Fn(&Connection) -> Done<T> + Send + 'static,
    ) -> Done<T> {
        match self.invite() {
            None => self.ask(ask).await,
            Some((_guest, mut reader)) => block_in_place(|| {
                let asked = reader.ask(&self.shared, |here| at_one_moment(here, &ask));
                Shared::rest(&mut self.shared.queue(), reader);
                asked
            }),
        }
    }

    /// A reader for this thread, unless it is needed elsewhere or enough are at work.
    fn invite(&self) -> Option<(Guest<'_>, Reader)> {
        let mut queue = self.shared.queue();
        if !is_dispensable() || queue.guests >= READERS {
            return None;
        }
        queue.guests += 1;
        let reader = self.shared.reader(&mut queue);
        Some((Guest(&self.shared), reader))
    }

    /// Asks in one read transaction: everything that `ask` sees is of one moment.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        ask: impl Fn(&Connection) -> Done<T> + Send + 'static,
    ) -> Done<T> {
        let (reply, answer) = oneshot::channel();
        self.put(Box::new(Asked { ask, answer: None, reply }))?;
        answer.await.unwrap_or_else(|_| Err(Fault::permanent("a reader has ended")))
    }

    fn put(&self, question: Box<dyn Question>) -> Done<()> {
        let mut queue = self.shared.queue();
        queue.questions.push_back(question);
        // A question that panics ends the thread that asks it.
        queue.threads.retain(|thread| !thread.is_finished());
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
        // Whoever wakes up wants the queue.
        drop(queue);
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

fn at_one_moment<T>(connection: &Connection, ask: impl Fn(&Connection) -> Done<T>) -> Done<T> {
    // What could not be ended before would tell of its moment for ever.
    if !connection.is_autocommit() {
        connection.prepare_cached("ROLLBACK")?.execute(())?;
    }
    connection.prepare_cached("BEGIN")?.execute(())?;
    let answer = ask(connection);
    // Nothing was changed, so that it does not matter how it ends.
    let _ended = connection.prepare_cached("COMMIT").and_then(|mut end| end.execute(()));
    answer
}

fn answer_questions(shared: &Shared) {
    while let Some((mut question, mut reader)) = next_question(shared) {
        let asked = reader.ask(shared, |connection| question.ask(connection));
        Shared::rest(&mut shared.queue(), reader);
        question.settle(asked);
    }
}

fn next_question(shared: &Shared) -> Option<(Box<dyn Question>, Reader)> {
    let mut queue = shared.queue();
    loop {
        if let Some(question) = queue.questions.pop_front() {
            let reader = shared.reader(&mut queue);
            return Some((question, reader));
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
    path: &Path,
    history: &History,
    open: &'a mut Option<(Connection, Option<FileIdentity>)>,
) -> Done<&'a Connection> {
    let found =
        FileIdentity::of_path(path).map_err(|error| Fault::io("can't look at", path, &error))?;
    let is_current = open.as_ref().is_some_and(|(_, known)| found.is_none() || *known == found);
    if !is_current && history.is_in(path, found) {
        *open = Some((connection::reading(path)?, found));
    }
    open.as_ref()
        .map(|(connection, _)| connection)
        .ok_or_else(|| Fault::permanent(restore::replaced(path)))
}
