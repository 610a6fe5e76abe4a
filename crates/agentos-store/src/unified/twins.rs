//! Runs that are in more than one database, because somebody has copied them.

use std::sync::{Arc, PoisonError};

use agentos_core::id::RunId;

use super::together::together;
use super::{Source, UnifiedView, Unreadable};
use crate::backend::BackendError;

/// What each source has to keep to itself, because another one has it as it is now.
pub(super) struct Twins {
    /// For each source.
    pub(super) stale: Vec<Vec<RunId>>,
    /// Sources that did not answer.
    pub(super) failed: Vec<(usize, BackendError)>,
}

/// How many runs a database has, and which one came last: its key and its id. None if it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Census(pub(crate) Option<(i64, i64, String)>);

/// A run that is in several sources: which run, and which sources.
type Several = Vec<(RunId, usize)>;

/// Which runs were in several sources when that was last looked at. Reading all ids takes as long as there are runs, and
/// whoever shows runs is asked far more often than runs come and go.
#[derive(Debug, Default)]
pub(super) struct Compared {
    as_of: Vec<Census>,
    several: Arc<[Several]>,
}

impl UnifiedView {
    /// Which runs of which source do not count.
    pub(super) async fn twins(&self) -> Twins {
        let sources = &self.sources;
        let mut twins = Twins { stale: vec![Vec::new(); sources.len()], failed: Vec::new() };
        if sources.len() < 2 {
            return twins;
        }
        let several = self.of_several(&mut twins.failed).await;
        if several.is_empty() {
            return twins;
        }
        let lengths = lengths(sources, &several).await;
        for same in several.iter() {
            let length = |index: usize, run: RunId| {
                lengths[index]
                    .binary_search_by_key(&run, |(run, _)| *run)
                    .map_or(0, |at| lengths[index][at].1)
            };
            // The longest log; of equal ones that from which the run goes on, and else the first.
            let goes_on = |index: usize, run: RunId| {
                self.sources[index].store.counterparts().check(run).is_ok()
            };
            let kept = same.iter().max_by_key(|(run, index)| {
                (length(*index, *run), goes_on(*index, *run), std::cmp::Reverse(*index))
            });
            let kept = kept.map(|(_, index)| *index);
            for (run, index) in same.iter().filter(|(_, index)| Some(*index) != kept) {
                twins.stale[*index].push(*run);
            }
        }
        twins
    }

    /// The runs that are in several sources, found again only if runs have come or gone.
    async fn of_several(&self, failed: &mut Vec<(usize, BackendError)>) -> Arc<[Several]> {
        let asked = together(self.sources.iter().map(|source| source.store.census())).await;
        // One that does not answer is named by what follows.
        let as_of: Vec<Census> = asked.into_iter().filter_map(Result::ok).collect();
        let is_whole = as_of.len() == self.sources.len();
        // What is in it is whole at any moment.
        let known = || self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        if is_whole
            && let known = known()
            && known.as_of == as_of
        {
            return Arc::clone(&known.several);
        }
        let several: Arc<[Several]> = self.compare(failed).await.into();
        if is_whole && failed.is_empty() {
            *known() = Compared { as_of, several: Arc::clone(&several) };
        }
        several
    }

    /// Compares all ids. They are kept in order, so that is little more than reading them.
    async fn compare(&self, failed: &mut Vec<(usize, BackendError)>) -> Vec<Several> {
        let mut all: Several = Vec::new();
        let answers = together(self.sources.iter().map(|source| source.store.run_ids())).await;
        for (index, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(ids) => all.extend(ids.into_iter().map(|id| (id, index))),
                Err(error) => failed.push((index, error)),
            }
        }
        // They come as a few ascending rows, which this kind of sorting merges.
        all.sort();
        let same = all.chunk_by(|one, other| one.0 == other.0);
        same.filter(|same| same.len() > 1).map(<[_]>::to_vec).collect()
    }

    /// What is to be told of sources that did not answer.
    pub(super) fn told(&self, failed: &[(usize, BackendError)]) -> Vec<Unreadable> {
        let mut told = self.unreadable.clone();
        for (index, error) in failed {
            let path = self.sources[*index].path().to_owned();
            if !told.iter().any(|known| known.path == path) {
                told.push(Unreadable { path, reason: error.to_string() });
            }
        }
        told
    }
}

/// How long the logs of these runs are, for each source, by id. One that does not answer has none.
async fn lengths(sources: &[Source], several: &[Several]) -> Vec<Vec<(RunId, u64)>> {
    let mut asked: Vec<Vec<RunId>> = vec![Vec::new(); sources.len()];
    for (run, index) in several.iter().flatten() {
        asked[*index].push(*run);
    }
    let questions = sources.iter().zip(asked).map(|(source, runs)| source.store.heads(runs));
    let answers = together(questions).await.into_iter();
    answers
        .map(|answer| {
            let mut lengths = answer.unwrap_or_default();
            lengths.sort_unstable();
            lengths
        })
        .collect()
}
