//! Texts that are no chunks: each is refused with a type and, where there is one, a position.

use agentos_core::bounds;
use agentos_core::codec::{Chunk, DecodeError, decode, encode};
use agentos_core::entry::{Entry, Record};
use agentos_core::id::Seq;
use agentos_core::journal::Journal;
use agentos_core::time::Timestamp;
use agentos_core::value;
use serde_json::{Value, json};

use super::examples::examples;
use crate::support::fact::{arrived, op};

/// Three entries at the positions 3 to 5; the damage is done to the last one.
fn with_last(last: &str) -> Result<Chunk, DecodeError> {
    let good = r#"{"kind":"attempt.started","scope":"/a#1@1"}"#;
    decode(&format!(r#"{{"v":1,"first":3,"at":0,"entries":[{good},{good},{last}]}}"#))
}

/// What is said about a damaged entry at position 5.
fn damage(last: &str) -> String {
    match with_last(last) {
        Err(error @ DecodeError::Entry { seq: Seq(5), .. }) => error.to_string(),
        other => panic!("{last}: {other:?}"),
    }
}

#[test]
fn a_version_that_is_not_known_is_said_with_its_position() {
    let error =
        decode(r#"{"v":2,"first":7,"at":0,"entries":[{"kind":"from.the_future"}]}"#).unwrap_err();
    assert!(matches!(error, DecodeError::Version { seq: Seq(7), version: 2 }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the log chunk at position 7 has format version 2; this program reads version 1"
    );
    let error = decode(r#"{"v":0,"first":7,"at":0,"entries":[]}"#).unwrap_err();
    assert!(matches!(error, DecodeError::Version { version: 0, .. }), "{error:?}");
}

#[test]
fn a_kind_that_is_not_known_is_said_with_its_position() {
    for kind in ["run.paused", "", "RunStarted", "run.started ", "run_started"] {
        match with_last(&json!({ "kind": kind, "scope": "" }).to_string()) {
            Err(DecodeError::UnknownKind { seq: Seq(5), kind: found }) => assert_eq!(found, kind),
            other => panic!("{kind}: {other:?}"),
        }
    }
    let error = with_last(r#"{"kind":"run.paused"}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the log entry at position 5 is of the unknown kind `run.paused`; a newer version may have written it"
    );
}

#[test]
fn an_entry_without_a_kind_is_damaged() {
    for text in ["{}", "null", "1", "[]", r#""run.ended""#, r#"{"kind":1}"#, r#"{"Kind":"x"}"#] {
        damage(text);
    }
}

/// Every field that an example has, at its top or inside of it.
fn fields(value: &Value, path: &str, found: &mut Vec<String>) {
    if let Value::Object(object) = value {
        for (field, inner) in object {
            let path = format!("{path}/{field}");
            fields(inner, &path, found);
            found.push(path);
        }
    }
}

/// Inside of these is what workflows and agents say: anything.
const FREE: [&str; 7] =
    ["/input/", "/args/", "/detail/", "/value/", "/payload/", "/meta/", "/output/"];

/// Whether an entry is whole without the field.
fn is_optional(entry: &Entry, path: &str) -> bool {
    match entry {
        Entry::CancelRequested { .. } => path == "/reason",
        Entry::RunStarted(_) => {
            let limits = matches!(path, "/timeout_ms" | "/deadline");
            limits || matches!(path, "/parent" | "/forked_from") || path.starts_with("/home")
        }
        Entry::SourceSwitched { .. } => path == "/abandoned" || path == "/keeps_numbers",
        Entry::ApprovalGiven { .. } => path == "/comment",
        Entry::StepRequested { .. } => {
            matches!(
                path,
                "/number" | "/timeout_ms" | "/rolls_back" | "/body" | "/body/tied" | "/site"
            )
        }
        Entry::BodyKept(_) => matches!(path, "/timeout_ms" | "/acts"),
        Entry::AttemptStarted { .. } => path == "/counts_from",
        Entry::ScopeClosing(_) => matches!(path, "/operations" | "/steps" | "/grace_until"),
        Entry::OperationOrdered { .. } => {
            matches!(path, "/number" | "/due" | "/child" | "/try" | "/site")
        }
        Entry::OperationHeld { .. } => {
            matches!(path, "/hold/subject" | "/hold/until" | "/hold/limit")
        }
        Entry::OperationReleased { .. } => path == "/granted",
        Entry::StateWritten { .. } => path == "/value",
        Entry::CommentAdded { .. } => path == "/meta",
        Entry::RunEnded { .. } => {
            path == "/outcome/failure" && entry_is_cancelled(entry)
                || path == "/outcome/failure/detail"
        }
        _ => false,
    }
}

fn entry_is_cancelled(entry: &Entry) -> bool {
    use agentos_core::entry::RunOutcome;
    matches!(entry, Entry::RunEnded { outcome: RunOutcome::Cancelled { .. } })
}

fn without(value: &Value, path: &str) -> String {
    let (around, field) = path.rsplit_once('/').expect("a path into the value");
    let mut value = value.clone();
    let object = value.pointer_mut(around).and_then(Value::as_object_mut).expect("an object");
    object.remove(field).expect("the field is there");
    value.to_string()
}

#[test]
fn an_entry_that_misses_a_field_is_damaged() {
    for (entry, text) in examples() {
        let value: Value = serde_json::from_str(text).unwrap();
        let mut found = Vec::new();
        fields(&value, "", &mut found);
        for path in found {
            let inside = FREE.iter().any(|free| path.contains(free));
            match with_last(&without(&value, &path)) {
                Ok(_) => assert!(inside || is_optional(&entry, &path), "{text} without {path}"),
                Err(DecodeError::Entry { seq: Seq(5), source }) => {
                    let said = source.to_string();
                    assert!(said.contains("missing field"), "{text} without {path}: {said}");
                    assert!(!inside && !is_optional(&entry, &path), "{text} without {path}");
                }
                Err(error) => panic!("{text} without {path}: {error}"),
            }
        }
    }
}

#[test]
fn an_entry_with_a_field_that_is_not_known_is_damaged() {
    for (_, text) in examples() {
        let extended = text.replacen('{', r#"{"surprise":1,"#, 1);
        let said = damage(&extended);
        assert!(said.contains("unknown field `surprise`"), "{extended}: {said}");
    }
}

/// A later version may say more about an outcome; an older one must not lose it without a word.
#[test]
fn a_part_of_an_entry_with_a_field_that_is_not_known_is_damaged() {
    for (_, text) in examples() {
        for part in ["outcome", "result", "failure", "retry"] {
            let begin = format!(r#""{part}":{{"#);
            if !text.contains(&begin) {
                continue;
            }
            let extended = text.replacen(&begin, &format!(r#"{begin}"surprise":1,"#), 1);
            let said = damage(&extended);
            assert!(said.contains("unknown field `surprise`"), "{extended}: {said}");
        }
    }
}

#[test]
fn a_chunk_with_a_field_that_is_not_known_is_damaged() {
    let error = decode(r#"{"v":1,"first":0,"at":0,"entries":[],"surprise":1}"#).unwrap_err();
    assert!(matches!(error, DecodeError::Damaged(_)), "{error:?}");
}

#[test]
fn a_field_that_comes_twice_is_damage() {
    damage(r#"{"kind":"attempt.started","scope":"/a#1@1","scope":"/a#1@2"}"#);
    damage(r#"{"kind":"attempt.started","kind":"attempt.started","scope":"/a#1@1"}"#);
    let error = decode(r#"{"v":1,"v":1,"first":0,"at":0,"entries":[]}"#).unwrap_err();
    assert!(matches!(error, DecodeError::Damaged(_)), "{error:?}");
}

#[test]
fn a_field_of_an_entry_with_the_wrong_type_is_damage() {
    for text in [
        r#"{"kind":"attempt.started","scope":1}"#,
        r#"{"kind":"attempt.started","scope":null}"#,
        r#"{"kind":"attempt.started","scope":["/a#1@1"]}"#,
        r#"{"kind":"operation.retried","operation":"/shell:x#1","try":"1"}"#,
        r#"{"kind":"operation.retried","operation":"/shell:x#1","try":1.5}"#,
        r#"{"kind":"operation.retried","operation":"/shell:x#1","try":-1}"#,
        r#"{"kind":"operation.retried","operation":"/shell:x#1","try":4294967296}"#,
        r#"{"kind":"scope.closing","scope":"","cause":"bored"}"#,
        r#"{"kind":"scope.closing","scope":"","cause":"expired","operations":"/shell:x#1"}"#,
        r#"{"kind":"run.ended","outcome":"completed"}"#,
        r#"{"kind":"run.ended","outcome":{"status":"finished"}}"#,
        r#"{"kind":"run.failing","failure":{"kind":"bad luck","message":""}}"#,
        r#"{"kind":"signal.arrived","key":"k","name":"","payload":1}"#,
        r#"{"kind":"signal.arrived","key":1,"name":"go","payload":1}"#,
        r#"{"kind":"signal.arrived","key":"k","name":"go","payload":1e400}"#,
        r#"{"kind":"attempt.failed","scope":"/a#1@1","failure":{"kind":"error","message":""},"retry_at":9223372036854775808}"#,
    ] {
        damage(text);
    }
}

#[test]
fn a_field_of_a_chunk_with_the_wrong_type_is_damage() {
    for text in [
        r#"{"v":"1","first":0,"at":0,"entries":[]}"#,
        r#"{"v":4294967297,"first":0,"at":0,"entries":[]}"#,
        r#"{"v":1,"first":-1,"at":0,"entries":[]}"#,
        r#"{"v":1,"first":18446744073709551616,"at":0,"entries":[]}"#,
        r#"{"v":1,"first":0,"at":0.5,"entries":[]}"#,
        r#"{"v":1,"first":0,"at":0,"entries":{}}"#,
        r#"{"v":1,"first":0,"at":0}"#,
        r#"{"first":0,"at":0,"entries":[]}"#,
    ] {
        assert!(matches!(decode(text), Err(DecodeError::Damaged(_))), "{text}");
    }
}

#[test]
fn a_path_that_could_not_have_been_written_is_damage() {
    let said = damage(r#"{"kind":"attempt.started","scope":"/a#1"}"#);
    assert!(said.contains("`/a#1` is not the path of a scope"), "{said}");
    let said = damage(r#"{"kind":"timer.fired","operation":"/dance:x#1"}"#);
    assert!(said.contains("`/dance:x#1` is not the path of an operation"), "{said}");
    let long = format!("/{}#1", "x".repeat(bounds::NAME_BYTES + 1));
    let ended = json!({ "kind": "step.ended", "step": long, "outcome": { "status": "cancelled" } });
    let said = damage(&ended.to_string());
    assert!(said.contains("is not the path of a step"), "{said}");
}

#[test]
fn a_chunk_cut_off_anywhere_is_damaged() {
    let entries = examples().into_iter().map(|(entry, _)| entry).collect();
    let whole = encode(&Chunk::new(Seq(0), Timestamp(0), entries));
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        let error = decode(&whole[..end]).unwrap_err();
        assert!(matches!(error, DecodeError::Damaged(_)), "{end}: {error:?}");
    }
}

#[test]
fn an_entry_cut_off_anywhere_is_no_entry() {
    for (entry, text) in examples() {
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert!(with_last(&text[..end]).is_err(), "{} {end}", entry.kind());
        }
    }
}

#[test]
fn a_text_that_is_something_else_altogether_is_damaged() {
    let two = r#"{"v":1,"first":0,"at":0,"entries":[]}"#.repeat(2);
    let bom = "\u{feff}{\"v\":1,\"first\":0,\"at\":0,\"entries\":[]}";
    for text in ["", " ", "null", "[]", "1", "\"v\"", "{}", "run.started", "\0", &two, bom] {
        let error = decode(text).unwrap_err();
        assert!(matches!(error, DecodeError::Damaged(_)), "{text:?}: {error:?}");
        assert!(error.to_string().starts_with("the log chunk is damaged: "), "{error}");
    }
}

/// Lists in lists, so many deep.
fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn a_value_as_deep_as_the_bound_is_read_back() {
    let deep: Value = serde_json::from_str(&nested(bounds::VALUE_DEPTH)).unwrap();
    assert_eq!(value::check(&deep), Ok(()));
    let entry = Entry::StateWritten { operation: op("/set:x#1"), value: Some(deep) };
    let chunk = Chunk::new(Seq(0), Timestamp(0), vec![entry]);
    assert_eq!(decode(&encode(&chunk)).unwrap(), chunk);
}

#[test]
fn nesting_without_end_is_damage_and_overflows_no_stack() {
    for depth in [200, 100_000] {
        let payload = nested(depth);
        damage(&format!(
            r#"{{"kind":"signal.arrived","key":"k","name":"go","payload":{payload}}}"#
        ));
        assert!(decode(&payload).is_err());
        assert!(decode(&"[".repeat(depth)).is_err());
        assert!(decode(&r#"{"v":"#.repeat(depth)).is_err());
    }
}

#[test]
fn the_last_position_there_is_is_no_reason_to_panic() {
    let last = encode(&Chunk::new(
        Seq(u64::MAX),
        Timestamp(i64::MAX),
        vec![arrived("k", "go"), arrived("l", "go")],
    ));
    if let Ok(chunk) = decode(&last) {
        let records: Vec<Record> = chunk.into_records().collect();
        assert!(Journal::fold(records).is_err());
    }
}
