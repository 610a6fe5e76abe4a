//! What can be done to a log.

use agentos_core::entry::{Entry, Record};
use agentos_core::id::Seq;
use agentos_core::journal::Journal;
use agentos_core::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::arbitrary::any_entry;

/// One piece of damage.
#[derive(Debug, Clone)]
pub(super) enum Mangling {
    Cut(Index),
    Drop(Index),
    Repeat(Index, Index),
    Swap(Index, Index),
    Replace(Index, Entry),
    Insert(Index, Entry),
    Renumber(Index, u64),
    Retime(Index, i64),
    /// One field of an entry gets the text or number that another entry has under the same name.
    Transplant(Index, Index),
}

pub(super) fn any_mangling() -> BoxedStrategy<Mangling> {
    let index = any::<Index>;
    prop_oneof![
        1 => index().prop_map(Mangling::Cut),
        4 => index().prop_map(Mangling::Drop),
        3 => (index(), index()).prop_map(|(from, to)| Mangling::Repeat(from, to)),
        4 => (index(), index()).prop_map(|(one, other)| Mangling::Swap(one, other)),
        3 => (index(), any_entry()).prop_map(|(at, entry)| Mangling::Replace(at, entry)),
        3 => (index(), any_entry()).prop_map(|(at, entry)| Mangling::Insert(at, entry)),
        1 => (index(), any::<u64>()).prop_map(|(at, seq)| Mangling::Renumber(at, seq)),
        2 => (index(), prop_oneof![any::<i64>(), 0_i64..20])
            .prop_map(|(at, time)| Mangling::Retime(at, time)),
        4 => (index(), index()).prop_map(|(from, to)| Mangling::Transplant(from, to)),
    ]
    .boxed()
}

impl Mangling {
    pub(super) fn apply(&self, log: &mut Vec<Record>) {
        if log.is_empty() {
            return;
        }
        let len = log.len();
        match self {
            Self::Cut(at) => log.truncate(at.index(len)),
            Self::Drop(at) => {
                log.remove(at.index(len));
            }
            Self::Repeat(from, to) => log.insert(to.index(len), log[from.index(len)].clone()),
            Self::Swap(one, other) => log.swap(one.index(len), other.index(len)),
            Self::Replace(at, entry) => log[at.index(len)].entry = entry.clone(),
            Self::Insert(at, entry) => {
                let at = at.index(len);
                log.insert(at, Record { entry: entry.clone(), ..log[at].clone() });
            }
            Self::Renumber(at, seq) => log[at.index(len)].seq = Seq(*seq),
            Self::Retime(at, time) => log[at.index(len)].at = Timestamp(*time),
            Self::Transplant(from, to) => {
                let (from, to) = (from.index(len), to.index(len));
                if let Some(entry) = transplant(&log[from].entry, &log[to].entry) {
                    log[to].entry = entry;
                }
            }
        }
    }
}

/// The second entry with the fields that the first one has too, if that is an entry.
fn transplant(from: &Entry, to: &Entry) -> Option<Entry> {
    let (Value::Object(from), Value::Object(mut to)) =
        (serde_json::to_value(from).ok()?, serde_json::to_value(to).ok()?)
    else {
        return None;
    };
    for (field, value) in &mut to {
        if let Some(other) = from.get(field).filter(|_| field != "kind") {
            *value = other.clone();
        }
    }
    serde_json::from_value(Value::Object(to)).ok()
}

/// Numbers the records as if none were missing.
pub(super) fn renumber(log: &mut [Record]) {
    for (seq, record) in (0..).zip(log) {
        record.seq = Seq(seq);
    }
}

/// The largest log that folds: what does not fit is left out.
pub(super) fn salvage(log: Vec<Record>) -> Vec<Record> {
    let mut journal = Journal::default();
    let mut kept: Vec<Record> = Vec::new();
    for record in log {
        let last = kept.last().map_or(record.at, |last: &Record| last.at);
        let record = Record { seq: Seq(kept.len() as u64), at: last.max(record.at), ..record };
        if journal.apply(record.clone()).is_ok() {
            kept.push(record);
        }
    }
    kept
}
