//! Rules that every log obeys, checked from the log alone: no driver, no program and no uninterrupted run to compare with.

use std::collections::BTreeSet;

use agentos_core::entry::{Entry, Record};
use agentos_core::path::{OperationId, ScopePath};
use agentos_core::rebase::generation;

/// The first rule that a log breaks.
#[must_use]
pub fn broken_rule(log: &[Record]) -> Option<String> {
    let log = generation(log);
    time_going_back(log).or_else(|| signal_to_closing_scope(log))
}

/// Time never goes back, even if the clock of the machine does.
fn time_going_back(log: &[Record]) -> Option<String> {
    let pair = log.windows(2).find(|pair| pair[1].at < pair[0].at)?;
    Some(format!(
        "time goes back from {} to {} at {}",
        pair[0].at,
        pair[1].at,
        pair[1].entry.kind()
    ))
}

/// A signal is offered to, and answers, only waits whose scope and every scope around it still accept work.
fn signal_to_closing_scope(log: &[Record]) -> Option<String> {
    let mut closing: BTreeSet<ScopePath> = BTreeSet::new();
    for record in log {
        match &record.entry {
            Entry::ScopeClosing(closes) => {
                closing.insert(closes.scope.clone());
            }
            Entry::SignalOffered { operation, .. } | Entry::SignalConsumed { operation, .. }
                if is_within(operation, &closing) =>
            {
                return Some(format!(
                    "{} for {operation}, whose scope closes",
                    record.entry.kind()
                ));
            }
            _ => {}
        }
    }
    None
}

/// Whether an operation belongs to one of these scopes or to a scope below it.
fn is_within(operation: &OperationId, scopes: &BTreeSet<ScopePath>) -> bool {
    let operation = operation.as_str();
    scopes.iter().any(|scope| {
        let below = operation.strip_prefix(scope.as_str());
        below.is_some_and(|rest| rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use agentos_core::entry::{CloseCause, ScopeClosing};
    use agentos_core::id::{InboxKey, Seq};
    use agentos_core::time::Timestamp;

    use super::*;

    fn log(entries: Vec<(i64, Entry)>) -> Vec<Record> {
        let record =
            |(number, (at, entry))| Record { seq: Seq(number), at: Timestamp(at), by: None, entry };
        (1..).zip(entries).map(record).collect()
    }

    fn closes(scope: &str) -> Entry {
        Entry::ScopeClosing(ScopeClosing {
            scope: scope.parse().expect("a scope"),
            cause: CloseCause::Cancelled,
            operations: Vec::new(),
            steps: Vec::new(),
            grace_until: None,
        })
    }

    fn offered(operation: &str) -> Entry {
        let operation = operation.parse().expect("an operation");
        Entry::SignalOffered { key: InboxKey("k".into()), operation }
    }

    #[test]
    fn time_that_goes_back_is_found() {
        let entry = || offered("/wait:go#1");
        assert_eq!(broken_rule(&log(vec![(1, entry()), (1, entry()), (2, entry())])), None);
        assert!(broken_rule(&log(vec![(2, entry()), (1, entry())])).is_some());
    }

    #[test]
    fn a_signal_for_a_scope_that_closes_is_found() {
        let orders = |scope: &str, operation: &str| {
            let both = vec![(1, closes(scope)), (2, offered(operation))];
            let before = vec![(1, offered(operation)), (2, closes(scope))];
            (broken_rule(&log(both)).is_some(), broken_rule(&log(before)).is_some())
        };
        assert_eq!(orders("", "/wait:go#1"), (true, false));
        assert_eq!(orders("/a#1@1", "/a#1@1/wait:go#1"), (true, false));
        assert_eq!(orders("/a#1@1", "/wait:go#1"), (false, false));
        assert_eq!(orders("/a#1@1", "/a#1@11/wait:go#1"), (false, false));
    }
}
