//! Creating and listing runs, done wrong.

use agentos_core::entry::Entry;
use agentos_core::id::Seq;
use agentos_core::standing::Standing;
use agentos_core::time::Millis;
use agentos_store::bounds::PAGE;
use agentos_store::claim::ClaimMode;
use agentos_store::list::{ListError, ListedRun, RunCursor, RunFilter, RunPage};
use agentos_store::run::{CreateError, Created, NewRun};
use agentos_store::store::Store;
use serde_json::json;

use super::{Broken, phantom};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadRuns {
    /// A new run belongs to somebody.
    BornOwned,
    /// Whoever a run is created for has to claim it.
    CreatorIgnored,
    /// Whoever a run is created for holds it, dead or alive.
    CreatorUnseen,
    /// Who creates a run again is told that it is new.
    AlwaysNew,
    /// Who creates a run again begins it anew, as far as its owner is concerned.
    BeginsAnew,
    /// Another first entry is taken for the same.
    AnyFirstEntry,
    /// The first entry is made fit.
    FirstEntryRepaired,
    /// Two runs may have one readable id.
    NamesShared,
    /// A history is left out.
    HistoryLost,
    /// How a run stands after its history is left out.
    HistoryWorks,
    /// The messages in a history are not known to have come.
    HistoryUnheard,
    /// A gap in a history is closed.
    GapClosed,
    /// The oldest come first.
    OldestFirst,
    /// The cursor is a number of runs to be left out.
    Offset,
    /// The filter is ignored.
    NoFilter,
    /// A cursor that can't be read means the first page.
    GuessedCursor,
}

impl Broken {
    pub(super) async fn create_badly(
        &self,
        bad: BadRuns,
        new: NewRun,
    ) -> Result<Created, CreateError> {
        let run = new.run;
        match bad {
            BadRuns::FirstEntryRepaired => {
                let _created = self.inner.create_run(repaired(new)).await?;
                return Ok(Created::New);
            }
            BadRuns::NamesShared => {
                let mut new = new;
                if let Entry::RunStarted(started) = &mut new.first {
                    started.home.run_id.clear();
                }
                return self.inner.create_run(new).await;
            }
            BadRuns::HistoryLost
            | BadRuns::HistoryWorks
            | BadRuns::HistoryUnheard
            | BadRuns::GapClosed => return self.inner.create_run(rewritten(bad, new)).await,
            BadRuns::CreatorIgnored => {
                return self.inner.create_run(NewRun { owner: None, ..new }).await;
            }
            BadRuns::CreatorUnseen => {
                new.owner.into_iter().for_each(|owner| self.inner.owner_alive(owner));
                return self.inner.create_run(new).await;
            }
            BadRuns::BornOwned => {
                let created = self.inner.create_run(new).await?;
                let _claim = self.inner.claim(run, phantom(), ClaimMode::IfFree).await;
                return Ok(created);
            }
            _ => {}
        }
        let created = self.inner.create_run(new).await;
        match (bad, created) {
            (BadRuns::AlwaysNew, Ok(_)) => Ok(Created::New),
            (BadRuns::AnyFirstEntry, Err(CreateError::Conflict { .. })) => Ok(Created::Existed),
            (BadRuns::BeginsAnew, Ok(Created::Existed)) => {
                if let Ok(head) = self.inner.head(run).await {
                    let _released = self.inner.release(run, head.epoch).await;
                }
                Ok(Created::Existed)
            }
            (_, created) => created,
        }
    }

    pub(super) async fn list_badly(
        &self,
        bad: BadRuns,
        filter: RunFilter,
        after: Option<RunCursor>,
        limit: usize,
    ) -> Result<RunPage, ListError> {
        match bad {
            BadRuns::NoFilter => self.inner.list_runs(RunFilter::default(), after, limit).await,
            BadRuns::OldestFirst => {
                let mut all = self.inner.list_runs(filter, None, PAGE).await?.runs;
                all.reverse();
                Ok(page_by_offset(&all, after, limit))
            }
            BadRuns::Offset => {
                let all = self.inner.list_runs(filter, None, PAGE).await?.runs;
                Ok(page_by_offset(&all, after, limit))
            }
            BadRuns::GuessedCursor => match self.inner.list_runs(filter, after, limit).await {
                Err(ListError::Cursor { .. }) => self.inner.list_runs(filter, None, limit).await,
                page => page,
            },
            _ => self.inner.list_runs(filter, after, limit).await,
        }
    }
}

fn page_by_offset(all: &[ListedRun], after: Option<RunCursor>, limit: usize) -> RunPage {
    let offset = after.and_then(|cursor| cursor.0.parse().ok()).unwrap_or(0);
    let runs: Vec<ListedRun> = all.iter().skip(offset).take(limit).copied().collect();
    let end = offset + runs.len();
    let next = (end < all.len()).then(|| RunCursor(end.to_string()));
    RunPage { runs, next }
}

/// The run with another history.
fn rewritten(bad: BadRuns, mut new: NewRun) -> NewRun {
    let Some(mut history) = new.history.take() else { return new };
    let mut next = 1;
    for chunk in &mut history.rest {
        if bad == BadRuns::GapClosed {
            chunk.first = Seq(next);
            next += chunk.entries.len() as u64;
        }
        if bad == BadRuns::HistoryUnheard {
            chunk.entries.fill(Entry::RunResumed { away_ms: Millis::ZERO });
        }
    }
    if bad == BadRuns::HistoryWorks {
        history.standing = Standing::Working { wake_at: None };
    }
    NewRun { history: (bad != BadRuns::HistoryLost).then_some(history), ..new }
}

/// Something that can be created, whatever was asked for.
fn repaired(new: NewRun) -> NewRun {
    match new.first {
        Entry::RunStarted(mut started) => {
            started.run = new.run;
            started.input =
                started.input.as_object().cloned().map_or_else(Default::default, Into::into);
            NewRun { first: Entry::RunStarted(started), ..new }
        }
        other => {
            let first = json!({
                "kind": "run.started", "run": new.run, "workflow": other.kind(),
                "definition": "", "input": null, "seed": 0, "grace_ms": 0,
            });
            let first = serde_json::from_value(first).expect("this is how a log begins");
            NewRun { first, ..new }
        }
    }
}
