//! What is due, logs and the tail, read wrong.

use agentos_core::codec::Chunk;
use agentos_core::id::{OwnerId, RunId, Seq};
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_store::backend::BackendError;
use agentos_store::bounds::PAGE;
use agentos_store::due::{Due, Except, Outlook};
use agentos_store::list::RunFilter;
use agentos_store::log::ReadError;
use agentos_store::store::Store;
use agentos_store::tail::{TailCursor, TailError, TailPage};

use super::Broken;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadReads {
    /// Interrupted runs are forgotten.
    WorkingIsNotDue,
    /// Runs are due though somebody holds them.
    HeldIsDue,
    /// Runs of the dead are forgotten.
    DeadHold,
    /// A second early.
    DueEarly,
    /// A millisecond late.
    DueLate,
    /// Whoever is to be left out is not.
    NobodyLeftOut,
    /// Messages wake nobody.
    MessagesDoNotWake,
    /// Ended runs with messages are due.
    EndedIsDue,
    /// An owner is told of everybody's messages.
    TellsEverybody,
    /// An owner is told of no message for a run that works.
    WorkersUnheard,
    /// What somebody alive holds is to be woken, too.
    WakesHeld,
    /// What works has a time to be woken at.
    WakesWorking,
    /// Times in the log are lost.
    TimesLost,
    /// A page of a log begins with the last chunk of the page before.
    PagesOverlap,
    /// A chunk is cut where the page begins.
    ChunksCut,
    /// A page from inside a chunk begins after it.
    ChunksSkipped,
    /// Past the end comes the last chunk again.
    EndRepeats,
    /// Reading an unknown run's log answers with an empty one.
    UnknownIsEmpty,
    /// The tail's cursor is the largest number seen.
    LargestSeen,
    /// The tail forgets what it has shown.
    ShowsAgain,
    /// The tail shows a page from its end.
    PageReversed,
    /// The tail ignores the limit.
    NoLimit,
    /// The tail shows everything to one reader only.
    OneReader,
    /// A cursor that can't be read means the start.
    GuessedCursor,
}

impl Broken {
    pub(super) async fn due_badly(
        &self,
        bad: BadReads,
        now: Timestamp,
        except: &Except,
        limit: usize,
    ) -> Result<Vec<Due>, BackendError> {
        let now = match bad {
            BadReads::DueEarly => Timestamp(now.0.saturating_add(1_000)),
            BadReads::DueLate => Timestamp(now.0 - 1),
            _ => now,
        };
        let nobody = Except::new();
        let except = if bad == BadReads::NobodyLeftOut { &nobody } else { except };
        let mut due = self.inner.due(now, except, limit).await?;
        let page = self.inner.list_runs(RunFilter::default(), None, PAGE).await;
        for listed in page.expect("runs can be listed").runs {
            let (run, standing) = (listed.run, listed.head.standing);
            let listed_due = Due { run, wake_at: standing.wake_at() };
            let working = matches!(standing, Standing::Working { .. });
            let parked = matches!(standing, Standing::Parked { wake_at: None });
            let waits = !self.inner.inbox(run, 1).await.expect("the run exists").is_empty();
            match bad {
                BadReads::WorkingIsNotDue if working => due.retain(|due| due.run != run),
                BadReads::MessagesDoNotWake if parked => due.retain(|due| due.run != run),
                BadReads::DeadHold if listed.head.owner.is_some() => {
                    due.retain(|due| due.run != run)
                }
                BadReads::HeldIsDue if working && !due.contains(&listed_due) => {
                    due.push(listed_due)
                }
                BadReads::EndedIsDue if standing.is_ended() && waits => due.push(listed_due),
                _ => {}
            }
        }
        due.truncate(limit);
        Ok(due)
    }

    pub(super) async fn outlook_badly(
        &self,
        bad: BadReads,
        owner: OwnerId,
        except: &Except,
        limit: usize,
    ) -> Result<Outlook, BackendError> {
        let mut outlook = self.inner.outlook(owner, except, limit).await?;
        let page = self.inner.list_runs(RunFilter::default(), None, PAGE).await;
        for listed in page.expect("runs can be listed").runs {
            let (run, standing) = (listed.run, listed.head.standing);
            let working = matches!(standing, Standing::Working { .. });
            let waits = !self.inner.inbox(run, 1).await.expect("the run exists").is_empty();
            let wakes = match bad {
                BadReads::WakesHeld => !working && listed.head.owner.is_some(),
                BadReads::WakesWorking => working,
                _ => false,
            };
            if wakes {
                outlook.wake_at = outlook.wake_at.into_iter().chain(standing.wake_at()).min();
            }
            match bad {
                BadReads::TellsEverybody if waits && !outlook.addressed.contains(&run) => {
                    outlook.addressed.push(run);
                }
                BadReads::WorkersUnheard if working => {
                    outlook.addressed.retain(|told| *told != run)
                }
                _ => {}
            }
        }
        Ok(outlook)
    }

    pub(super) async fn load_log_badly(
        &self,
        bad: BadReads,
        run: RunId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Chunk>, ReadError> {
        let before = Seq(from.0.saturating_sub(1));
        let page = self.inner.load_log(run, from, limit).await;
        match bad {
            BadReads::UnknownIsEmpty => Ok(page.unwrap_or_default()),
            BadReads::PagesOverlap => self.inner.load_log(run, before, limit).await,
            BadReads::EndRepeats if page.as_ref().is_ok_and(Vec::is_empty) => {
                let head = self.inner.head(run).await?.head;
                self.inner.load_log(run, Seq(head.0 - 1), 1).await
            }
            BadReads::TimesLost => {
                let mut page = page?;
                page.iter_mut().for_each(|chunk| chunk.at = Timestamp(0));
                Ok(page)
            }
            BadReads::ChunksCut => {
                let mut page = page?;
                if let Some(chunk) = page.first_mut().filter(|chunk| chunk.first < from) {
                    let cut = usize::try_from(from.0 - chunk.first.0).expect("chunks are short");
                    chunk.entries.drain(..cut);
                    chunk.first = from;
                }
                Ok(page)
            }
            BadReads::ChunksSkipped => {
                Ok(page?.into_iter().filter(|chunk| chunk.first >= from).collect())
            }
            _ => page,
        }
    }

    pub(super) async fn tail_badly(
        &self,
        bad: BadReads,
        after: TailCursor,
        limit: usize,
    ) -> Result<TailPage, TailError> {
        let limit = if bad == BadReads::NoLimit { PAGE } else { limit };
        let page = self.inner.tail(after.clone(), limit).await;
        match (bad, page) {
            (BadReads::LargestSeen, Ok(page)) => {
                Ok(TailPage { next: forget_gaps(&page.next), ..page })
            }
            (BadReads::ShowsAgain, Ok(page)) => Ok(TailPage { next: after, ..page }),
            (BadReads::PageReversed, Ok(mut page)) => {
                page.events.reverse();
                Ok(page)
            }
            (BadReads::OneReader, Ok(mut page)) => {
                let mut memory = self.memory();
                page.events.retain(|event| memory.shown.insert((event.run, event.chunk.first)));
                Ok(page)
            }
            (BadReads::GuessedCursor, Err(TailError::Cursor { .. })) => {
                self.inner.tail(TailCursor::start(), limit).await
            }
            (_, page) => page,
        }
    }
}

/// The simulated store writes `low+a,b,c`; whoever forgets the gaps goes on after `c`.
fn forget_gaps(cursor: &TailCursor) -> TailCursor {
    match cursor.as_str().rsplit([',', '+']).next().and_then(|last| last.parse::<u64>().ok()) {
        Some(last) => TailCursor::from_text(format!("{}+", last + 1)),
        None => cursor.clone(),
    }
}
