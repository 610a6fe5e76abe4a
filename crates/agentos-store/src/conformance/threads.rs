//! Many at once. Not every race is met every time; what is checked holds in all of them.

use std::sync::{Arc, Mutex};

use agentos_core::id::Seq;

use super::fixture::{Fixture, Work};
use super::given::{
    Held, NOW, commit_one, create, head, key, message, new_run, notes, read_tail, waiting,
};
use super::tail::assert_matches_logs;
use crate::claim::{Claim, ClaimError, ClaimMode};
use crate::commit::{CommitError, TurnCommit};
use crate::inbox::Sent;
use crate::run::Created;
use crate::store::Store;
use crate::tail::{TailCursor, TailEvent};

/// How many do it at once, and how often.
const THREADS: usize = 8;
const ROUNDS: usize = 20;

/// Does `what` with as many handles at once, and gathers the answers.
async fn gather<T, F>(fixture: &dyn Fixture, what: impl Fn(usize, Arc<dyn Store>) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let answers = Arc::new(Mutex::new(Vec::new()));
    let mut work: Vec<Work> = Vec::new();
    for number in 0..THREADS {
        let pending = what(number, fixture.open().await);
        let answers = Arc::clone(&answers);
        work.push(Box::pin(async move {
            let answer = pending.await;
            answers.lock().expect("nobody panics while holding it").push(answer);
        }));
    }
    fixture.in_parallel(work);
    let mut answers = answers.lock().expect("nobody panics while holding it");
    std::mem::take(&mut *answers)
}

pub(super) async fn of_many_that_create_a_run_at_once_one_is_first(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for number in 0..ROUNDS as u128 {
        let create =
            |_, store: Arc<dyn Store>| async move { store.create_run(new_run(number)).await };
        let answers = gather(fixture, create).await;
        let first = answers.iter().filter(|answer| **answer == Ok(Created::New)).count();
        let existed = answers.iter().filter(|answer| **answer == Ok(Created::Existed)).count();
        assert_eq!((first, existed), (1, THREADS - 1), "{answers:?}");
        assert_eq!(head(&*store, new_run(number).run).await.head, Seq(1));
    }
}

pub(super) async fn of_many_that_claim_at_once_one_gets_the_run(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut owners = Vec::new();
    for _thread in 0..THREADS {
        owners.push(fixture.new_owner().await);
    }
    for number in 0..ROUNDS as u128 {
        let run = create(&*store, number).await;
        let claim = |thread: usize, store: Arc<dyn Store>| {
            let owner = owners[thread];
            async move { (owner, store.claim(run, owner, ClaimMode::IfFree).await) }
        };
        let answers = gather(fixture, claim).await;
        let winners: Vec<_> = answers.iter().filter(|(_, claim)| claim.is_ok()).collect();
        assert_eq!(winners.len(), 1, "{answers:?}");
        assert_eq!(head(&*store, run).await.owner, Some(winners[0].0));
        let refused =
            |claim| matches!(claim, &Err(ClaimError::Owned { by, .. }) if by == winners[0].0);
        assert!(answers.iter().all(|(_, claim)| claim.is_ok() || refused(claim)), "{answers:?}");
    }
}

pub(super) async fn of_many_that_send_one_message_at_once_one_is_first(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = create(&*store, 1).await;
    let mut expected = Vec::new();
    for round in 0..ROUNDS {
        let text = format!("message {round}");
        let send = |_, store: Arc<dyn Store>| {
            let message = message(&text);
            async move { store.send(run, message, NOW).await }
        };
        let answers = gather(fixture, send).await;
        let new = answers.iter().filter(|answer| **answer == Ok(Sent::New)).count();
        let duplicate = answers.iter().filter(|answer| **answer == Ok(Sent::Duplicate)).count();
        assert_eq!((new, duplicate), (1, THREADS - 1), "{answers:?}");
        expected.push(text);
    }
    assert_eq!(waiting(&*store, run).await, expected);
}

pub(super) async fn of_many_commits_to_one_head_one_is_applied(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    for _round in 0..ROUNDS {
        let commit = |thread: usize, store: Arc<dyn Store>| {
            let turn = held.turn(&[&format!("of {thread}")]);
            async move { commit_one(&*store, turn).await }
        };
        let answers = gather(fixture, commit).await;
        let next = held.head.next();
        let conflict = CommitError::Conflict { run: held.run, head: next };
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
        let others = answers.iter().filter_map(|answer| answer.as_ref().err());
        assert!(others.into_iter().all(|error| *error == conflict), "{answers:?}");
        held.head = next;
    }
    assert_eq!(notes(&*store, held.run).await.len(), ROUNDS);
}

pub(super) async fn many_that_commit_at_once_lose_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (runs, work) = committers(fixture, &*store).await;
    fixture.in_parallel(work);
    let expected: Vec<String> = (0..ROUNDS).map(|round| round.to_string()).collect();
    for held in runs {
        assert_eq!(notes(&*store, held.run).await, expected);
    }
}

pub(super) async fn a_tail_read_while_many_commit_misses_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (runs, mut work) = committers(fixture, &*store).await;
    let reader = Arc::new(Mutex::new((TailCursor::start(), Vec::new())));
    work.push(Box::pin(read_along(fixture.open().await, Arc::clone(&reader))));
    fixture.in_parallel(work);

    let (mut cursor, mut events) = reader.lock().expect("nobody panics while holding it").clone();
    let chunks = THREADS * (1 + ROUNDS);
    let rest = chunks.checked_sub(events.len()).expect("the tail shows no more than there is");
    events.extend(read_tail(fixture, &store, &mut cursor, (rest, 7)).await);
    assert_matches_logs(&*store, &runs, events).await;
}

pub(super) async fn messages_sent_while_others_are_consumed_are_taken_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    let run = held.run;
    let mut work: Vec<Work> = Vec::new();
    for thread in 0..THREADS {
        let store = fixture.open().await;
        work.push(Box::pin(async move {
            for round in 0..ROUNDS {
                let message = message(&format!("{thread}.{round}"));
                let sent = store.send(run, message.clone(), NOW).await;
                assert_eq!(sent, Ok(Sent::New), "nobody else sends it");
                assert_eq!(store.send(run, message, NOW).await, Ok(Sent::Duplicate));
            }
        }));
    }
    let consumer = fixture.open().await;
    work.push(Box::pin(async move {
        for _round in 0..ROUNDS {
            consume_all(&*consumer, &mut held).await;
        }
    }));
    fixture.in_parallel(work);

    let mut held = Held::claim(&*store, run, owner).await;
    consume_all(&*store, &mut held).await;
    let mut taken = notes(&*store, run).await;
    taken.sort();
    let sent = |thread| (0..ROUNDS).map(move |round| format!("{thread}.{round}"));
    let mut expected: Vec<String> = (0..THREADS).flat_map(sent).collect();
    expected.sort();
    assert_eq!(taken, expected, "each message became one entry");
}

/// Commits a note for each message that waits, until none does.
async fn consume_all(store: &dyn Store, held: &mut Held) {
    for _page in 0..=THREADS * ROUNDS {
        let keys = waiting(store, held.run).await;
        if keys.is_empty() {
            return;
        }
        let texts: Vec<&str> = keys.iter().map(String::as_str).collect();
        let consumed = texts.iter().map(|text| key(text)).collect();
        held.commit(store, TurnCommit { consumed, ..held.turn(&texts) }).await;
    }
    panic!("messages wait after they were consumed");
}

/// One commit under each epoch: it is in the log before the next claim answers, or it never is.
pub(super) async fn a_claim_shuts_out_every_commit_that_is_not_in_yet(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = create(&*store, 1).await;
    let mut owners = Vec::new();
    for _thread in 0..THREADS {
        owners.push(fixture.new_owner().await);
    }
    let fight = |thread: usize, store: Arc<dyn Store>| {
        let owner = owners[thread];
        async move {
            let mut claims = Vec::new();
            for _round in 0..ROUNDS {
                let claim = store.claim(run, owner, ClaimMode::TakeOver).await;
                let Claim { epoch, head, .. } = claim.expect("a run may be taken over");
                let turn = Held { run, epoch, head }.turn(&[&epoch.to_string()]);
                let applied = match commit_one(&*store, turn).await {
                    Ok(_) => true,
                    Err(CommitError::Stale { .. }) => false,
                    Err(other) => panic!("whoever has the run commits, not: {other}"),
                };
                claims.push((epoch, head, applied));
            }
            claims
        }
    };
    let mut claims = gather(fixture, fight).await.concat();
    claims.sort();
    for pair in claims.windows(2) {
        let (_, head, applied) = pair[0];
        let expected = if applied { head.next() } else { head };
        assert_eq!(pair[1].1, expected, "the claim after {:?} sees what it did", pair[0]);
    }
    let applied = claims.iter().filter(|(_, _, applied)| *applied);
    let expected: Vec<String> = applied.map(|(epoch, _, _)| epoch.to_string()).collect();
    assert_eq!(notes(&*store, run).await, expected);
}

/// A run for each thread, and what each does: commit to it again and again.
async fn committers(fixture: &dyn Fixture, store: &dyn Store) -> (Vec<Held>, Vec<Work>) {
    let mut runs = Vec::new();
    let mut work: Vec<Work> = Vec::new();
    for number in 0..THREADS as u128 {
        let owner = fixture.new_owner().await;
        let mut held = Held::create(store, number, owner).await;
        runs.push(held);
        let store = fixture.open().await;
        work.push(Box::pin(async move {
            for round in 0..ROUNDS {
                held.note(&*store, &round.to_string()).await;
            }
        }));
    }
    (runs, work)
}

/// Reads the tail for a while.
async fn read_along(store: Arc<dyn Store>, reader: Arc<Mutex<(TailCursor, Vec<TailEvent>)>>) {
    let (mut cursor, mut events) = (TailCursor::start(), Vec::new());
    for _page in 0..THREADS * ROUNDS {
        let page = store.tail(cursor, 3).await.expect("the tail can be read");
        cursor = page.next;
        events.extend(page.events);
    }
    *reader.lock().expect("nobody panics while holding it") = (cursor, events);
}
