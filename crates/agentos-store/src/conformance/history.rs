//! Runs that are created with a log behind them: forks and retries.

use agentos_core::codec::Chunk;
use agentos_core::id::{Epoch, Seq};
use agentos_core::time::Timestamp;

use super::fixture::Fixture;
use super::given::{
    COMPLETED, Held, NOW, PARKED, due, head, key, message, new_run, note, notes, read_tail, run_id,
    waiting,
};
use crate::inbox::Sent;
use crate::list::RunFilter;
use crate::log::{ReadError, load_whole_log};
use crate::run::{CreateError, Created, FirstEntryError, Head, History, NewRun};
use crate::tail::TailCursor;

/// When what the run was forked from began.
const EARLIER: Timestamp = Timestamp(NOW.0 - 1_000);

/// Run 1 with two chunks behind it, the first of them at this position.
fn forked(first: u64) -> NewRun {
    let chunk = |first, texts: &[&str]| {
        Chunk::new(Seq(first), NOW, texts.iter().map(|text| note(text)).collect())
    };
    let rest = vec![chunk(first, &["one", "two"]), chunk(first + 2, &["three"])];
    NewRun { history: Some(History { began: EARLIER, rest, standing: PARKED }), ..new_run(1) }
}

pub(super) async fn a_run_is_created_with_its_history(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.create_run(forked(1)).await, Ok(Created::New));
    let fresh = Head { head: Seq(4), epoch: Epoch(0), owner: None, standing: PARKED };
    assert_eq!(head(&*store, run_id(1)).await, fresh);
    assert_eq!(notes(&*store, run_id(1)).await, ["one", "two", "three"]);
    let log = load_whole_log(&*store, run_id(1)).await.expect("a log can be read");
    assert_eq!(log.len(), 3, "chunks stay as they were");
    let times: Vec<Timestamp> = log.iter().map(|chunk| chunk.at).collect();
    assert_eq!(times, [EARLIER, NOW, NOW], "the log does not go back in time");
    let listed = store.list_runs(RunFilter::default(), None, 1).await.expect("runs can be listed");
    assert_eq!(listed.runs[0].created_at, new_run(1).at, "the run itself is new");
    let mut cursor = TailCursor::start();
    let events = read_tail(fixture, &store, &mut cursor, (3, 10)).await;
    let firsts: Vec<u64> = events.iter().map(|event| event.chunk.first.0).collect();
    assert_eq!(firsts, [0, 1, 3], "the tail shows all of it");
}

pub(super) async fn a_run_with_a_history_stands_as_that_says(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.create_run(forked(1)).await, Ok(Created::New));
    assert!(due(&*store, Timestamp(i64::MAX)).await.is_empty(), "it only waits");
    let history = History { began: NOW, rest: Vec::new(), standing: COMPLETED };
    let ended = NewRun { history: Some(history), ..new_run(2) };
    assert_eq!(store.create_run(ended).await, Ok(Created::New));
    assert_eq!(head(&*store, run_id(2)).await.standing, COMPLETED);
    assert!(due(&*store, Timestamp(i64::MAX)).await.is_empty(), "it is over");
}

pub(super) async fn messages_in_a_history_were_received(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.create_run(forked(1)).await, Ok(Created::New));
    assert_eq!(store.send(run_id(1), message("two"), NOW).await, Ok(Sent::Duplicate));
    assert!(waiting(&*store, run_id(1)).await.is_empty());
    assert_eq!(store.send(run_id(1), message("four"), NOW).await, Ok(Sent::New));
    assert_eq!(waiting(&*store, run_id(1)).await, [key("four").0]);
}

pub(super) async fn a_run_goes_on_from_its_history(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    assert_eq!(store.create_run(forked(1)).await, Ok(Created::New));
    let mut held = Held::claim(&*store, run_id(1), owner).await;
    assert_eq!(held.head, Seq(4));
    held.note(&*store, "four").await;
    assert_eq!(notes(&*store, run_id(1)).await, ["one", "two", "three", "four"]);
    assert_eq!(store.create_run(forked(1)).await, Ok(Created::Existed), "however far it has come");
    assert_eq!(notes(&*store, run_id(1)).await, ["one", "two", "three", "four"]);
}

pub(super) async fn a_history_with_a_gap_is_refused(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for first in [0, 2] {
        let refused = store.create_run(forked(first)).await;
        let source = FirstEntryError::Misplaced { first: Seq(first) };
        assert_eq!(refused, Err(CreateError::FirstEntry { run: run_id(1), source }));
    }
    let missing = store.head(run_id(1)).await;
    assert!(matches!(missing, Err(ReadError::NotFound { .. })), "nothing is there: {missing:?}");
}
