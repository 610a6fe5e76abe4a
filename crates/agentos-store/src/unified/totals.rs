//! Sums over all databases: each is asked for its own, and of copies of a run only one counts.

use super::together::together;
use super::{UnifiedView, Unreadable};
use crate::records::{RunQuery, RunTotals};

/// How many runs there are, whatever database they are in.
#[derive(Debug, Clone, PartialEq)]
pub struct UnifiedTotals {
    /// The sums.
    pub totals: RunTotals,
    /// Databases that are missing from them.
    pub unreadable: Vec<Unreadable>,
}

impl UnifiedView {
    /// How many runs the query shows, and what their agents have used. Its order and its paging are not looked at.
    pub async fn run_totals(&self, mut query: RunQuery) -> UnifiedTotals {
        let twins = self.twins().await;
        query.projects = self.families(&query.projects);
        let mut failed = twins.failed;
        let asked = self.sources.iter().zip(twins.stale);
        let asked = asked
            .map(|(source, except)| source.store.run_totals(RunQuery { except, ..query.clone() }));
        let mut totals = RunTotals::default();
        for (index, answer) in together(asked).await.into_iter().enumerate() {
            match answer {
                Ok(more) => totals.add(&more),
                Err(error) => failed.push((index, error)),
            }
        }
        UnifiedTotals { totals, unreadable: self.told(&failed) }
    }
}
