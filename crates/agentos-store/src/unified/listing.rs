//! Runs of several databases in one order, page by page.
//!
//! A place in the order (when the run started, and its id) means the same in every database, so each is asked for its part
//! behind it and the parts are merged. By cursor a page is not shifted by runs, or whole databases, that come or go.

use std::cmp::Ordering;
use std::path::PathBuf;

use agentos_core::id::RunId;
use serde::Serialize;

use super::together::together;
use super::{UnifiedView, Unreadable};
use crate::bounds;
use crate::list::{ListError, RunCursor};
use crate::records::{Paging, Records as _, RunQuery, RunRecord, Sort};
use crate::sqlite::cursor_behind;

/// A run, and where it was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnifiedRun {
    /// The run.
    #[serde(flatten)]
    pub run: RunRecord,
    /// What its worktree is called.
    pub worktree: String,
    /// The file that it is kept in.
    pub database: PathBuf,
}

/// One page of runs, whatever database they are in.
#[derive(Debug, Clone, PartialEq)]
pub struct UnifiedListing {
    /// The runs. Their input, output and state are left out.
    pub runs: Vec<UnifiedRun>,
    /// How many there are in all, if that was asked for.
    pub total: Option<u64>,
    /// Where the next page begins; `None` if this was the last.
    pub next: Option<RunCursor>,
    /// Databases that are missing from it.
    pub unreadable: Vec<Unreadable>,
}

type Place = (i64, RunId);

impl UnifiedView {
    /// One page of the runs that the query shows, each once.
    ///
    /// # Errors
    /// [`ListError::Cursor`] if the cursor is none. What a database fails with is part of the answer.
    pub async fn query_runs(&self, mut query: RunQuery) -> Result<UnifiedListing, ListError> {
        let twins = self.twins().await;
        let mut failed = twins.failed;
        query.limit = bounds::page(query.limit);
        query.projects = self.families(&query.projects);
        let queries = |query: &RunQuery| -> Vec<RunQuery> {
            let except = twins.stale.iter().cloned();
            except.map(|except| RunQuery { except, ..query.clone() }).collect()
        };
        if let Paging::Page(page @ 2..) = query.paging {
            let before = (page - 1).saturating_mul(query.limit as u64);
            match self.place_of(queries(&query), before).await {
                Some((start, run)) => query.paging = Paging::After(cursor_behind(start, run)),
                // There are not so many; only the total is left to be told.
                None => return self.beyond_the_end(queries(&query)).await,
            }
        }
        let asked = self.sources.iter().zip(queries(&query));
        let answers = together(asked.map(|(source, query)| source.store.query_runs(query))).await;
        let (mut runs, mut total, mut has_more) = (Vec::new(), 0, false);
        for (index, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(listing) => {
                    total += listing.total.unwrap_or(0);
                    has_more |= listing.next.is_some();
                    runs.extend(listing.runs.into_iter().map(|run| (index, run)));
                }
                Err(error @ ListError::Cursor { .. }) => return Err(error),
                Err(ListError::Backend(error)) => failed.push((index, error)),
            }
        }
        runs.sort_by(|(_, one), (_, other)| in_order(query.sort, place(one), place(other)));
        // A run that was copied this very moment is not shown twice either.
        runs.dedup_by_key(|(_, run)| run.id);
        has_more |= runs.len() > query.limit;
        runs.truncate(query.limit);
        let next = runs.last().filter(|_| has_more);
        let next = next.map(|(_, run)| cursor_behind(place(run).0, run.id));
        let runs = runs.into_iter().map(|(index, run)| self.found(index, run)).collect();
        let total = query.with_total.then_some(total);
        Ok(UnifiedListing { runs, total, next, unreadable: self.told(&failed) })
    }

    fn found(&self, index: usize, mut run: RunRecord) -> UnifiedRun {
        let worktree = self.worktrees.name_of(&run);
        self.hosts.tell(&mut run);
        UnifiedRun { run, worktree, database: self.sources[index].path().to_owned() }
    }

    /// Where the run stands that is the how-manieth of all; none if there are fewer.
    async fn place_of(&self, queries: Vec<RunQuery>, number: u64) -> Option<Place> {
        let sort = queries.first()?.sort;
        let asked = self.sources.iter().zip(queries);
        let asked = asked.map(|(source, query)| source.store.run_positions(query, number));
        let answers = together(asked).await;
        let mut places: Vec<Place> = answers.into_iter().filter_map(Result::ok).flatten().collect();
        places.sort_by(|one, other| in_order(sort, *one, *other));
        places.dedup();
        let number = usize::try_from(number).ok()?;
        places.get(number.checked_sub(1)?).copied()
    }

    async fn beyond_the_end(&self, queries: Vec<RunQuery>) -> Result<UnifiedListing, ListError> {
        let asked = self.sources.iter().zip(queries);
        let answers = together(asked.map(|(source, query)| {
            let query = RunQuery { paging: Paging::Page(1), limit: 1, ..query };
            source.store.query_runs(query)
        }));
        let answers = answers.await.into_iter().filter_map(Result::ok);
        let totals: Vec<Option<u64>> = answers.map(|listing| listing.total).collect();
        let total = totals.into_iter().sum();
        let unreadable = self.told(&[]);
        Ok(UnifiedListing { runs: Vec::new(), total, next: None, unreadable })
    }
}

fn place(run: &RunRecord) -> Place {
    (run.started_at.map_or(i64::MAX, |at| at.0), run.id)
}

fn in_order(sort: Sort, one: Place, other: Place) -> Ordering {
    match sort {
        Sort::LatestFirst => other.cmp(&one),
        Sort::OldestFirst => one.cmp(&other),
    }
}
