//! Logs that nobody wrote: whatever is done to a log, it folds or is refused, and no code panics over it.

mod arbitrary;
mod mangle;
mod recorded;

use std::rc::Rc;

use agentos_core::codec::{Chunk, decode, encode};
use agentos_core::effect::{Happening, Timer};
use agentos_core::entry::{Entry, Record};
use agentos_core::execution::{Execution, Options};
use agentos_core::id::{InboxKey, Seq, Try};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::journal::Journal;
use agentos_core::time::Timestamp;
use agentos_testing::script::Script;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use arbitrary::{
    any_entry, any_hold, any_name, any_operation, any_record, any_result, any_run_outcome,
    any_scope, any_value,
};
use mangle::{Mangling, any_mangling, salvage};
use recorded::{Recording, SEEDS, recording};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Folds records one by one: every refusal says the right place and changes nothing.
fn fold_carefully(records: &[Record]) -> Result<Journal, TestCaseError> {
    let mut journal = Journal::default();
    for record in records {
        let before = journal.len();
        match journal.apply(record.clone()) {
            Ok(()) => prop_assert_eq!(journal.len(), before + 1),
            Err(error) => {
                prop_assert_eq!(error.seq, record.seq);
                prop_assert_eq!(error.kind, record.entry.kind());
                prop_assert_eq!(journal.len(), before);
                let whole = Journal::fold(records.iter().cloned());
                prop_assert_eq!(whole.err(), Some(error));
                break;
            }
        }
    }
    Ok(journal)
}

/// More than any of the recorded programs needs.
const TURNS: usize = 10_000;

/// Executes a program against a log, right or wrong, and lets the world say some things.
fn execute(recording: &Recording, log: &[Record], happenings: &[Vec<Happening>]) {
    let journal = Journal::fold(log.iter().cloned()).expect("a salvaged log folds");
    let script = Script::new(Rc::new(recording.program.clone()));
    let now = log.last().map_or(Timestamp(0), |record| record.at);
    let options = Options { turn_entries: recording.turn_entries, ..Options::default() };
    let Ok((mut execution, turn)) = Execution::replay(script, journal, options, now) else {
        return;
    };
    let mut log: Vec<Record> = log.to_vec();
    log.extend(turn.chunk.into_records());
    let mut more = turn.more;
    let mut rest = happenings.iter().cloned();
    for _ in 0..TURNS {
        let Some(news) = (if more { Some(Vec::new()) } else { rest.next() }) else { break };
        let Ok(turn) = execution.advance(news, now) else { return };
        more = turn.more;
        log.extend(turn.chunk.into_records());
    }
    assert!(!more, "the run goes on for ever");
    // Whatever was decided, the log with it is one that folds.
    Journal::fold(log).expect("a turn continues its log");
}

fn any_happening() -> BoxedStrategy<Happening> {
    let tries = (1_u32..4).prop_map(Try);
    prop_oneof![
        (any_operation(), tries.clone(), any_value())
            .prop_map(|(operation, r#try, detail)| Happening::Started { operation, r#try, detail }),
        (any_operation(), tries.clone(), any_result())
            .prop_map(|(operation, r#try, result)| Happening::Ended { operation, r#try, result }),
        (any_operation(), tries.clone(), any_hold())
            .prop_map(|(operation, r#try, hold)| Happening::Held { operation, r#try, hold }),
        (any_operation(), tries)
            .prop_map(|(operation, r#try)| Happening::Interrupted { operation, r#try }),
        any_operation().prop_map(|operation| Happening::Timer(Timer::Operation(operation))),
        any_scope().prop_map(|scope| Happening::Timer(Timer::Retry(scope))),
        any_scope().prop_map(|scope| Happening::Timer(Timer::Grace(scope))),
        any_scope().prop_map(|scope| Happening::Timer(Timer::Attempt(scope))),
        select(vec![Timer::Run, Timer::Deadline]).prop_map(Happening::Timer),
        Just(Happening::Resumed),
        ("[mn][0-3]", any_message())
            .prop_map(|(key, body)| Happening::Message(Message { key: InboxKey(key), body })),
    ]
    .boxed()
}

fn any_message() -> BoxedStrategy<MessageBody> {
    let question = (any_operation(), any::<bool>()).prop_map(|(operation, approved)| {
        MessageBody::Approval { operation, approved, by: String::new(), comment: None }
    });
    let child = (any_operation(), any_run_outcome())
        .prop_map(|(operation, outcome)| MessageBody::ChildEnded { operation, outcome });
    prop_oneof![
        Just(MessageBody::Cancel { reason: None }),
        (any_name(), any_value()).prop_map(|(name, payload)| MessageBody::Signal { name, payload }),
        question,
        child,
    ]
    .boxed()
}

fn any_news() -> impl Strategy<Value = Vec<Vec<Happening>>> {
    proptest::collection::vec(proptest::collection::vec(any_happening(), 0..6), 0..4)
}

fn any_manglings() -> impl Strategy<Value = Vec<Mangling>> {
    proptest::collection::vec(any_mangling(), 1..8)
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn arbitrary_entries_fold_or_are_refused_in_their_place(
        records in proptest::collection::vec(any_record(), 0..40),
    ) {
        fold_carefully(&records)?;
    }

    #[test]
    fn arbitrary_entries_at_their_places_fold_or_are_refused(
        entries in proptest::collection::vec(any_entry(), 0..60),
    ) {
        let start = recording(0).log[0].entry.clone();
        let records: Vec<Record> = std::iter::once(start)
            .chain(entries)
            .zip(0_u64..)
            .map(|(entry, seq)| Record::new(Seq(seq), Timestamp(0), entry))
            .collect();
        fold_carefully(&records)?;
        // Most are refused at once; what is left of them without the refused ones goes further.
        let salvaged = salvage(records);
        prop_assert!(Journal::fold(salvaged).is_ok());
    }

    #[test]
    fn arbitrary_entries_are_read_back_as_they_were_written(
        entries in proptest::collection::vec(any_entry(), 0..10),
        first in any::<u64>(),
        at in any::<i64>(),
    ) {
        let chunk = Chunk::new(Seq(first), Timestamp(at), entries);
        prop_assert_eq!(decode(&encode(&chunk)).expect("what was written can be read"), chunk);
    }

    #[test]
    fn a_mangled_log_folds_or_is_refused_in_its_place(
        seed in 0..SEEDS,
        manglings in any_manglings(),
        renumbered in any::<bool>(),
    ) {
        let mut log = recording(seed).log;
        manglings.iter().for_each(|mangling| mangling.apply(&mut log));
        if renumbered {
            mangle::renumber(&mut log);
        }
        fold_carefully(&log)?;
    }

    #[test]
    fn a_mangled_log_that_folds_is_executed_or_refused(
        seed in 0..SEEDS,
        manglings in any_manglings(),
        news in any_news(),
    ) {
        let recording = recording(seed);
        let mut log = recording.log.clone();
        manglings.iter().for_each(|mangling| mangling.apply(&mut log));
        execute(&recording, &salvage(log), &news);
    }

    #[test]
    fn a_log_of_another_program_is_executed_or_refused(
        seed in 0..SEEDS,
        other in 0..SEEDS,
        news in any_news(),
    ) {
        execute(&recording(seed), &recording(other).log, &news);
    }

    #[test]
    fn a_log_cut_at_any_place_is_executed_or_refused(
        seed in 0..SEEDS,
        cut in any::<prop::sample::Index>(),
        news in any_news(),
    ) {
        let recording = recording(seed);
        let len = 1 + cut.index(recording.log.len());
        execute(&recording, &recording.log[..len.min(recording.log.len())], &news);
    }

    #[test]
    fn a_text_with_a_flipped_byte_is_read_or_refused(
        seed in 0..SEEDS,
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let log = recording(seed).log;
        let entries: Vec<Entry> = log.into_iter().map(|record| record.entry).collect();
        let mut text = encode(&Chunk::new(Seq(0), Timestamp(0), entries)).into_bytes();
        let place = place.index(text.len());
        text[place] = byte;
        if let Ok(text) = String::from_utf8(text)
            && let Ok(chunk) = decode(&text)
        {
            let first = chunk.first;
            let folded = Journal::fold(chunk.entries.into_iter().zip(first.0..first.0.saturating_add(1_000)).map(
                |(entry, seq)| Record::new(Seq(seq), chunk.at, entry),
            ));
            if first != Seq::FIRST {
                prop_assert!(folded.is_err());
            }
        }
    }
}
