//! Reading logs.

use agentos_core::codec::Chunk;
use agentos_core::entry::Entry;
use agentos_core::id::{RunId, Seq};
use agentos_core::time::Timestamp;
use serde_json::json;

use super::fixture::Fixture;
use super::given::{Held, NOW, key, name, new_run, note};
use crate::bounds;
use crate::commit::TurnCommit;
use crate::log::{end, load_whole_log};
use crate::store::Store;

pub(super) async fn a_log_is_read_back_as_it_was_committed(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    let payloads = [
        json!(null),
        json!("nul \0, quote \", newline \n, crab 🦀, lone \u{FFFD}"),
        json!({ "": [], "z": { "deep": [1, -2, 0.5, 1e300] }, "a": u64::MAX }),
        json!([i64::MIN, 9_007_199_254_740_993_i64, true, "", {}]),
        json!("x".repeat(100_000)),
    ];
    let mut expected = vec![Chunk::new(Seq(0), NOW, vec![new_run(1).first])];
    for (at, payload) in [i64::MIN, -1, 0, 1, i64::MAX].into_iter().zip(payloads) {
        let arrived = Entry::SignalArrived { key: key("it's; --"), name: name("né"), payload };
        let entries = vec![arrived, note("beside it")];
        let chunk = Chunk::new(held.head, Timestamp(at), entries);
        held.commit(&*store, TurnCommit { chunk: chunk.clone(), ..held.turn(&[]) }).await;
        expected.push(chunk);
    }
    let log = load_whole_log(&*store, held.run).await.expect("a log can be read");
    assert_eq!(log, expected);
}

pub(super) async fn paging_through_a_log_shows_every_entry_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (run, whole) = some_log(fixture, &*store).await;
    for limit in [1, 2, 3, 100] {
        let mut read = Vec::new();
        let mut from = Seq::FIRST;
        loop {
            let page = load(&*store, run, from, limit).await;
            assert!(page.len() <= limit, "a page of {limit} holds no more");
            let Some(last) = page.last() else { break };
            assert!(end(last) > from, "a page does not go back");
            from = end(last);
            read.extend(page);
        }
        assert_eq!(read, whole, "in pages of {limit}");
    }
    assert_eq!(load(&*store, run, Seq::FIRST, 0).await.len(), 1, "a page holds at least one");
    let most = load(&*store, run, Seq::FIRST, usize::MAX).await;
    assert!((1..=bounds::PAGE).contains(&most.len()), "and never more than a page");
}

pub(super) async fn a_page_of_a_log_never_cuts_a_chunk(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (run, whole) = some_log(fixture, &*store).await;
    for chunk in &whole {
        for inside in chunk.first.0..end(chunk).0 {
            let page = load(&*store, run, Seq(inside), 1).await;
            assert_eq!(page, std::slice::from_ref(chunk), "position {inside}");
        }
    }
}

pub(super) async fn a_log_read_past_its_end_is_empty(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (run, whole) = some_log(fixture, &*store).await;
    let length = whole.last().map_or(Seq::FIRST, end);
    for past in [length, length.next(), Seq(u64::MAX)] {
        assert_eq!(load(&*store, run, past, 10).await, [], "from {past}");
    }
}

async fn load(store: &dyn Store, run: RunId, from: Seq, limit: usize) -> Vec<Chunk> {
    store.load_log(run, from, limit).await.expect("a log can be read")
}

/// A log of chunks of different lengths, and another run's beside it.
async fn some_log(fixture: &dyn Fixture, store: &dyn Store) -> (RunId, Vec<Chunk>) {
    let owner = fixture.new_owner().await;
    let mut held = Held::create(store, 1, owner).await;
    let mut other = Held::create(store, 2, owner).await;
    let mut log = vec![Chunk::new(Seq(0), NOW, vec![new_run(1).first])];
    for texts in [&["a"][..], &["b", "c", "d"], &["e", "f"], &["g"]] {
        let turn = held.turn(texts);
        log.push(turn.chunk.clone());
        held.commit(store, turn).await;
        other.note(store, "of another run").await;
    }
    (held.run, log)
}
