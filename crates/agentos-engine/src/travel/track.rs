//! What a run that is driven has asked for, as far as its files are concerned: kept beside the journal, entry by entry.

use std::collections::{BTreeMap, HashMap, HashSet};

use agentos_core::entry::{Entry, HoldKind, Record};
use agentos_core::id::{Attempt, Seq, StepNumber};
use agentos_core::path::{OperationId, ScopePath, StepPath};

use super::{sees_files, touches_files};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Track {
    /// Whether the run works where files are kept at all.
    is_isolated: bool,
    /// Whether something began since files were last about to be changed.
    is_fresh: bool,
    /// Whether files were ever about to be changed.
    has_touched: bool,
    /// Whether they may have been changed since they were last kept.
    is_unkept: bool,
    /// What may be changing files, by position.
    at_work: BTreeMap<Seq, OperationId>,
    /// What is open and looks at files: where it was ordered, and whether the files are kept first.
    open: HashMap<OperationId, Mark>,
    /// Steps that go back to their start.
    returning: HashMap<StepPath, Returning>,
    /// What was ordered under an earlier source.
    earlier: HashSet<OperationId>,
    /// Attempts whose files have gone back, or need not.
    settled: HashSet<ScopePath>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) position: Seq,
    pub(crate) keeps: bool,
    /// Whether the files could not be kept when it was ordered, because a program was killed that is needed for it, or there was
    /// no room for the workspace.
    is_late: bool,
}

#[derive(Debug)]
struct Returning {
    number: StepNumber,
    began: Seq,
    attempts: HashMap<Attempt, Seq>,
}

/// A return that may be due before an operation.
#[derive(Debug, Clone)]
pub(crate) struct Due {
    pub(crate) scope: ScopePath,
    pub(crate) step: StepPath,
    pub(crate) number: StepNumber,
    pub(crate) attempt: Attempt,
    pub(crate) since: Seq,
    pub(crate) until: Seq,
}

impl Track {
    /// What a log says.
    pub(crate) fn of(log: &[Record], is_isolated: bool) -> Self {
        let mut track = Self { is_isolated, ..Self::default() };
        let switch =
            log.iter().rposition(|record| matches!(record.entry, Entry::SourceSwitched { .. }));
        for record in &log[..switch.unwrap_or(0)] {
            if let Entry::OperationOrdered { operation, .. } = &record.entry {
                track.earlier.insert(operation.clone());
            }
        }
        log.iter().for_each(|record| track.note(record.seq, &record.entry));
        track
    }

    /// Takes in one entry.
    pub(crate) fn note(&mut self, seq: Seq, entry: &Entry) {
        match entry {
            Entry::SourceSwitched { .. } => {
                self.open.clear();
                self.at_work.clear();
            }
            Entry::StepRequested { step, number: Some(number), rolls_back, .. } => {
                self.is_fresh = true;
                if *rolls_back {
                    // Under another source it is asked for again; it began when it was asked for first.
                    let (number, attempts) = (*number, HashMap::new());
                    let returning = Returning { number, began: seq, attempts };
                    self.returning.entry(step.clone()).or_insert(returning);
                }
            }
            Entry::AttemptStarted { scope, .. } => {
                self.is_fresh = true;
                let step = scope.owner().and_then(|step| self.returning.get_mut(&step));
                if let Some(step) = step {
                    step.attempts.entry(scope.attempt()).or_insert(seq);
                }
            }
            Entry::OperationOrdered { operation, number, args, .. } => {
                self.is_fresh |= number.is_some();
                if self.is_isolated && sees_files(operation) {
                    self.ordered(seq, operation, touches_files(operation, args));
                }
            }
            Entry::OperationEnded { operation, .. } | Entry::ChildEnded { operation, .. } => {
                if let Some(mark) = self.open.remove(operation) {
                    self.at_work.remove(&mark.position);
                }
            }
            Entry::OperationHeld { operation, hold, .. }
                if matches!(hold.kind, HoldKind::Tool | HoldKind::Disk) =>
            {
                let is_alone = self.at_work.values().all(|other| other == operation);
                if let Some(mark) = self.open.get_mut(operation) {
                    mark.is_late = true;
                    mark.keeps &= is_alone;
                }
            }
            Entry::RunRebased { .. } => self.begin_to_live(),
            _ => {}
        }
    }

    fn ordered(&mut self, seq: Seq, operation: &OperationId, touches: bool) {
        let is_new = !self.earlier.contains(operation);
        let keeps = touches && is_new && self.is_fresh && self.at_work.is_empty();
        self.open.insert(operation.clone(), Mark { position: seq, keeps, is_late: false });
        if touches {
            // It may change files that were to be kept for those that wait: they come too late.
            let late =
                self.open.iter_mut().filter(|(other, mark)| mark.is_late && *other != operation);
            late.for_each(|(_, mark)| mark.keeps = false);
            self.at_work.insert(seq, operation.clone());
            self.is_fresh = false;
            self.has_touched = true;
            self.is_unkept = true;
        }
    }

    /// What stands before was executed anew; from here on operations are performed. The first of them sees files that nobody
    /// has kept for this run.
    fn begin_to_live(&mut self) {
        self.is_fresh = true;
        let first = self.at_work.values().next();
        let first = first.filter(|operation| !self.earlier.contains(*operation));
        if let Some(mark) = first.and_then(|first| self.open.get_mut(first)) {
            mark.keeps = true;
            self.is_fresh = false;
        }
    }

    /// Whether files may have been changed by what the run did.
    pub(crate) const fn has_touched(&self) -> bool {
        self.has_touched
    }

    /// Whether files may have been changed that nobody has kept, and nothing changes them now. From then on they are kept.
    pub(crate) fn rests(&mut self) -> bool {
        self.at_work.is_empty() && std::mem::take(&mut self.is_unkept)
    }

    /// Where an operation that is open was ordered.
    pub(crate) fn mark(&self, operation: &OperationId) -> Option<Mark> {
        self.open.get(operation).copied()
    }

    /// The files before an operation are kept, or can't be.
    pub(crate) fn kept(&mut self, operation: &OperationId) {
        if let Some(mark) = self.open.get_mut(operation) {
            mark.keeps = false;
        }
    }

    /// What may have to go back before this operation, from the outside in.
    pub(crate) fn dues(&self, operation: &OperationId) -> Vec<Due> {
        if self.returning.is_empty() || !sees_files(operation) {
            return Vec::new();
        }
        let scopes = std::iter::successors(Some(operation.scope()), |scope| {
            scope.owner().map(|step| step.scope())
        });
        let mut dues: Vec<Due> = scopes.filter_map(|scope| self.due(scope)).collect();
        dues.reverse();
        dues
    }

    fn due(&self, scope: ScopePath) -> Option<Due> {
        let (step, attempt) = (scope.owner()?, scope.attempt());
        if attempt == Attempt::FIRST || self.settled.contains(&scope) {
            return None;
        }
        let Returning { number, began, attempts } = self.returning.get(&step)?;
        let until = attempts.get(&attempt).copied()?;
        Some(Due { scope, step, number: *number, attempt, since: *began, until })
    }

    /// The files of an attempt have gone back, or need not.
    pub(crate) fn settle(&mut self, scope: ScopePath) {
        self.settled.insert(scope);
    }
}

#[cfg(test)]
mod tests {
    use agentos_core::entry::Hold;
    use agentos_core::id::Try;
    use agentos_core::time::Millis;

    use super::super::history::tests::{asked, ended, log, ordered};
    use super::*;

    fn attempt(scope: &str) -> Entry {
        Entry::AttemptStarted { scope: scope.parse().expect("a scope"), counts_from: None }
    }

    fn keeps(track: &Track, operation: &str) -> Option<bool> {
        Some(track.mark(&operation.parse().expect("an operation"))?.keeps)
    }

    #[test]
    fn files_are_kept_before_the_first_change_after_something_began() {
        let track = Track::of(
            &log(vec![
                asked("/a#1", 1, false),
                attempt("/a#1@1"),
                ordered("/a#1@1/files:read#1"),
                ordered("/a#1@1/shell:x#1"),
            ]),
            true,
        );
        assert_eq!(keeps(&track, "/a#1@1/files:read#1"), Some(false));
        assert_eq!(keeps(&track, "/a#1@1/shell:x#1"), Some(true));
    }

    #[test]
    fn nothing_is_kept_again_within_a_step_nor_while_something_is_at_work() {
        let mut entries = vec![
            asked("/a#1", 1, false),
            ordered("/a#1@1/shell:x#1"),
            ended("/a#1@1/shell:x#1"),
            ordered("/a#1@1/shell:y#1"),
        ];
        assert_eq!(keeps(&Track::of(&log(entries.clone()), true), "/a#1@1/shell:y#1"), Some(false));
        entries.push(asked("/b#1", 2, false));
        entries.push(ordered("/b#1@1/shell:x#1"));
        assert_eq!(keeps(&Track::of(&log(entries.clone()), true), "/b#1@1/shell:x#1"), Some(false));
        assert_eq!(keeps(&Track::of(&log(entries), false), "/b#1@1/shell:x#1"), None);
    }

    #[test]
    fn what_had_to_wait_keeps_files_only_if_nothing_else_has_begun_meanwhile() {
        let hold = Hold {
            kind: HoldKind::Tool,
            message: "m".into(),
            subject: None,
            until: None,
            limit: None,
        };
        let operation: OperationId = "/a#1@1/shell:x#1".parse().expect("an operation");
        let held = Entry::OperationHeld { operation: operation.clone(), r#try: Try::FIRST, hold };
        let mut entries = vec![asked("/a#1", 1, false), ordered("/a#1@1/shell:x#1"), held];
        assert_eq!(keeps(&Track::of(&log(entries.clone()), true), "/a#1@1/shell:x#1"), Some(true));
        entries.push(ordered("/b#1@1/shell:x#1"));
        entries.push(ended("/b#1@1/shell:x#1"));
        assert_eq!(keeps(&Track::of(&log(entries.clone()), true), "/a#1@1/shell:x#1"), Some(false));
        // The same if it was ordered before, and performed while the first one waited.
        entries.swap(2, 3);
        entries.truncate(4);
        assert_eq!(keeps(&Track::of(&log(entries), true), "/a#1@1/shell:x#1"), Some(false));
    }

    #[test]
    fn a_run_that_begins_with_what_another_did_keeps_its_files_first() {
        let mut track = Track::of(
            &log(vec![
                asked("/a#1", 1, false),
                ordered("/a#1@1/shell:x#1"),
                ended("/a#1@1/shell:x#1"),
                ordered("/a#1@1/shell:y#1"),
            ]),
            true,
        );
        assert_eq!(keeps(&track, "/a#1@1/shell:y#1"), Some(false));
        track.note(Seq(5), &Entry::RunRebased { away_ms: Millis::ZERO });
        assert_eq!(keeps(&track, "/a#1@1/shell:y#1"), Some(true));
    }

    #[test]
    fn only_further_attempts_go_back_and_only_once() {
        let mut track = Track::of(
            &log(vec![asked("/a#1", 1, true), attempt("/a#1@1"), attempt("/a#1@2")]),
            true,
        );
        let due = |track: &Track, operation: &str| {
            let dues = track.dues(&operation.parse().expect("an operation"));
            dues.first().map(|due| (due.since, due.until))
        };
        assert_eq!(due(&track, "/a#1@1/shell:x#1"), None);
        assert_eq!(due(&track, "/a#1@2/sleep:x#1"), None);
        assert_eq!(due(&track, "/a#1@2/in#1@1/files:read#1"), Some((Seq(1), Seq(3))));
        track.settle("/a#1@2".parse().expect("a scope"));
        assert_eq!(due(&track, "/a#1@2/shell:x#1"), None);
    }
}
