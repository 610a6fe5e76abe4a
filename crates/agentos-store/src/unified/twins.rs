//! Runs that are in more than one database, because somebody has copied them.

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

impl UnifiedView {
    /// Compares all ids. They are kept in order, so that is little more than reading them.
    pub(super) async fn twins(&self) -> Twins {
        let sources = &self.sources;
        let mut twins = Twins { stale: vec![Vec::new(); sources.len()], failed: Vec::new() };
        if sources.len() < 2 {
            return twins;
        }
        let mut all: Vec<(RunId, usize)> = Vec::new();
        let answers = together(sources.iter().map(|source| source.store.run_ids())).await;
        for (index, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(ids) => all.extend(ids.into_iter().map(|id| (id, index))),
                Err(error) => twins.failed.push((index, error)),
            }
        }
        // They come as a few ascending rows, which this kind of sorting merges.
        all.sort();
        let of_several: Vec<&[(RunId, usize)]> =
            all.chunk_by(|one, other| one.0 == other.0).filter(|same| same.len() > 1).collect();
        if of_several.is_empty() {
            return twins;
        }
        let lengths = lengths(sources, &of_several).await;
        for same in of_several {
            let length = |index: usize, run: RunId| {
                lengths[index]
                    .binary_search_by_key(&run, |(run, _)| *run)
                    .map_or(0, |at| lengths[index][at].1)
            };
            // The longest log; of equal ones the first.
            let kept = same
                .iter()
                .max_by_key(|(run, index)| (length(*index, *run), std::cmp::Reverse(*index)));
            let kept = kept.map(|(_, index)| *index);
            for (run, index) in same.iter().filter(|(_, index)| Some(*index) != kept) {
                twins.stale[*index].push(*run);
            }
        }
        twins
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
async fn lengths(sources: &[Source], of_several: &[&[(RunId, usize)]]) -> Vec<Vec<(RunId, u64)>> {
    let mut asked: Vec<Vec<RunId>> = vec![Vec::new(); sources.len()];
    for (run, index) in of_several.iter().copied().flatten() {
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
