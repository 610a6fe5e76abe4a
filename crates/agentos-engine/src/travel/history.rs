//! When which step's work on the files was under way, read out of a log.

use std::collections::HashMap;

use agentos_core::entry::{Entry, Record};
use agentos_core::id::{Seq, StepNumber};
use agentos_core::path::{OperationId, StepPath};
use agentos_store::projection::operation_title;

use super::touches_files;

/// One operation that may have changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The operation.
    pub operation: OperationId,
    /// What it is called.
    pub title: String,
    /// Where it was ordered.
    pub from: Seq,
    /// Where it ended, if it has.
    pub to: Option<Seq>,
}

/// Where a step, or an operation that is one by itself, was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Its identity.
    pub path: String,
    /// Its name in that: of an operation without one it is a hash.
    pub name: String,
    /// What it is called where the run is shown.
    pub title: String,
    /// Its number.
    pub number: StepNumber,
    /// Where it was first asked for, under whichever source.
    pub at: Seq,
    /// Where it ended, if it has.
    pub ended: Option<Seq>,
}

/// What a log says about files.
#[derive(Debug, Clone, Default)]
pub struct History {
    works: Vec<Work>,
    asked: Vec<Asked>,
    /// Where the last work stands that another run had done, with which this one began.
    inherited: Option<Seq>,
}

impl History {
    /// What this log says.
    #[must_use]
    pub fn of(log: &[Record]) -> Self {
        let mut reading = Reading::default();
        log.iter().for_each(|record| reading.read(record));
        reading.history
    }

    /// Where the step of this number was asked for.
    #[must_use]
    pub fn numbered(&self, number: StepNumber) -> Option<&Asked> {
        self.asked.iter().find(|asked| asked.number == number)
    }

    /// All steps that were ever asked for. In logs of earlier versions those that the latest source does not know have the
    /// number 0.
    #[must_use]
    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// Where the step of this identity was asked for.
    #[must_use]
    pub fn asked_for(&self, path: &str) -> Option<&Asked> {
        self.asked.iter().find(|asked| asked.path == path)
    }

    /// Whether files were changed from this position on by the run that this one began with.
    #[must_use]
    pub fn is_inherited(&self, at: Seq) -> bool {
        self.inherited.is_some_and(|last| at <= last)
    }

    /// Who was changing files at this position.
    #[must_use]
    pub fn at_work(&self, at: Seq) -> Option<&Work> {
        self.works.iter().find(|work| work.from < at && work.to.is_none_or(|to| to >= at))
    }

    /// Whoever else than this step was changing files from its start on.
    #[must_use]
    pub fn beside(&self, step: &StepPath, since: Seq) -> Option<&Work> {
        self.works.iter().find(|work| {
            !work.operation.scope().is_within(step) && work.to.is_none_or(|to| to >= since)
        })
    }

    /// Whether anything in this step was about to change files before this position.
    #[must_use]
    pub fn has_worked(&self, step: &StepPath, until: Seq) -> bool {
        let own = |work: &&Work| work.operation.scope().is_within(step);
        self.works.iter().filter(own).any(|work| work.from < until)
    }

    /// Whoever else than this step, named by its identity, was changing files between two positions.
    #[must_use]
    pub fn beside_between(&self, path: &str, from: Seq, to: Option<Seq>) -> Option<&Work> {
        self.works.iter().find(|work| {
            let id = work.operation.as_str();
            let is_own =
                id == path || id.strip_prefix(path).is_some_and(|rest| rest.starts_with('@'));
            let is_over = work.to.is_some_and(|end| end < from);
            !is_own && !is_over && to.is_none_or(|to| work.from < to)
        })
    }

    /// Whether this run itself has done anything that may have changed files.
    #[must_use]
    pub fn has_any_work(&self) -> bool {
        !self.works.is_empty()
    }

    /// The first work that was ordered from this position on.
    #[must_use]
    pub fn next_work(&self, at: Seq) -> Option<&Work> {
        self.works.iter().filter(|work| work.from >= at).min_by_key(|work| work.from)
    }
}

impl Work {
    /// What people call the step that it belongs to: itself, if it is one.
    #[must_use]
    pub fn step_name(&self) -> String {
        step_around(&self.operation).unwrap_or_else(|| self.title.clone())
    }
}

/// The name of the innermost step that an operation is in.
pub(crate) fn step_around(operation: &OperationId) -> Option<String> {
    let mut around = std::iter::successors(operation.scope().owner(), |step| step.scope().owner());
    let step = around.find(|step| !step.is_phase())?;
    Some(step.name().map_or_else(|| step.to_string(), |name| name.to_string()))
}

/// A log, read entry by entry.
#[derive(Default)]
struct Reading {
    history: History,
    by_operation: HashMap<OperationId, usize>,
    by_path: HashMap<String, usize>,
    /// How many sources the run has had.
    sources: u32,
}

impl Reading {
    fn read(&mut self, record: &Record) {
        match &record.entry {
            Entry::RunStarted(_) => self.sources += 1,
            // Where steps began stays, and so do their numbers; in logs of earlier versions they had others.
            Entry::SourceSwitched { keeps_numbers: false, .. } => {
                self.history.asked.iter_mut().for_each(|asked| asked.number = StepNumber(0));
            }
            Entry::RunRebased { .. } if self.sources == 1 => self.begin_to_live(),
            Entry::StepRequested { step, number: Some(number), .. } => {
                let name = step.name().map(|name| name.to_string()).unwrap_or_default();
                let title = name.clone();
                self.asked_for(step.to_string(), [name, title], (*number, record.seq));
            }
            Entry::OperationOrdered { operation, number, args, .. } => {
                if let Some(number) = number {
                    let name = operation.name().map(|name| name.to_string()).unwrap_or_default();
                    let title = operation_title(operation, args);
                    self.asked_for(operation.to_string(), [name, title], (*number, record.seq));
                }
                if touches_files(operation, args) && !self.by_operation.contains_key(operation) {
                    self.by_operation.insert(operation.clone(), self.history.works.len());
                    let title = operation_title(operation, args);
                    let (operation, from) = (operation.clone(), record.seq);
                    self.history.works.push(Work { operation, title, from, to: None });
                }
            }
            Entry::StepEnded { step, .. } => self.ended(step.as_str(), record.seq),
            Entry::OperationEnded { operation, .. } | Entry::ChildEnded { operation, .. } => {
                self.ended(operation.as_str(), record.seq);
                let index = self.by_operation.get(operation);
                let work = index.and_then(|index| self.history.works.get_mut(*index));
                if let Some(work) = work.filter(|work| work.to.is_none()) {
                    work.to = Some(record.seq);
                }
            }
            _ => {}
        }
    }

    /// What has ended before was done by another run.
    fn begin_to_live(&mut self) {
        let done = self.history.works.iter().filter(|work| work.to.is_some());
        self.history.inherited = done.map(|work| work.from).max();
        self.history.works.retain(|work| work.to.is_none());
        let works = self.history.works.iter().enumerate();
        self.by_operation = works.map(|(index, work)| (work.operation.clone(), index)).collect();
    }

    fn ended(&mut self, path: &str, at: Seq) {
        if let Some(index) = self.by_path.get(path) {
            self.history.asked[*index].ended.get_or_insert(at);
        }
    }

    fn asked_for(
        &mut self,
        path: String,
        [name, title]: [String; 2],
        (number, at): (StepNumber, Seq),
    ) {
        if let Some(index) = self.by_path.get(&path) {
            let asked = &mut self.history.asked[*index];
            (asked.number, asked.title) = (number, title);
            return;
        }
        self.by_path.insert(path.clone(), self.history.asked.len());
        self.history.asked.push(Asked { path, name, title, number, at, ended: None });
    }
}

#[cfg(test)]
pub(super) mod tests {
    use agentos_core::entry::{OperationResult, RunStarted, StepOutcome};
    use agentos_core::id::RunId;
    use agentos_core::name::Name;
    use agentos_core::retry::RetryPolicy;
    use agentos_core::time::{Millis, Timestamp};
    use agentos_core::value::Value;

    use super::*;

    pub(in crate::travel) fn log(entries: Vec<Entry>) -> Vec<Record> {
        let start = RunStarted::new(RunId(uuid::Uuid::nil()), Name::new("w").expect("a name"));
        let entries = std::iter::once(Entry::RunStarted(start)).chain(entries);
        let seqs = (0..).map(Seq);
        seqs.zip(entries).map(|(seq, entry)| Record::new(seq, Timestamp(0), entry)).collect()
    }

    pub(in crate::travel) fn asked(step: &str, number: u32, rolls_back: bool) -> Entry {
        Entry::StepRequested {
            step: step.parse().expect("a path"),
            number: Some(StepNumber(number)),
            retry: RetryPolicy::default(),
            timeout_ms: None,
            rolls_back,
            body: None,
            site: None,
        }
    }

    pub(in crate::travel) fn ordered(operation: &str) -> Entry {
        Entry::OperationOrdered {
            operation: operation.parse().expect("an operation"),
            number: None,
            args: Value::Null,
            due: None,
            child: None,
            r#try: agentos_core::id::Try::FIRST,
            site: None,
        }
    }

    pub(in crate::travel) fn ended(operation: &str) -> Entry {
        let result = OperationResult::Ok { value: Value::Null };
        Entry::OperationEnded { operation: operation.parse().expect("an operation"), result }
    }

    fn step_ended(step: &str) -> Entry {
        let outcome = StepOutcome::Completed { output: Value::Null };
        Entry::StepEnded { step: step.parse().expect("a path"), outcome }
    }

    #[test]
    fn it_is_known_who_was_at_work_at_each_position() {
        let history = History::of(&log(vec![
            asked("/a#1", 1, false),
            ordered("/a#1@1/shell:x#1"),
            asked("/b#1", 2, false),
            ordered("/b#1@1/files:read#1"),
            ended("/b#1@1/files:read#1"),
            ended("/a#1@1/shell:x#1"),
            step_ended("/a#1"),
            asked("/c#1", 3, false),
        ]));
        let at = |number: u32| {
            let asked = history.numbered(StepNumber(number)).expect("it was asked for");
            history.at_work(asked.at).map(Work::step_name)
        };
        assert_eq!([at(1), at(2), at(3)], [None, Some("a".to_owned()), None]);
        let b = "/b#1".parse().expect("a path");
        assert_eq!(history.beside(&b, Seq(3)).map(Work::step_name).as_deref(), Some("a"));
        assert!(!history.has_worked(&b, Seq(99)), "reading changes nothing");
        assert_eq!(history.numbered(StepNumber(1)).and_then(|a| a.ended), Some(Seq(7)));
    }

    #[test]
    fn what_another_run_had_done_is_not_this_ones_work() {
        let history = History::of(&log(vec![
            asked("/a#1", 1, false),
            ordered("/a#1@1/shell:x#1"),
            ended("/a#1@1/shell:x#1"),
            asked("/b#1", 2, false),
            ordered("/b#1@1/shell:x#1"),
            Entry::RunRebased { away_ms: Millis::ZERO },
        ]));
        let at = |number| history.numbered(StepNumber(number)).map(|asked| asked.at);
        assert!(history.is_inherited(at(1).expect("it was asked for")));
        assert!(!history.is_inherited(at(2).expect("it was asked for")));
        assert_eq!(history.next_work(Seq::FIRST).map(|work| work.from), Some(Seq(5)));
    }

    #[test]
    fn under_another_source_steps_stay_where_they_began() {
        let started = log(vec![]).remove(0).entry;
        let history = History::of(&log(vec![
            asked("/a#1", 1, false),
            ordered("/a#1@1/shell:x#1"),
            ended("/a#1@1/shell:x#1"),
            asked("/gone#1", 2, false),
            switched(false),
            started,
            asked("/new#1", 1, false),
            asked("/a#1", 2, false),
            ordered("/a#1@1/shell:x#1"),
            ended("/a#1@1/shell:x#1"),
            Entry::RunRebased { away_ms: Millis::ZERO },
        ]));
        assert_eq!(history.numbered(StepNumber(2)).map(|a| (a.at, &*a.name)), Some((Seq(1), "a")));
        assert_eq!(history.asked_for("/gone#1").map(|gone| gone.number), Some(StepNumber(0)));
        assert_eq!(history.next_work(Seq(5)), None, "what had finished is not done again");
    }

    fn switched(keeps_numbers: bool) -> Entry {
        let definition = "other".to_owned();
        Entry::SourceSwitched { definition, abandoned: Vec::new(), keeps_numbers }
    }

    #[test]
    fn steps_that_another_source_does_not_ask_for_keep_their_numbers() {
        let started = log(vec![]).remove(0).entry;
        let history = History::of(&log(vec![
            asked("/a#1", 1, false),
            asked("/gone#1", 2, false),
            switched(true),
            started,
            asked("/a#1", 1, false),
            asked("/new#1", 3, false),
        ]));
        let names = [1, 2, 3].map(|number| history.numbered(StepNumber(number)).map(|a| &*a.name));
        assert_eq!(names, [Some("a"), Some("gone"), Some("new")]);
    }
}
