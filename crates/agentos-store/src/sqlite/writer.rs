//! The writer thread: everything that waits to be written becomes one transaction.
//!
//! A durable transaction costs about the same whether it holds one commit or a hundred, so whatever comes in while one is
//! being written shares the next. There is one such thread per process and store; between processes the writer lock
//! decides whose turn it is, and every transaction begins `IMMEDIATE`, so nobody who has begun is turned away.
//!
//! The way to a thread and back takes as long as half a transaction. Whoever would do nothing but wait may carry out its
//! work where it is, if nobody else is writing at that moment.
//!
//! Each piece of work checks before it changes anything, so one that is refused leaves nothing behind and its neighbours
//! go on. Only a failure of the database undoes the whole batch. Then each piece is tried alone: what is the fault of
//! one is the answer of that one. A transaction that could not even begin is the failure of all: each piece alone would
//! wait just as long, one after the other.

use std::sync::{Arc, Mutex, TryLockError, mpsc};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::error::{Done, Fault};
use super::file::DatabaseFile;
use super::transaction::Tx;
use crate::backend::{BackendError, BackendErrorKind};

/// Most pieces of work in one transaction.
const BATCH: usize = 1_024;

/// A piece of work that waits for its answer. It may be carried out again after it was undone.
pub(super) trait Work: Send {
    fn apply(&mut self, tx: &mut Tx<'_>) -> Done<()>;
    fn settle(self: Box<Self>, failure: Option<&BatchFailure>);
}

/// Why a whole transaction came to nothing, or may have.
#[derive(Debug, Clone)]
pub(super) struct BatchFailure {
    pub(super) error: BackendError,
    /// Whether it may have been applied in spite of the error.
    pub(super) is_unknown: bool,
    /// Whether it has nothing to do with any of the work in it, so that each piece alone would fail as well.
    pub(super) is_everybodys: bool,
}

impl BatchFailure {
    fn not_applied(fault: Fault) -> Self {
        Self { error: fault.into(), is_unknown: false, is_everybodys: true }
    }
}

struct Verb<A, F, G> {
    act: F,
    fail: G,
    answer: Option<A>,
    reply: oneshot::Sender<A>,
}

impl<A, F, G> Work for Verb<A, F, G>
where
    A: Send,
    F: FnMut(&mut Tx<'_>) -> Done<A> + Send,
    G: FnOnce(&BatchFailure) -> A + Send,
{
    fn apply(&mut self, tx: &mut Tx<'_>) -> Done<()> {
        self.answer = Some((self.act)(tx)?);
        Ok(())
    }

    fn settle(self: Box<Self>, failure: Option<&BatchFailure>) {
        let this = *self;
        let answer = match (failure, this.answer) {
            (None, Some(answer)) => answer,
            (Some(failure), _) => (this.fail)(failure),
            (None, None) => (this.fail)(&gone()),
        };
        // Whoever has stopped waiting does not hear it.
        let _heard = this.reply.send(answer);
    }
}

/// What the writer thread is asked for.
enum Asked {
    Write(Box<dyn Work>),
    /// To see to the write-ahead log, which it does after everything that it is asked for.
    Tidy,
}

/// The way to the writer thread. When the last one is dropped, the thread finishes what it has and ends.
pub(super) struct Writer {
    file: Arc<Mutex<DatabaseFile>>,
    queue: Option<mpsc::Sender<Asked>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(file: DatabaseFile) -> Done<Self> {
        let (queue, asked) = mpsc::channel();
        let file = Arc::new(Mutex::new(file));
        let of_thread = Arc::clone(&file);
        let thread = thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || write(&of_thread, &asked))
            .map_err(|error| Fault::permanent(format!("no thread could be started: {error}")))?;
        Ok(Self { file, queue: Some(queue), thread: Some(thread) })
    }

    /// Carries out `act` on this thread, if nobody writes: neither here nor in another process. Otherwise nothing is done,
    /// and there is no answer.
    pub(super) fn try_here<A>(
        &self,
        act: impl FnOnce(&mut Tx<'_>) -> Done<A>,
    ) -> Option<Result<A, BatchFailure>> {
        let mut file = self.file.try_lock().ok()?;
        let mut answer = None;
        let outcome = file.transact_unless_locked(|tx| {
            answer = Some(act(tx)?);
            Ok(())
        })?;
        if file.wants_taking()
            && let Some(queue) = &self.queue
        {
            // If the thread is gone, the next to write hears that.
            let _gone = queue.send(Asked::Tidy);
        }
        Some(outcome.and_then(|()| answer.ok_or_else(gone)))
    }

    /// Moves what is in the write-ahead log into the file, as far as no reader needs it there. Does nothing while the writer thread
    /// is at the file: another process may keep it waiting.
    pub(super) fn checkpoint(&self) {
        if let Ok(mut file) = self.file.try_lock() {
            file.checkpoint();
        }
    }

    /// Says what is wrong with the names of the file, if something is. Nobody is waited for: whoever writes at this moment
    /// looks at the names anyway.
    pub(super) fn check(&self) -> Result<(), BackendError> {
        match self.file.try_lock() {
            Ok(file) => Ok(file.check()?),
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Poisoned(_)) => Err(gone().error),
        }
    }

    /// Has `act` carried out, perhaps among others and perhaps more than once until it holds. What `fail` makes of a
    /// failure is the answer if it could not be.
    pub(super) async fn submit<A: Send + 'static>(
        &self,
        act: impl FnMut(&mut Tx<'_>) -> Done<A> + Send + 'static,
        fail: impl FnOnce(&BatchFailure) -> A + Clone + Send + 'static,
    ) -> A {
        let (reply, answer) = oneshot::channel();
        let work = Verb { act, fail: fail.clone(), answer: None, reply };
        let queued = self.queue.as_ref().map(|queue| queue.send(Asked::Write(Box::new(work))));
        if !matches!(queued, Some(Ok(()))) {
            return fail(&gone());
        }
        match answer.await {
            Ok(answer) => answer,
            Err(_) => fail(&gone()),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there was everybody's answer already.
            let _ended = thread.join();
        }
        // A connection that reads may outlive this one, and then SQLite does not do it.
        self.checkpoint();
    }
}

fn gone() -> BatchFailure {
    let error = BackendError::new(
        BackendErrorKind::Permanent,
        "its writer has ended; open the store again",
    );
    BatchFailure { error, is_unknown: true, is_everybodys: true }
}

fn write(file: &Mutex<DatabaseFile>, asked: &mpsc::Receiver<Asked>) {
    while let Ok(first) = asked.recv() {
        // Whoever has panicked with it has left it in a state that nobody knows.
        let Ok(mut file) = file.lock() else { return };
        let mut batch = Vec::new();
        let mut next = Some(first);
        while let Some(asked_for) = next {
            if let Asked::Write(work) = asked_for {
                batch.push(work);
            }
            next = if batch.len() < BATCH { asked.try_recv().ok() } else { None };
        }
        if !batch.is_empty() {
            write_batch(&mut file, batch);
        }
        file.keep_wal_bounded();
    }
}

fn write_batch(file: &mut DatabaseFile, mut batch: Vec<Box<dyn Work>>) {
    match write_once(file, &mut batch) {
        Ok(()) => settle(batch, None),
        Err(failure) if failure.is_unknown || failure.is_everybodys || batch.len() == 1 => {
            settle(batch, Some(&failure));
        }
        Err(_) => {
            for single in batch {
                let mut single = vec![single];
                let failure = write_once(file, &mut single).err();
                settle(single, failure.as_ref());
            }
        }
    }
}

fn settle(batch: Vec<Box<dyn Work>>, failure: Option<&BatchFailure>) {
    for work in batch {
        work.settle(failure);
    }
}

/// One transaction. Undone as a whole unless it is committed.
fn write_once(file: &mut DatabaseFile, batch: &mut [Box<dyn Work>]) -> Result<(), BatchFailure> {
    file.transact(|tx| batch.iter_mut().try_for_each(|work| work.apply(tx)))
}

impl From<Fault> for BatchFailure {
    fn from(fault: Fault) -> Self {
        Self::not_applied(fault)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use rusqlite::Connection;
    use uuid::Uuid;

    use super::*;
    use crate::sqlite::open::Location;

    /// Fails on its first turns, and counts how often it was tried.
    struct Piece {
        fails: bool,
        tries: Arc<AtomicUsize>,
        answers: mpsc::Sender<Option<String>>,
    }

    impl Work for Piece {
        fn apply(&mut self, tx: &mut Tx<'_>) -> Done<()> {
            self.tries.fetch_add(1, Ordering::Relaxed);
            if self.fails {
                tx.connection.execute_batch("SELECT * FROM nowhere")?;
            }
            Ok(())
        }

        fn settle(self: Box<Self>, failure: Option<&BatchFailure>) {
            self.answers.send(failure.map(|failure| failure.error.message.clone())).unwrap();
        }
    }

    fn write_three(file: &mut DatabaseFile) -> (usize, Vec<Option<String>>) {
        let tries = Arc::new(AtomicUsize::new(0));
        let (answers, heard) = mpsc::channel();
        let piece = |fails| -> Box<dyn Work> {
            Box::new(Piece { fails, tries: Arc::clone(&tries), answers: answers.clone() })
        };
        write_batch(file, vec![piece(false), piece(true), piece(false)]);
        drop(answers);
        (tries.load(Ordering::Relaxed), heard.iter().collect())
    }

    #[test]
    fn each_piece_alone_answers_for_its_own_failure() {
        let folder = tempfile::tempdir().unwrap();
        let (mut location, found) = Location::find(&folder.path().join("x.db")).unwrap();
        let mut file = location.open(found, Uuid::from_u128(1), Box::new(|_| ())).unwrap();
        let (tries, answers) = write_three(&mut file);
        assert_eq!(tries, 5, "two together, then each alone");
        assert!(answers[0].is_none() && answers[2].is_none(), "{answers:?}");
        assert!(answers[1].as_ref().is_some_and(|error| error.contains("nowhere")), "{answers:?}");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a deadline, so that a failure is told")]
    fn the_log_is_taken_over_also_if_everybody_writes_on_their_own_thread() {
        let folder = tempfile::tempdir().unwrap();
        let (mut location, found) = Location::find(&folder.path().join("x.db")).unwrap();
        let file = location.open(found, Uuid::from_u128(1), Box::new(|_| ())).unwrap();
        let writer = Writer::start(file).unwrap();
        let write_here = |sql: &str| {
            let deadline = Instant::now() + Duration::from_secs(120);
            let act = |tx: &mut Tx<'_>| tx.connection.execute_batch(sql).map_err(Fault::from);
            // While the thread is at the log, nobody else is at the file.
            while writer.try_here(act).map(Result::unwrap).is_none() {
                assert!(Instant::now() < deadline, "the file is never free");
                thread::yield_now();
            }
        };
        let is_short = || writer.file.lock().is_ok_and(|file| !file.is_log_long());
        write_here("CREATE TABLE more (x); INSERT INTO more VALUES (zeroblob(17000000))");
        assert!(!is_short(), "it is long by now");
        let deadline = Instant::now() + Duration::from_secs(120);
        while !is_short() {
            assert!(Instant::now() < deadline, "nobody takes it over");
            write_here("INSERT INTO more VALUES (1)");
        }
    }

    #[test]
    fn a_batch_that_cannot_begin_is_not_begun_again_for_each_piece() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let (mut location, found) = Location::find(&path).unwrap();
        let mut file = location.open(found, Uuid::from_u128(1), Box::new(|_| ())).unwrap();
        static WAITS: AtomicUsize = AtomicUsize::new(0);
        file.meet_busy(|_| {
            WAITS.fetch_add(1, Ordering::Relaxed);
            false
        });
        let other = Connection::open(path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let (tries, answers) = write_three(&mut file);
        assert_eq!((tries, answers.iter().flatten().count()), (0, 3), "{answers:?}");
        assert_eq!(WAITS.load(Ordering::Relaxed), 1, "one waits for all");
    }
}
