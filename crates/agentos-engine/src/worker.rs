//! A thread that drives runs.
//!
//! Programs stay on the thread that opened them: a script engine is not made to move. So each worker is a thread with a
//! runtime of its own, on which the runs it was given take their turns.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use agentos_core::codec::Chunk;
use agentos_core::id::RunId;
use agentos_store::claim::Claim;
use tokio::sync::{Notify, mpsc};
use tokio::task::LocalSet;

use crate::drive::{self, Left};
use crate::panics::caught;
use crate::shared::Shared;

/// A run to be driven, claimed already.
pub(crate) struct Assignment {
    pub(crate) run: RunId,
    pub(crate) claim: Claim,
    /// Is told when there is mail for the run.
    pub(crate) mail: Arc<Notify>,
    /// Its log, if that is known because the run was created here; nobody has written to it before.
    pub(crate) log: Option<Vec<Chunk>>,
}

/// How a worker's hold on a run ended.
pub(crate) struct Report {
    pub(crate) run: RunId,
    pub(crate) left: Left,
}

/// A handle on a worker.
pub(crate) struct Worker {
    assignments: mpsc::UnboundedSender<Assignment>,
    load: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Starts a worker.
    ///
    /// # Errors
    /// The system has no thread or no runtime to give.
    pub(crate) fn start(
        shared: Arc<Shared>,
        number: usize,
        reports: mpsc::UnboundedSender<Report>,
    ) -> std::io::Result<Self> {
        let (assignments, received) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let load = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&load);
        let thread = std::thread::Builder::new().name(format!("agentos-worker-{number}")).spawn(
            move || {
                let local = LocalSet::new();
                local.block_on(&runtime, work(shared, received, reports, counted));
                drop(local);
                // Work that blocks can't be stopped, only waited for; whoever stops the engine has done so.
                runtime.shutdown_background();
            },
        )?;
        Ok(Self { assignments, load, thread })
    }

    /// How many runs it drives.
    pub(crate) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// Gives it a run. The answer is no if it is gone.
    pub(crate) fn assign(&self, assignment: Assignment) -> bool {
        self.load.fetch_add(1, Ordering::Relaxed);
        self.assignments.send(assignment).is_ok()
    }

    /// Waits until it has left all its runs. It must have been told to leave.
    pub(crate) fn join(self) {
        drop(self.assignments);
        // A worker that panicked has left its runs too: whoever comes next finds them in the store.
        let _panicked = self.thread.join();
    }
}

/// Drives what it is given, until nobody gives it anything any more and everything is left.
async fn work(
    shared: Arc<Shared>,
    mut received: mpsc::UnboundedReceiver<Assignment>,
    reports: mpsc::UnboundedSender<Report>,
    load: Arc<AtomicUsize>,
) {
    let mut drives = tokio::task::JoinSet::new();
    let reports = Rc::new(reports);
    loop {
        tokio::select! {
            assignment = received.recv() => match assignment {
                Some(assignment) => {
                    let run = assignment.run;
                    let (shared, reports) = (Arc::clone(&shared), Rc::clone(&reports));
                    let load = Arc::clone(&load);
                    drives.spawn_local(async move {
                        let left = caught(drive::drive(&shared, assignment, Arc::clone(&load))).await;
                        let left = left.unwrap_or_else(|said| Left::Trouble(format!("a panic: {said}")));
                        shared.lines.close(run);
                        if matches!(left, Left::Leaving | Left::Trouble(_) | Left::Lost) {
                            drive::give_back(&shared, run).await;
                        }
                        load.fetch_sub(1, Ordering::Relaxed);
                        shared.leave(run);
                        let _nobody_listens = reports.send(Report { run, left });
                    });
                }
                None => break,
            },
            Some(_) = drives.join_next() => {}
        }
    }
    while drives.join_next().await.is_some() {}
}
