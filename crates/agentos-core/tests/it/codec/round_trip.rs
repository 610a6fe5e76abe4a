//! What is written is read back, and is written the same in every version.

use std::collections::BTreeSet;

use agentos_core::codec::{Cause, Chunk, decode, encode};
use agentos_core::entry::{Entry, Record, RunOutcome};
use agentos_core::failure::FailureKind;
use agentos_core::id::Seq;
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::time::Timestamp;
use serde_json::{Value, json};

use super::examples::examples;
use crate::support::fact::{error, key, name, op};
use crate::support::variants;

variants!(
    Entry: RunStarted, CancelRequested, RunResumed, RunRebased, RunFailing, RunEnded, SourceSwitched,
    AnswersKept, BodyKept, AbandonedEnded, StepRequested, AttemptStarted, AttemptFailed, AttemptTimedOut,
    StepEnded, ScopeClosing, GraceExpired, OperationOrdered, OperationStarted,
    OperationInterrupted, OperationRetried, OperationHeld, OperationReleased, OperationCancelOrdered, OperationEnded, ChildEnded,
    TimerFired, SignalArrived, ApprovalGiven, SignalOffered, SignalConsumed, StateWritten,
    CommentAdded,
);

fn chunk(entries: Vec<Entry>) -> Chunk {
    Chunk::new(Seq(3), Timestamp(1_700_000_000_123), entries)
}

fn read_back(entry: Entry) -> Entry {
    let mut read = decode(&encode(&chunk(vec![entry]))).expect("what was written can be read");
    read.entries.pop().expect("one entry")
}

#[test]
fn every_entry_keeps_what_it_was_decided_under() {
    let arrival = || Entry::SignalArrived { key: key("k"), name: name("go"), payload: Value::Null };
    let mut written = chunk((0..5).map(|_| arrival()).collect());
    written.causes = vec![
        Cause { from: 1, by: Seq(0) },
        Cause { from: 3, by: Seq(2) },
        Cause { from: 9, by: Seq(7) },
    ];
    let text = encode(&written);
    assert!(text.ends_with(r#","by":[[1,0],[3,2],[9,7]]}"#), "{text}");
    let read = decode(&text).expect("what was written can be read");
    assert_eq!(read, written);
    let causes: Vec<Option<u64>> =
        read.into_records().map(|record| record.by.map(|by| by.0)).collect();
    assert_eq!(causes, [None, Some(0), Some(0), Some(2), Some(2)]);
}

#[test]
fn every_kind_of_entry_has_an_example() {
    let examples = examples();
    let seen: BTreeSet<&str> = examples.iter().map(|(entry, _)| variant(entry)).collect();
    assert_eq!(seen, VARIANTS.iter().copied().collect());
}

#[test]
fn every_kind_of_entry_is_spelled_as_it_always_was() {
    for (entry, text) in examples() {
        let written = encode(&chunk(vec![entry]));
        let expected = format!(r#"{{"v":1,"first":3,"at":1700000000123,"entries":[{text}]}}"#);
        assert_eq!(written, expected);
    }
}

#[test]
fn every_kind_of_entry_is_read_from_the_text_that_it_always_had() {
    for (entry, text) in examples() {
        let read = decode(&format!(r#"{{"v":1,"first":3,"at":1700000000123,"entries":[{text}]}}"#));
        assert_eq!(read.unwrap(), chunk(vec![entry]), "{text}");
    }
}

#[test]
fn an_entry_calls_its_kind_as_the_log_does() {
    for (entry, text) in examples() {
        let text: Value = serde_json::from_str(text).unwrap();
        assert_eq!(text["kind"], entry.kind());
    }
}

#[test]
fn a_chunk_with_many_entries_or_none_is_read_back() {
    let all = chunk(examples().into_iter().map(|(entry, _)| entry).collect());
    assert_eq!(decode(&encode(&all)).unwrap(), all);
    let none = Chunk::new(Seq(0), Timestamp(i64::MIN), Vec::new());
    assert_eq!(encode(&none), r#"{"v":1,"first":0,"at":-9223372036854775808,"entries":[]}"#);
    assert_eq!(decode(&encode(&none)).unwrap(), none);
}

#[test]
fn a_chunk_is_one_line_whatever_its_texts_hold() {
    let failing = Entry::RunFailing { failure: error("two\nlines\r\u{2028}") };
    let written = encode(&chunk(vec![failing]));
    assert!(!written.contains(['\n', '\r']), "{written}");
}

#[test]
fn a_chunk_becomes_records_without_a_gap() {
    let entries: Vec<Entry> = examples().into_iter().map(|(entry, _)| entry).take(3).collect();
    let records: Vec<Record> = chunk(entries.clone()).into_records().collect();
    let at = Timestamp(1_700_000_000_123);
    let expected = (3..).zip(entries).map(|(seq, entry)| Record::new(Seq(seq), at, entry));
    assert_eq!(records, expected.collect::<Vec<_>>());
}

#[test]
fn whitespace_and_the_order_of_fields_do_not_matter() {
    let text = r#" { "entries" : [ { "scope" : "/a#1@1", "kind" : "attempt.started" } ],
        "at" : 1700000000123, "first" : 3, "v" : 1 } "#;
    let entry = Entry::AttemptStarted { scope: "/a#1@1".parse().unwrap(), counts_from: None };
    assert_eq!(decode(text).unwrap(), chunk(vec![entry]));
}

#[test]
fn every_kind_of_failure_is_spelled_as_it_always_was() {
    use FailureKind::*;
    let all = [Error, NonRetryable, Timeout, Cancelled, Closed, Limit, Interrupted, Stalled];
    let spelled = all.map(|kind| match kind {
        // Whoever adds a kind here adds it above, too.
        Error | NonRetryable | Timeout | Cancelled | Closed | Limit | Interrupted | Stalled => {
            serde_json::to_string(&kind).unwrap()
        }
    });
    assert_eq!(
        spelled.join(" "),
        r#""error" "non_retryable" "timeout" "cancelled" "closed" "limit" "interrupted" "stalled""#
    );
}

/// A null is a value that a workflow may store; it is not the same as no value.
#[test]
fn a_null_in_the_state_is_read_back_as_a_null() {
    let written = Entry::StateWritten { operation: op("/set:x#1"), value: Some(Value::Null) };
    assert_eq!(read_back(written.clone()), written);
}

/// What a workflow throws is compared with what it threw before, the detail included.
#[test]
fn a_null_as_the_detail_of_a_failure_is_read_back_as_a_null() {
    let mut failure = error("no luck");
    failure.detail = Some(Value::Null);
    let failing = Entry::RunFailing { failure };
    assert_eq!(read_back(failing.clone()), failing);
}

/// A number that comes back with another last digit makes a replay ask for something else.
#[test]
fn every_number_is_read_back_to_the_last_digit() {
    let mut numbers = vec![
        json!(0.1 + 0.2),
        json!(f64::MIN_POSITIVE),
        json!(f64::MAX),
        json!(5e-324),
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
        json!(i64::MIN),
    ];
    numbers.extend((1..500).map(|nth| json!(f64::from(nth).sqrt() * 1e-9)));
    numbers.extend((1..500).map(|nth| json!(1e200 / f64::from(nth))));
    let written = Entry::StateWritten { operation: op("/set:x#1"), value: Some(json!(numbers)) };
    let Entry::StateWritten { value: Some(Value::Array(read)), .. } = read_back(written) else {
        panic!("no list was read back");
    };
    let changed: Vec<_> = numbers.iter().zip(&read).filter(|(was, is)| was != is).collect();
    assert!(changed.is_empty(), "{} of {}, such as {:?}", changed.len(), numbers.len(), changed[0]);
}

#[test]
fn an_entry_that_records_a_message_knows_its_key() {
    let recorded = ["run.cancel_requested", "child.ended", "signal.arrived", "approval.given"];
    for (entry, text) in examples() {
        let text: Value = serde_json::from_str(text).unwrap();
        let expected = text["key"].as_str().filter(|_| recorded.contains(&entry.kind()));
        assert_eq!(entry.message_key().map(|key| key.0.as_str()), expected, "{}", entry.kind());
    }
}

#[test]
fn a_message_is_spelled_as_it_always_was() {
    let signal = MessageBody::Signal { name: name("go"), payload: json!([1]) };
    let cancel = MessageBody::Cancel { reason: None };
    let because = MessageBody::Cancel { reason: Some("enough".to_owned()) };
    let approval = MessageBody::Approval {
        operation: op("/approve:ship#1"),
        approved: true,
        by: "me".to_owned(),
        comment: None,
    };
    let child = MessageBody::ChildEnded {
        operation: op("/invoke:build#1"),
        outcome: RunOutcome::Cancelled { failure: None },
    };
    for (body, text) in [
        (
            approval,
            r#"{"key":"k","body":{"kind":"approval","operation":"/approve:ship#1","approved":true,"by":"me"}}"#,
        ),
        (
            child,
            r#"{"key":"k","body":{"kind":"child_ended","operation":"/invoke:build#1","outcome":{"status":"cancelled"}}}"#,
        ),
        (signal, r#"{"key":"k","body":{"kind":"signal","name":"go","payload":[1]}}"#),
        (cancel, r#"{"key":"k","body":{"kind":"cancel"}}"#),
        (because, r#"{"key":"k","body":{"kind":"cancel","reason":"enough"}}"#),
    ] {
        let message = Message { key: key("k"), body };
        assert_eq!(serde_json::to_string(&message).unwrap(), text);
        assert_eq!(serde_json::from_str::<Message>(text).unwrap(), message);
    }
}
