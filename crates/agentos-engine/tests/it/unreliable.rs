//! The engine over a store that fails, and with code that panics: runs stand still, and go on; none is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentos_core::entry::{Entry, OperationResult, RunOutcome, RunStarted};
use agentos_core::failure::Failure;
use agentos_core::id::{InboxKey, OwnerId, RunId, Seed, Try};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::time::{Millis, Timestamp};
use agentos_engine::engine::{Builder, Engine, Limits};
use agentos_engine::library::{Invocation, Library, LibraryError, Opened};
use agentos_engine::performer::{Order, Performed, Performer, Performers, Ticket};
use agentos_store::log::load_whole_log;
use agentos_store::place::Place;
use agentos_store::run::{CreateError, NewRun};
use agentos_store::simulated::{Fault, SimulatedStore, Verb};
use agentos_store::store::Store as _;
use agentos_testing::chance::Chance;
use agentos_testing::script::build::{invoke, race, repeat, seq, shell, sleep, wait};
use agentos_testing::wait::{TIMEOUT, until};
use async_trait::async_trait;
use serde_json::json;
use uuid::Uuid;

use crate::support::{MAIN, Scripts};

/// Counts what it performs. `slow` ones take until they are stopped, and one panics.
struct Counting(Arc<AtomicUsize>);

#[async_trait]
impl Performer for Counting {
    async fn perform(&self, order: Order, ticket: Ticket) -> Performed {
        if order.recovered {
            return Performed::Interrupted;
        }
        self.0.fetch_add(1, Ordering::SeqCst);
        assert!(!order.operation.as_str().contains(":panics"), "it panics");
        if order.operation.as_str().contains(":slow") {
            ticket.stop.cancelled().await;
            return Performed::Ended(OperationResult::Cancelled {});
        }
        Performed::Ended(OperationResult::Ok { value: json!(1) })
    }

    async fn stop(&self, _: RunId, _: &OperationId, _: Try) {}
}

fn run_id(number: u128) -> RunId {
    RunId(Uuid::from_u128(number))
}

fn started(number: u128) -> RunStarted {
    RunStarted {
        seed: Seed(5),
        grace_ms: Millis::new(200),
        ..RunStarted::new(run_id(number), Name::new(MAIN).expect("a name"))
    }
}

struct World {
    store: SimulatedStore,
    engine: Engine,
    performed: Arc<AtomicUsize>,
}

impl World {
    fn new(library: impl Library, limits: Limits) -> Self {
        let store = SimulatedStore::new(1);
        let performed = Arc::new(AtomicUsize::new(0));
        let performers =
            Performers::new().with(OperationKind::Shell, Counting(Arc::clone(&performed)));
        let owner = OwnerId(Uuid::from_u128(9));
        let engine = Builder::new(Arc::new(store.clone()), owner, Arc::new(library))
            .performers(performers)
            .limits(limits)
            .start()
            .expect("the engine starts");
        Self { store, engine, performed }
    }

    async fn start(&self) -> RunId {
        self.start_as(1).await.expect("the run is created");
        run_id(1)
    }

    async fn start_as(&self, number: u128) -> Result<RunId, CreateError> {
        self.engine.create(started(number), Place::default()).await?;
        Ok(run_id(number))
    }

    /// Waits until the log of a run has an entry of this kind.
    async fn reaches(&self, run: RunId, kind: &str) {
        let reached = async || {
            let log = load_whole_log(&self.store, run).await.unwrap_or_default();
            log.iter().flat_map(|chunk| &chunk.entries).any(|entry| entry.kind() == kind)
        };
        until(&format!("{kind} comes"), reached).await;
    }

    /// Waits until nobody holds a run.
    async fn is_given_back(&self, run: RunId) {
        let is_free = async || self.store.head(run).await.is_ok_and(|head| head.owner.is_none());
        until("it is given back", is_free).await;
    }

    /// How a run ends. The store may fail while it is read.
    async fn outcome(&self, run: RunId) -> RunOutcome {
        let mut outcome = None;
        let ended = async || {
            let log = load_whole_log(&self.store, run).await.unwrap_or_default();
            outcome =
                log.into_iter().flat_map(|chunk| chunk.entries).find_map(|entry| match entry {
                    Entry::RunEnded { outcome } => Some(outcome),
                    _ => None,
                });
            outcome.is_some()
        };
        until("the run ends", ended).await;
        outcome.expect("the run has ended")
    }

    async fn completes(&self, run: RunId) {
        let outcome = self.outcome(run).await;
        assert!(matches!(outcome, RunOutcome::Completed { .. }), "{outcome:?}");
    }
}

fn limits() -> Limits {
    Limits { workers: 2, linger: Duration::from_millis(1), ..Limits::default() }
}

fn signal(key: &str) -> Message {
    let body = MessageBody::Signal { name: Name::new("go").expect("a name"), payload: json!(1) };
    Message { key: InboxKey(key.to_owned()), body }
}

fn cancel() -> Message {
    Message { key: InboxKey("cancel".into()), body: MessageBody::Cancel { reason: None } }
}

#[tokio::test]
async fn a_commit_of_which_nobody_knows_is_made_once() {
    let faults = (1..6).map(|operations| Fault::AppliedLater { operations });
    let others = [Fault::LostAcknowledgement, Fault::NotApplied, Fault::Transient, Fault::Full];
    for fault in faults.chain(others) {
        let world = World::new(Scripts::of(seq([shell("x"), shell("y")])), limits());
        world.store.fail_next(Verb::Commit, fault);
        let run = world.start().await;
        world.completes(run).await;
        assert_eq!(world.performed.load(Ordering::SeqCst), 2, "{fault:?}");
        world.engine.leave().await;
    }
}

#[tokio::test]
async fn a_claim_of_which_nobody_knows_is_made_again() {
    let full = Limits { slots: 1, ..limits() };
    let world = World::new(Scripts::of(seq([shell("x"), wait("go")])), full);
    let first = world.start().await;
    world.reaches(first, "operation.ended").await;
    world.store.fail_next(Verb::Claim, Fault::LostAcknowledgement);
    let second = world.start_as(2).await.expect("the run is created without a slot");
    world.reaches(second, "operation.ended").await;
    world.engine.leave().await;
}

#[tokio::test]
async fn a_run_is_driven_though_nobody_knows_whether_it_was_created() {
    let world = World::new(Scripts::of(shell("x")), limits());
    world.store.fail_next(Verb::CreateRun, Fault::LostAcknowledgement);
    world.store.fail_next(Verb::Claim, Fault::LostAcknowledgement);
    world.start_as(1).await.expect_err("the answer is lost");
    world.completes(RunId(Uuid::from_u128(1))).await;
    assert_eq!(world.performed.load(Ordering::SeqCst), 1);
    world.store.fail_next(Verb::CreateRun, Fault::NotApplied);
    world.start_as(2).await.expect_err("it is not created");
    world.start_as(2).await.expect("it is created now");
    world.completes(RunId(Uuid::from_u128(2))).await;
    assert_eq!(world.performed.load(Ordering::SeqCst), 2);
    world.engine.leave().await;
}

#[tokio::test]
async fn an_engine_that_leaves_holds_nothing_that_was_created_for_it() {
    let world = World::new(Scripts::of(seq([shell("slow")])), limits());
    let World { store, engine, .. } = world;
    for number in 0..20 {
        let creating = engine.create(started(number), Place::default());
        // Whoever does not wait for the answer leaves open what comes of it.
        let _in_time = tokio::time::timeout(Duration::ZERO, creating).await;
    }
    engine.leave().await;
    for number in 0..20 {
        let owner = store.head(run_id(number)).await.map_or(None, |head| head.owner);
        assert_eq!(owner, None, "run {number}");
    }
}

#[tokio::test]
async fn a_run_that_is_created_again_while_it_is_found_is_driven_once() {
    let world = World::new(Scripts::of(shell("x")), limits());
    for number in 0..50 {
        let first = Entry::RunStarted(started(number));
        let at = Timestamp(1);
        let new = NewRun {
            run: run_id(number),
            at,
            first,
            history: None,
            place: Place::default(),
            owner: None,
        };
        world.store.create_run(new).await.expect("the run is created");
        world.start_as(number).await.expect("it exists");
    }
    for number in 0..50 {
        world.completes(run_id(number)).await;
    }
    assert_eq!(world.performed.load(Ordering::SeqCst), 50);
    world.engine.leave().await;
}

#[tokio::test]
async fn a_run_that_could_not_be_given_back_is_woken_all_the_same() {
    for fault in [Fault::Transient, Fault::Full, Fault::LostAcknowledgement] {
        let program = seq([sleep("s", 30), wait("go"), shell("x")]);
        let world = World::new(Scripts::of(program), limits());
        world.store.fail_next(Verb::Release, fault);
        let run = world.start().await;
        world.reaches(run, "timer.fired").await;
        world.store.fail_next(Verb::Release, fault);
        world.is_given_back(run).await;
        world.engine.send(run, signal("k")).await.expect("it is sent");
        world.completes(run).await;
        world.engine.leave().await;
    }
}

#[tokio::test]
async fn an_inbox_that_can_not_be_read_costs_no_effect_its_life() {
    let world = World::new(Scripts::of(race([shell("slow"), wait("go")])), limits());
    let run = world.start().await;
    world.reaches(run, "operation.ordered").await;
    until("it is at work", async || world.performed.load(Ordering::SeqCst) > 0).await;
    world.store.fail_next(Verb::Inbox, Fault::Transient);
    world.engine.send(run, signal("k")).await.expect("it is sent");
    world.completes(run).await;
    assert_eq!(world.performed.load(Ordering::SeqCst), 1);
    world.engine.leave().await;
}

#[tokio::test]
async fn a_child_that_could_not_be_created_at_once_is_created_once() {
    for fault in [Fault::Transient, Fault::LostAcknowledgement] {
        let library = Scripts::of(seq([wait("go"), invoke("child")])).with("child", shell("x"));
        let world = World::new(library, limits());
        let run = world.start().await;
        world.reaches(run, "operation.ordered").await;
        world.store.fail_next(Verb::CreateRun, fault);
        world.engine.send(run, signal("k")).await.expect("it is sent");
        world.completes(run).await;
        assert_eq!(world.performed.load(Ordering::SeqCst), 1, "{fault:?}");
        world.engine.leave().await;
    }
}

#[tokio::test]
async fn a_child_that_could_not_be_told_at_once_is_cancelled() {
    let library = Scripts::of(race([invoke("child"), wait("go")])).with("child", shell("slow"));
    let world = World::new(library, limits());
    let run = world.start().await;
    world.reaches(run, "operation.started").await;
    world.engine.send(run, signal("k")).await.expect("it is sent");
    world.store.fail_next(Verb::Send, Fault::Transient);
    world.completes(run).await;
    world.engine.leave().await;
}

#[tokio::test]
async fn whoever_performs_and_panics_fails_the_operation() {
    let world = World::new(Scripts::of(shell("panics")), limits());
    let run = world.start().await;
    let RunOutcome::Failed { failure } = world.outcome(run).await else { panic!("it fails") };
    assert_eq!(failure.message, "whoever performed it panicked: it panics");
    world.engine.leave().await;
}

/// Knows no workflow, and panics about it.
struct Panics;

impl Library for Panics {
    fn open(&self, _: &RunStarted) -> Result<Opened, LibraryError> {
        panic!("nobody knows")
    }

    fn start_of_child(&self, _: Invocation) -> Result<RunStarted, Failure> {
        panic!("nobody knows")
    }
}

#[tokio::test]
async fn a_library_that_panics_costs_neither_the_slot_nor_the_run() {
    let world = World::new(Panics, Limits { slots: 1, ..limits() });
    let mut events = world.engine.events();
    let run = world.start().await;
    let told = tokio::time::timeout(TIMEOUT, events.recv()).await.expect("it is told");
    assert!(format!("{told:?}").contains("a panic: nobody knows"), "{told:?}");
    world.is_given_back(run).await;
    world.engine.leave().await;
}

#[tokio::test]
async fn a_cancel_behind_more_messages_than_are_read_at_once_is_heard() {
    let world = World::new(Scripts::of(shell("slow")), Limits { slots: 1, ..limits() });
    let run = world.start().await;
    world.reaches(run, "operation.ordered").await;
    for number in 0..150 {
        let message = signal(&format!("k{number}"));
        world.store.send(run, message, Timestamp(1)).await.expect("it is sent");
    }
    world.engine.send(run, cancel()).await.expect("it is sent");
    let outcome = world.outcome(run).await;
    assert!(matches!(outcome, RunOutcome::Cancelled { .. }), "{outcome:?}");
    world.engine.leave().await;
}

#[tokio::test]
async fn a_program_that_never_rests_hears_that_it_is_cancelled() {
    let world = World::new(Scripts::of(repeat(u32::MAX, sleep("none", 0))), limits());
    let run = world.start().await;
    world.reaches(run, "operation.ordered").await;
    world.engine.send(run, cancel()).await.expect("it is sent");
    let outcome = world.outcome(run).await;
    assert!(matches!(outcome, RunOutcome::Cancelled { .. }), "{outcome:?}");
    world.engine.leave().await;
}

#[tokio::test]
async fn a_store_that_fails_at_random_for_a_while_loses_no_run() {
    for seed in 0..10 {
        let library = Scripts::of(seq([shell("x"), sleep("s", 5), invoke("child"), shell("y")]))
            .with("child", seq([sleep("t", 3), shell("z")]));
        let world = World::new(library, limits());
        let mut chance = Chance::new(format!("faults {seed}"));
        let mut left = 60;
        world.store.set_fault_plan(move |_| {
            left -= 1;
            let fault = [
                Fault::Transient,
                Fault::LostAcknowledgement,
                Fault::NotApplied,
                Fault::Full,
                Fault::AppliedLater { operations: 2 },
            ];
            (left > 0 && chance.percent(30)).then(|| *chance.pick(&fault))
        });
        let start = RunStarted::new(RunId(Uuid::from_u128(1)), Name::new(MAIN).expect("a name"));
        while world.engine.create(start.clone(), Place::default()).await.is_err() {}
        world.completes(start.run).await;
        world.engine.leave().await;
    }
}

#[tokio::test]
async fn an_engine_whose_owner_is_taken_for_dead_leaves_and_touches_nothing() {
    let world = World::new(Scripts::of(shell("x")), limits());
    world.store.owner_died(OwnerId(Uuid::from_u128(9)));
    let run = world.start().await;
    let dying = tokio::time::timeout(TIMEOUT, world.engine.dying());
    dying.await.expect("the engine notices");
    let standing = world.engine.ended(run).await.expect("it can be read");
    assert!(!standing.is_ended(), "whoever waits is told");
    tokio::time::timeout(TIMEOUT, world.engine.died()).await.expect("the engine leaves");
    assert_eq!(world.performed.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn whoever_stops_waiting_for_an_end_is_forgotten() {
    let world = World::new(Scripts::of(wait("go")), limits());
    let run = world.start().await;
    {
        let (one, other) = (world.engine.ended(run), world.engine.ended(run));
        tokio::pin!(one, other);
        let none = tokio::time::timeout(Duration::from_millis(20), async {
            tokio::select! {
                _ = &mut one => {}
                _ = &mut other => {}
            }
        });
        assert!(none.await.is_err(), "it has not ended");
        assert_eq!(world.engine.awaited(), 1);
    }
    assert_eq!(world.engine.awaited(), 0);
    world.engine.leave().await;
}
