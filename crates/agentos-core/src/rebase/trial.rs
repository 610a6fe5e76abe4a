//! What a changed source would do to a run: whether it fails over what the run has done, and which steps it asks for.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Destination, History, Rebase};
use crate::codec::Chunk;
use crate::entry::{CloseCause, Entry, Record};
use crate::failure::{Failure, FailureKind};
use crate::id::StepNumber;
use crate::path::ScopePath;

/// A step, or an operation that forms one by itself, with its number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NumberedStep {
    /// Its number.
    pub number: StepNumber,
    /// Its identity.
    pub path: String,
}

/// What becomes of a run's steps under another source, each list by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepChanges {
    /// The new source asks for them as well: they keep their numbers.
    pub kept: Vec<NumberedStep>,
    /// The new source has not asked for them. Should it do so later, they are found again.
    pub superseded: Vec<NumberedStep>,
    /// They were never asked for before.
    pub added: Vec<NumberedStep>,
}

impl StepChanges {
    /// Compares a log with what follows on it.
    pub(super) fn new(whole: &[Record], generation: &[Record], chunks: &[Chunk]) -> Self {
        let ever = numbered(whole.iter().map(|record| &record.entry));
        let old = numbered(generation.iter().map(|record| &record.entry));
        let asked = numbered(chunks.iter().flat_map(|chunk| &chunk.entries));
        let mut changes = Self::default();
        for (path, number) in &asked {
            let list = match ever.contains_key(path) {
                true => &mut changes.kept,
                false => &mut changes.added,
            };
            list.push(NumberedStep { number: *number, path: (*path).to_owned() });
        }
        let gone = old.iter().filter(|(path, _)| !asked.contains_key(*path));
        let gone =
            gone.map(|(path, number)| NumberedStep { number: *number, path: (*path).to_owned() });
        changes.superseded.extend(gone);
        for list in [&mut changes.kept, &mut changes.superseded, &mut changes.added] {
            list.sort();
        }
        changes
    }
}

/// The paths that entries ask for, with their numbers.
fn numbered<'a>(entries: impl Iterator<Item = &'a Entry>) -> BTreeMap<&'a str, StepNumber> {
    let asked = entries.filter_map(|entry| match entry {
        Entry::StepRequested { step, number: Some(number), .. } => Some((step.as_str(), *number)),
        Entry::OperationOrdered { operation, number: Some(number), .. } => {
            Some((operation.as_str(), *number))
        }
        _ => None,
    });
    asked.collect()
}

/// The first failure that the recorded run did not have. Only another source is held to that: the same one does what it
/// did. A run that had failed already and only cleans up may be moved.
pub(super) fn new_failure(
    rebase: &Rebase<'_>,
    history: &History<'_>,
    failures: Vec<(Option<ScopePath>, Failure)>,
) -> Option<Failure> {
    let Some(Entry::RunStarted(old)) = history.log.first().map(|record| &record.entry) else {
        return None;
    };
    let was_failing = rebase.into == Destination::SameRun && history.log.iter().any(is_failing);
    if old.definition == rebase.start.definition || was_failing {
        return None;
    }
    let (mut begun, mut kept, mut later) = (HashSet::new(), HashSet::new(), HashMap::new());
    for record in history.log {
        match &record.entry {
            Entry::AttemptStarted { scope, .. } if history.selection.scope(scope, record.seq) => {
                begun.insert(scope);
            }
            Entry::AttemptFailed { scope, .. } if history.selection.scope(scope, record.seq) => {
                kept.insert(scope);
            }
            // Its failure is not kept, but the answers that led to it may be.
            Entry::AttemptFailed { scope, failure, .. } if begun.contains(scope) => {
                later.insert(scope, failure);
            }
            _ => {}
        }
    }
    let is_new = |scope: &Option<ScopePath>, failure: &Failure| {
        scope.as_ref().is_none_or(|scope| {
            let same = later
                .get(scope)
                .is_some_and(|old| (old.kind, &old.message) == (failure.kind, &failure.message));
            !kept.contains(scope) && !same
        })
    };
    let mut new = failures.into_iter().filter(|(scope, failure)| is_new(scope, failure));
    new.find(|(_, failure)| failure.kind != FailureKind::Stalled).map(|(_, failure)| failure)
}

/// Whether the run had come to its end when this was recorded.
fn is_failing(record: &Record) -> bool {
    match &record.entry {
        Entry::RunFailing { .. } => true,
        Entry::ScopeClosing(closing) => {
            closing.scope.is_root() && closing.cause == CloseCause::Finished
        }
        _ => false,
    }
}
