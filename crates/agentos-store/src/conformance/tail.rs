//! Reading the tail.

use std::collections::BTreeMap;

use agentos_core::codec::Chunk;
use agentos_core::id::RunId;

use super::fixture::Fixture;
use super::given::{COMPLETED, Held, commit_one, create, key, read_tail};
use crate::commit::TurnCommit;
use crate::log::load_whole_log;
use crate::store::Store;
use crate::tail::{TailCursor, TailError, TailEvent};

/// Runs and turns enough that a tail which is late at all is late here.
const RUNS: u128 = 4;
const ROUNDS: usize = 16;
const CHUNKS: usize = RUNS as usize * (1 + ROUNDS);

pub(super) async fn the_tail_shows_every_chunk_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut runs = start(fixture, &*store).await;
    for round in 0..ROUNDS {
        commit_round(&*store, &mut runs, round).await;
    }
    for limit in [1, 3, 1_000] {
        let mut cursor = TailCursor::start();
        let events = read_tail(fixture, &store, &mut cursor, (CHUNKS, limit)).await;
        assert_matches_logs(&*store, &runs, events).await;
    }
}

/// Read while it grows: whoever remembers only the latest thing seen misses what appears behind it.
pub(super) async fn the_tail_shows_late_what_others_have_overtaken(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut runs = start(fixture, &*store).await;
    let mut cursor = TailCursor::start();
    let mut events = Vec::new();
    for round in 0..ROUNDS {
        commit_round(&*store, &mut runs, round).await;
        let page = store.tail(cursor, 1_000).await.expect("the tail can be read");
        events.extend(page.events);
        cursor = page.next;
    }
    let rest = CHUNKS.checked_sub(events.len()).expect("the tail shows no more than there is");
    events.extend(read_tail(fixture, &store, &mut cursor, (rest, 1_000)).await);
    assert_matches_logs(&*store, &runs, events).await;
}

pub(super) async fn the_tail_keeps_the_order_within_a_run(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut runs = start(fixture, &*store).await;
    let mut cursor = TailCursor::start();
    let mut next: BTreeMap<RunId, u64> = BTreeMap::new();
    let mut seen = 0;
    for round in 0..ROUNDS {
        commit_round(&*store, &mut runs, round).await;
        let page = store.tail(cursor, 5).await.expect("the tail can be read");
        cursor = page.next;
        seen += assert_in_order(&mut next, page.events);
    }
    let rest = CHUNKS.checked_sub(seen).expect("the tail shows no more than there is");
    assert_in_order(&mut next, read_tail(fixture, &store, &mut cursor, (rest, 5)).await);
}

pub(super) async fn a_page_of_the_tail_is_bounded(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut runs = start(fixture, &*store).await;
    for round in 0..ROUNDS {
        commit_round(&*store, &mut runs, round).await;
    }
    for limit in [0, 1, 2, 7] {
        let mut cursor = TailCursor::start();
        read_tail(fixture, &store, &mut cursor, (CHUNKS, limit)).await;
        let page = store.tail(TailCursor::start(), limit).await.expect("the tail can be read");
        let length = page.events.len();
        assert_eq!(length, limit.max(1), "all of them are visible, a page holds {limit}");
    }
}

pub(super) async fn the_same_tail_cursor_may_be_used_again(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut runs = start(fixture, &*store).await;
    let mut cursor = TailCursor::start();
    read_tail(fixture, &store, &mut cursor, (runs.len(), 10)).await;
    commit_round(&*store, &mut runs, 0).await;

    let (mut one, mut other) = (cursor.clone(), cursor);
    let seen = read_tail(fixture, &store, &mut one, (runs.len(), 10)).await;
    let again = read_tail(fixture, &store, &mut other, (runs.len(), 10)).await;
    let sorted = |mut events: Vec<TailEvent>| {
        events.sort_by_key(|event| (event.run, event.chunk.first));
        events
    };
    assert_eq!(sorted(seen), sorted(again), "one reader takes nothing from another");
}

pub(super) async fn a_refused_commit_is_not_in_the_tail(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    let refused = TurnCommit { consumed: vec![key("absent")], ..held.turn(&["never"]) };
    assert!(commit_one(&*store, refused).await.is_err(), "nothing to consume");
    let unclaimed = Held { run: create(&*store, 2).await, ..held };
    let batch = vec![unclaimed.turn(&["never"]), held.turn(&["committed"])];
    let answers = store.commit(batch).await;
    assert!(answers[0].is_err() && answers[1].is_ok(), "one is refused: {answers:?}");
    held.head = held.head.next();
    held.stand(&*store, COMPLETED).await;
    assert!(commit_one(&*store, held.turn(&["never"])).await.is_err(), "it has ended");

    let mut cursor = TailCursor::start();
    let events = read_tail(fixture, &store, &mut cursor, (4, 10)).await;
    assert_matches_logs(&*store, &[held, unclaimed], events).await;
}

pub(super) async fn a_foreign_tail_cursor_is_refused(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    create(&*store, 1).await;
    let foreign = TailCursor::from_text("no cursor of any store");
    let answer = store.tail(foreign.clone(), 10).await;
    let refused = matches!(&answer, Err(TailError::Cursor { cursor }) if *cursor == foreign);
    assert!(refused, "it is refused, not guessed at: {answer:?}");
}

/// Runs that are claimed and have their first entry.
async fn start(fixture: &dyn Fixture, store: &dyn Store) -> Vec<Held> {
    let owner = fixture.new_owner().await;
    let mut runs = Vec::new();
    for number in 1..=RUNS {
        runs.push(Held::create(store, number, owner).await);
    }
    runs
}

/// One commit to each run: in one batch, and the next time one after the other.
async fn commit_round(store: &dyn Store, runs: &mut [Held], round: usize) {
    let text = format!("round {round}");
    if round.is_multiple_of(2) {
        let answers = store.commit(runs.iter().map(|held| held.turn(&[&text])).collect()).await;
        for (held, answer) in runs.iter_mut().zip(answers) {
            held.head = answer.expect("a turn of the owner is applied").head;
        }
    } else {
        for held in runs {
            held.commit(store, held.turn(&[&text, "and more"])).await;
        }
    }
}

/// What the tail showed is what the logs hold, each chunk once.
pub(super) async fn assert_matches_logs(store: &dyn Store, runs: &[Held], events: Vec<TailEvent>) {
    let mut shown: BTreeMap<RunId, Vec<Chunk>> = BTreeMap::new();
    for event in events {
        shown.entry(event.run).or_default().push(event.chunk);
    }
    for held in runs {
        let mut chunks = shown.remove(&held.run).unwrap_or_default();
        chunks.sort_by_key(|chunk| chunk.first);
        let log = load_whole_log(store, held.run).await.expect("a log can be read");
        assert_eq!(chunks, log, "the tail of run {} is its log", held.run);
    }
    assert!(shown.is_empty(), "the tail shows runs that do not exist: {:?}", shown.keys());
}

/// Positions follow each other within each run. Answers with the number of events.
fn assert_in_order(next: &mut BTreeMap<RunId, u64>, events: Vec<TailEvent>) -> usize {
    let count = events.len();
    for TailEvent { run, chunk } in events {
        let expected = next.entry(run).or_default();
        assert_eq!(chunk.first.0, *expected, "run {run} is shown in order");
        *expected += chunk.entries.len() as u64;
    }
    count
}
