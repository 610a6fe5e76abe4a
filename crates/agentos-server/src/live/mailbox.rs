//! What waits for one connection, with a bound.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_core::id::RunId;
use axum::extract::ws::Utf8Bytes;
use tokio::sync::Notify;
use uuid::Uuid;

use super::batch::Batch;
use super::bounds::MAILBOX;

/// What waits for one connection. Putting something into it never waits.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    inside: Mutex<Waiting>,
    bell: Notify,
    /// Whether it only rings: for whoever reads the log by itself.
    is_bell: bool,
}

/// Something about a run that is no part of its log.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) run: RunId,
    pub(super) message: Utf8Bytes,
    /// Whether these are lines of its log file, which not everybody wants.
    is_lines: bool,
}

/// What has come since somebody last took it.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// About runs, in the order of their logs.
    pub(super) batches: VecDeque<Arc<Batch>>,
    /// Runs in lists of projects, each as it was last.
    pub(super) listed: Vec<(Uuid, RunId, Utf8Bytes)>,
    /// What may be lost.
    pub(super) progress: Vec<Progress>,
    /// It was too much: everything was thrown away.
    pub(super) overflowed: bool,
    /// Lists of projects have to be loaded again.
    pub(super) relist: bool,
    bytes: usize,
}

impl Waiting {
    fn overflow(&mut self) {
        *self = Self { overflowed: true, relist: true, ..Self::default() };
    }
}

impl Mailbox {
    /// One that only rings.
    pub(super) fn bell() -> Self {
        Self { is_bell: true, ..Self::default() }
    }

    fn inside(&self) -> MutexGuard<'_, Waiting> {
        // Whatever is in there is whole at any moment.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happened to a run.
    pub(super) fn put(&self, batch: &Arc<Batch>) {
        if !self.is_bell {
            let mut waiting = self.inside();
            if waiting.overflowed {
                return;
            }
            waiting.bytes += batch.bytes;
            if waiting.bytes > MAILBOX {
                waiting.overflow();
            } else {
                waiting.batches.push_back(Arc::clone(batch));
            }
        }
        self.bell.notify_one();
    }

    /// How a run of a project stands now. What waits about the same run is out of date.
    pub(super) fn put_listed(&self, project: Uuid, run: RunId, message: &Utf8Bytes) {
        let mut waiting = self.inside();
        if waiting.overflowed {
            return;
        }
        let known =
            waiting.listed.iter().position(|(of, known, _)| (*of, *known) == (project, run));
        match known {
            Some(index) => {
                waiting.bytes -= waiting.listed[index].2.len();
                waiting.listed[index].2 = message.clone();
            }
            None => waiting.listed.push((project, run, message.clone())),
        }
        waiting.bytes += message.len();
        if waiting.bytes > MAILBOX {
            waiting.overflow();
        }
        drop(waiting);
        self.bell.notify_one();
    }

    /// A remark on a run. It is left out where there is little room.
    pub(super) fn put_remark(&self, run: RunId, message: &Utf8Bytes) {
        self.put_progress(Progress { run, message: message.clone(), is_lines: false });
    }

    /// Lines of a run's log file, also left out where there is little room.
    pub(super) fn put_lines(&self, run: RunId, message: &Utf8Bytes) {
        self.put_progress(Progress { run, message: message.clone(), is_lines: true });
    }

    /// Whoever wants no lines of this run gets none of those that wait, either.
    pub(super) fn drop_lines(&self, run: RunId) {
        let mut waiting = self.inside();
        let is_kept = |progress: &Progress| !progress.is_lines || progress.run != run;
        let dropped = waiting.progress.iter().filter(|progress| !is_kept(progress));
        let bytes: usize = dropped.map(|progress| progress.message.len()).sum();
        waiting.bytes -= bytes;
        waiting.progress.retain(is_kept);
    }

    fn put_progress(&self, progress: Progress) {
        let mut waiting = self.inside();
        let message = &progress.message;
        if self.is_bell || waiting.overflowed || waiting.bytes + message.len() > MAILBOX / 2 {
            return;
        }
        waiting.bytes += message.len();
        waiting.progress.push(progress);
        drop(waiting);
        self.bell.notify_one();
    }

    /// Nobody knows what was missed: everything has to be read from the log.
    pub(super) fn lose(&self) {
        self.inside().overflow();
        self.bell.notify_one();
    }

    /// Lists of projects have to be loaded again.
    pub(super) fn relist(&self) {
        self.inside().relist = true;
        self.bell.notify_one();
    }

    /// Takes what waits.
    pub(super) fn take(&self) -> Waiting {
        std::mem::take(&mut self.inside())
    }

    /// Waits until something has come.
    pub(super) async fn rung(&self) {
        self.bell.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(run: u128, bytes: usize) -> Arc<Batch> {
        let run = RunId(Uuid::from_u128(run));
        Arc::new(Batch { run, first: 1, messages: vec!["x".repeat(bytes).into()], bytes })
    }

    #[test]
    fn a_mailbox_that_is_full_is_emptied_and_takes_nothing_until_that_was_noticed() {
        let mailbox = Mailbox::default();
        for _ in 0..1_000 {
            mailbox.put(&about(1, 10_000));
        }
        mailbox.put_lines(RunId(Uuid::from_u128(1)), &"x".into());
        let taken = mailbox.take();
        assert!(taken.overflowed && taken.batches.is_empty() && taken.progress.is_empty());
        mailbox.put(&about(1, 10_000));
        let taken = mailbox.take();
        assert!(!taken.overflowed && taken.batches.len() == 1);
    }

    #[test]
    fn of_a_run_in_a_list_only_the_latest_waits() {
        let mailbox = Mailbox::default();
        let (project, run) = (Uuid::from_u128(1), RunId(Uuid::from_u128(2)));
        for number in 0..100_000 {
            mailbox.put_listed(project, run, &number.to_string().into());
        }
        let taken = mailbox.take();
        assert_eq!(taken.listed, [(project, run, "99999".into())]);
        assert!(mailbox.take().listed.is_empty());
    }
}
