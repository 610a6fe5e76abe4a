//! What the simulated store adds to the promises: faults on demand, and the same ones every time.

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, RunStarted};
use agentos_core::id::{InboxKey, OwnerId, RunId, Seed, Seq};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::standing::Standing;
use agentos_core::time::{Millis, Timestamp};
use agentos_store::backend::BackendErrorKind;
use agentos_store::claim::{Claim, ClaimError, ClaimMode};
use agentos_store::commit::{CommitError, TurnCommit};
use agentos_store::due::Except;
use agentos_store::inbox::{SendError, Sent};
use agentos_store::list::RunFilter;
use agentos_store::log::load_whole_log;
use agentos_store::place::Place;
use agentos_store::retry::Retry;
use agentos_store::run::{CreateError, Created, NewRun};
use agentos_store::simulated::{Fault, SimulatedStore, Verb};
use agentos_store::store::Store;
use agentos_store::tail::TailCursor;
use uuid::Uuid;

use crate::fixture::now;

const NOW: Timestamp = Timestamp(1_000);
const OWNER: OwnerId = OwnerId(Uuid::from_u128(1));
const OTHER: OwnerId = OwnerId(Uuid::from_u128(2));
const RUN: RunId = run_id(1);

const fn run_id(number: u128) -> RunId {
    RunId(Uuid::from_u128(number))
}

fn new_run(run: RunId) -> NewRun {
    let first = Entry::RunStarted(RunStarted {
        definition: String::new(),
        input: serde_json::Value::Null,
        seed: Seed(0),
        grace_ms: Millis::ZERO,
        ..RunStarted::new(run, Name::new("faults").expect("a short name"))
    });
    NewRun { run, at: NOW, first, history: None, place: Place::default(), owner: None }
}

fn message(text: &str) -> Message {
    let key = InboxKey(text.to_owned());
    Message { key, body: MessageBody::Cancel { reason: None } }
}

fn turn(run: RunId, claim: Claim, text: &str) -> TurnCommit {
    let entry = Entry::CancelRequested { key: InboxKey(text.to_owned()), reason: None };
    TurnCommit {
        run,
        epoch: claim.epoch,
        expected: claim.head,
        chunk: Chunk::new(claim.head, NOW, vec![entry]),
        consumed: Vec::new(),
        standing: Standing::Working { wake_at: None },
        outgoing: Vec::new(),
    }
}

fn claim(store: &SimulatedStore, owner: OwnerId) -> Claim {
    now(store.claim(RUN, owner, ClaimMode::IfFree)).expect("the run is free")
}

/// A store with one run that `OWNER` has claimed.
fn store() -> (SimulatedStore, Claim) {
    let store = SimulatedStore::new(7);
    assert_eq!(now(store.create_run(new_run(RUN))), Ok(Created::New));
    let claim = claim(&store, OWNER);
    (store, claim)
}

fn length(store: &SimulatedStore) -> usize {
    now(load_whole_log(store, RUN)).expect("the run exists").len()
}

fn unknown(answers: &[Result<agentos_store::commit::Committed, CommitError>]) -> bool {
    answers.iter().all(|answer| matches!(answer, Err(CommitError::Unknown { .. })))
}

#[test]
fn a_batch_whose_acknowledgement_is_lost_is_applied() {
    let (store, claim) = store();
    store.fail_next(Verb::Commit, Fault::LostAcknowledgement);
    let second = Claim { head: claim.head.next(), ..claim };
    let answers = now(store.commit(vec![turn(RUN, claim, "a"), turn(RUN, second, "b")]));
    assert_eq!(answers.len(), 2);
    assert!(unknown(&answers), "{answers:?}");
    assert_eq!(length(&store), 3);
}

#[test]
fn a_batch_that_never_arrived_is_as_unknown() {
    let (store, claim) = store();
    store.fail_next(Verb::Commit, Fault::NotApplied);
    let answers = now(store.commit(vec![turn(RUN, claim, "a")]));
    assert!(unknown(&answers), "{answers:?}");
    assert_eq!(length(&store), 1);
}

#[test]
fn a_batch_on_its_way_lands_when_its_time_has_come() {
    let (store, claim) = store();
    store.fail_next(Verb::Commit, Fault::AppliedLater { operations: 3 });
    assert!(unknown(&now(store.commit(vec![turn(RUN, claim, "a")]))));
    let mut heads = Vec::new();
    for _operation in 0..4 {
        heads.push(now(store.head(RUN)).unwrap().head);
    }
    assert_eq!(heads, [1, 1, 2, 2].map(Seq));
}

#[test]
fn a_batch_on_its_way_is_shut_out_by_a_claim() {
    let (store, first) = store();
    store.fail_next(Verb::Commit, Fault::AppliedLater { operations: 3 });
    assert!(unknown(&now(store.commit(vec![turn(RUN, first, "a")]))));
    let again = claim(&store, OWNER);
    assert_eq!(again.head, first.head, "it had not arrived");
    for _operation in 0..4 {
        assert_eq!(now(store.head(RUN)).unwrap().head, first.head, "and never does");
    }
}

/// The protocol that the promises ask for: after `Unknown`, claim again and look where the log ends.
#[test]
fn claiming_again_settles_whatever_is_unknown() {
    let later = (1..6).map(|operations| Fault::AppliedLater { operations });
    for fault in later.chain([Fault::LostAcknowledgement, Fault::NotApplied]) {
        let (store, first) = store();
        store.fail_next(Verb::Commit, fault);
        assert!(unknown(&now(store.commit(vec![turn(RUN, first, "once")]))));
        let again = claim(&store, OWNER);
        if again.head == first.head {
            assert!(now(store.commit(vec![turn(RUN, again, "once")]))[0].is_ok(), "{fault:?}");
        }
        for _operation in 0..6 {
            assert_eq!(length(&store), 2, "{fault:?}: it is in the log once");
        }
    }
}

#[test]
fn a_full_store_takes_nothing_and_can_be_read() {
    let (store, claim) = store();
    store.set_fault_plan(|_verb| Some(Fault::Full));
    let answers = now(store.commit(vec![turn(RUN, claim, "a")]));
    let Err(CommitError::Backend(error)) = &answers[0] else {
        panic!("not {answers:?}");
    };
    assert_eq!((error.kind, error.retry()), (BackendErrorKind::Full, Retry::SameAgain));
    assert!(matches!(now(store.send(RUN, message("m"), NOW)), Err(SendError::Backend(_))));
    assert_eq!(length(&store), 1);

    store.clear_faults();
    assert!(now(store.commit(vec![turn(RUN, claim, "a")]))[0].is_ok(), "there is room again");
    assert_eq!(now(store.send(RUN, message("m"), NOW)), Ok(Sent::New));
}

#[test]
fn verbs_that_are_idempotent_are_settled_by_asking_again() {
    for fault in [Fault::LostAcknowledgement, Fault::NotApplied, Fault::Transient, Fault::Full] {
        let (store, first) = store();
        for verb in [Verb::CreateRun, Verb::Claim, Verb::Release, Verb::Send] {
            store.fail_next(verb, fault);
        }
        let failed = now(store.create_run(new_run(run_id(2))));
        let Err(error @ CreateError::Backend(_)) = failed else { panic!("{fault:?}") };
        assert_eq!(error.retry(), Retry::SameAgain);
        assert!(now(store.create_run(new_run(run_id(2)))).is_ok());

        assert!(now(store.send(RUN, message("m"), NOW)).is_err());
        assert!(now(store.send(RUN, message("m"), NOW)).is_ok());
        assert_eq!(now(store.inbox(RUN, 10)).unwrap().len(), 1, "{fault:?}");

        assert!(now(store.claim(RUN, OWNER, ClaimMode::IfFree)).is_err());
        let again = claim(&store, OWNER);
        assert!(again.epoch > first.epoch);

        assert!(now(store.release(RUN, again.epoch)).is_err());
        assert_eq!(now(store.release(RUN, again.epoch)), Ok(()));
        assert_eq!(now(store.head(RUN)).unwrap().owner, None);
    }
}

#[test]
fn every_verb_that_reads_can_fail_and_be_asked_again() {
    let (store, _claim) = store();
    for verb in [Verb::Head, Verb::LoadLog, Verb::Inbox, Verb::Due, Verb::ListRuns, Verb::Tail] {
        store.fail_next(verb, Fault::Transient);
    }
    let mut retries = Vec::new();
    retries.extend(now(store.head(RUN)).err().map(|error| error.retry()));
    retries.extend(now(store.load_log(RUN, Seq(0), 1)).err().map(|error| error.retry()));
    retries.extend(now(store.inbox(RUN, 1)).err().map(|error| error.retry()));
    retries.extend(now(store.due(NOW, &Except::new(), 1)).err().map(|error| error.retry()));
    let listed = now(store.list_runs(RunFilter::default(), None, 1));
    retries.extend(listed.err().map(|error| error.retry()));
    retries.extend(now(store.tail(TailCursor::start(), 1)).err().map(|error| error.retry()));
    assert_eq!(retries, [Retry::SameAgain; 6]);

    assert!(now(store.head(RUN)).is_ok());
    assert!(now(store.tail(TailCursor::start(), 1)).is_ok());
}

#[test]
fn queued_faults_are_met_in_order_and_before_the_plan() {
    let (store, claim) = store();
    let mut calls = 0;
    store.set_fault_plan(move |verb| {
        calls += usize::from(verb == Verb::Commit);
        (verb == Verb::Commit && calls == 2).then_some(Fault::NotApplied)
    });
    store.fail_next(Verb::Commit, Fault::Transient);
    store.fail_next(Verb::Commit, Fault::Full);
    let commit = || now(store.commit(vec![turn(RUN, claim, "a")])).remove(0);
    let kind = |answer| match answer {
        Err(CommitError::Backend(error)) => Some(error.kind),
        _ => None,
    };
    assert_eq!(kind(commit()), Some(BackendErrorKind::Transient));
    assert_eq!(kind(commit()), Some(BackendErrorKind::Full));
    assert!(commit().is_ok(), "the plan lets the first one pass");
    assert!(unknown(&[commit()]), "but not the second");
    assert!(matches!(commit(), Err(CommitError::Conflict { .. })));
}

#[test]
fn an_owner_that_comes_back_to_life_may_claim() {
    let (store, _claim) = store();
    store.owner_died(OWNER);
    let again = now(store.claim(RUN, OWNER, ClaimMode::IfFree));
    assert_eq!(again, Err(ClaimError::NotAlive { owner: OWNER }));
    store.owner_alive(OWNER);
    assert!(now(store.claim(RUN, OTHER, ClaimMode::IfFree)).is_err(), "its run is its own again");
    claim(&store, OWNER);
}

#[test]
fn a_snapshot_goes_its_own_way() {
    let (store, claim) = store();
    store.fail_next(Verb::Commit, Fault::Full);
    let copy = store.snapshot();
    assert!(now(copy.commit(vec![turn(RUN, claim, "a")]))[0].is_ok(), "no fault is copied");
    assert_eq!((length(&copy), length(&store)), (2, 1));
    assert!(now(store.commit(vec![turn(RUN, claim, "b")]))[0].is_err());
}

/// The first positions and runs of what the tail shows, page by page, while runs are committed to in turn.
fn tail_pages(seed: u64) -> Vec<Vec<(RunId, Seq)>> {
    let store = SimulatedStore::new(seed);
    let mut cursor = TailCursor::start();
    let mut pages = Vec::new();
    for number in 0..20 {
        assert_eq!(now(store.create_run(new_run(run_id(number)))), Ok(Created::New));
        let page = now(store.tail(cursor, 100)).expect("the cursor is its own");
        cursor = page.next;
        pages.push(page.events.iter().map(|event| (event.run, event.chunk.first)).collect());
    }
    pages
}

#[test]
fn the_same_calls_get_the_same_answers() {
    for seed in 0..10 {
        assert_eq!(tail_pages(seed), tail_pages(seed));
    }
    assert_ne!(tail_pages(0), tail_pages(1), "the seed counts");
}

#[test]
fn the_tail_is_out_of_order_for_nearly_every_seed() {
    let out_of_order = (0..100).filter(|seed| !tail_pages(*seed).concat().is_sorted()).count();
    assert!(out_of_order >= 90, "only {out_of_order} of 100 seeds show what others have overtaken");
}
