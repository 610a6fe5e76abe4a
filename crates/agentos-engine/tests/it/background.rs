//! Timers and messages with nobody running: the executor starts, delivers, and leaves.

use std::path::Path;
use std::time::Duration;

use agentos_core::entry::{Entry, RunStarted};
use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::time::Timestamp;
use agentos_engine::background::{Attended, Depart, Seat, Standby, attend, attend_for};
use agentos_engine::clock::SystemClock;
use agentos_engine::engine::{Builder, Limits, NoBell};
use agentos_store::place::Place;
use agentos_store::run::NewRun;
use agentos_store::store::Store as _;
use agentos_testing::script::build::{seq, shell, sleep, wait};
use agentos_testing::wait::until;
use serde_json::json;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::support::{House, MAIN, Scripts};

/// Creates a run, and does nothing for it.
async fn create(house: &House) -> RunId {
    create_of(house, 5, MAIN).await
}

async fn create_of(house: &House, number: u128, workflow: &str) -> RunId {
    let run = RunId(Uuid::from_u128(number));
    let start = RunStarted::new(run, Name::new(workflow).expect("a name"));
    let first = Entry::RunStarted(start);
    let new = NewRun {
        run,
        at: Timestamp(1),
        first,
        history: None,
        place: Place::default(),
        owner: None,
    };
    house.store().create_run(new).await.expect("the run is created");
    run
}

/// Attends to a house until nothing is left to do.
async fn attends(house: &House) -> Attended {
    attends_until(house, std::future::pending()).await
}

/// Attends to a house until nothing is left to do, or until told.
async fn attends_until(house: &House, told: impl Future<Output = Depart>) -> Attended {
    let store = house.store();
    let mut owners = Vec::new();
    let owners_of = std::cell::RefCell::new(&mut owners);
    let start = || {
        let life = house.live(|builder| builder);
        owners_of.borrow_mut().push(life.owner);
        Ok(life.engine)
    };
    attend(store.path(), &store, &SystemClock, start, told).await.expect("somebody attends")
}

#[tokio::test]
async fn the_executor_sees_runs_to_their_ends_and_leaves() {
    let house = House::new(Scripts::of(seq([shell("a"), sleep("s", 30), shell("b")])));
    let run = create(&house).await;
    assert_eq!(attends(&house).await, Attended::Idle);
    assert!(house.store().head(run).await.expect("a head").standing.is_ended());
    assert_eq!(house.ledger().counts().len(), 2);
}

#[tokio::test]
async fn the_executor_leaves_a_run_that_waits_for_a_message_and_the_next_one_delivers_it() {
    let house = House::new(Scripts::of(seq([wait("go"), shell("a")])));
    let run = create(&house).await;
    assert_eq!(attends(&house).await, Attended::Idle);
    assert!(!house.store().head(run).await.expect("a head").standing.is_ended());
    let body = MessageBody::Signal { name: Name::new("go").expect("a name"), payload: json!(1) };
    let message = Message { key: InboxKey("k".into()), body };
    house.store().send(run, message, Timestamp(2)).await.expect("it is sent");
    assert_eq!(attends(&house).await, Attended::Idle);
    assert!(house.store().head(run).await.expect("a head").standing.is_ended());
}

#[tokio::test]
async fn there_is_one_executor_at_a_time() {
    let house = House::new(Scripts::of(shell("a")));
    let path = house.store().path().to_owned();
    let seat = Seat::take(&path).expect("the seat can be asked for").expect("it is free");
    assert_eq!(attends(&house).await, Attended::Another);
    drop(seat);
    assert!(Seat::take(&path).expect("the seat can be asked for").is_some());
}

/// A killed process that was not waited for yet, in the place of the executor whose seat this process has.
struct Killed(std::process::Child);

impl Killed {
    #[expect(clippy::disallowed_methods, reason = "it is killed, and the test waits for it")]
    fn in_place_of_this_process(database: &Path) -> Self {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("it starts");
        let lock = format!("{}.executor", database.display());
        let own = std::fs::read_to_string(&lock).expect("the lock file names us");
        let theirs = own.replace(&std::process::id().to_string(), &child.id().to_string());
        std::fs::write(lock, theirs).expect("the lock file can be written");
        child.kill().expect("it is killed");
        Self(child)
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _gone = self.0.wait();
    }
}

#[tokio::test]
async fn a_killed_executor_that_still_has_its_lock_is_not_taken_for_one_that_goes_on() {
    let house = House::new(Scripts::of(shell("a")));
    let path = house.store().path().to_owned();
    assert!(!Seat::is_being_released(&path).expect("the seat can be looked at"));
    let seat = Seat::take(&path).expect("the seat can be asked for").expect("it is free");
    assert!(!Seat::is_being_released(&path).expect("the seat can be looked at"), "we go on");
    // The lock is still there, and the process that it names was killed.
    let killed = Killed::in_place_of_this_process(&path);
    assert!(Seat::is_being_released(&path).expect("the seat can be looked at"));
    drop(killed);
    drop(seat);
    assert!(!Seat::is_being_released(&path).expect("the seat can be looked at"), "it is free");
}

#[tokio::test]
async fn one_executor_waits_for_the_end_of_a_killed_one_however_long_that_takes() {
    let house = House::new(Scripts::of(shell("a")));
    let run = create(&house).await;
    let path = house.store().path().to_owned();
    let seat = Seat::take(&path).expect("the seat can be asked for").expect("it is free");
    let killed = Killed::in_place_of_this_process(&path);
    let attending = attends(&house);
    tokio::pin!(attending);
    let stands_by =
        until("it stands by", async || Standby::is_there(&path).expect("it can be looked at"));
    tokio::select! {
        attended = &mut attending => panic!("it does not wait: {attended:?}"),
        () = stands_by => {}
    }
    tokio::select! {
        attended = &mut attending => panic!("it does not wait: {attended:?}"),
        attended = attends(&house) => assert_eq!(attended, Attended::Another, "one is enough"),
    }
    drop(seat);
    assert_eq!(attending.await, Attended::Idle);
    assert!(house.store().head(run).await.expect("a head").standing.is_ended());
    assert!(!Standby::is_there(&path).expect("it can be looked at"));
    drop(killed);
}

#[tokio::test]
async fn a_process_that_asks_for_the_executor_is_not_taken_for_one() {
    let house = House::new(Scripts::of(shell("a")));
    let run = create(&house).await;
    // It asks by a shared lock, and is not scheduled before it gives it back.
    let asking = std::fs::File::create(format!("{}.executor", house.store().path().display()));
    let asking = asking.expect("the lock file can be made");
    asking.lock_shared().expect("the lock is free");
    let attending = attends(&house);
    tokio::pin!(attending);
    let early = tokio::time::timeout(Duration::from_millis(400), &mut attending).await;
    assert_eq!(early.ok(), None, "it waits for the seat");
    drop(asking);
    assert_eq!(attending.await, Attended::Idle);
    assert!(house.store().head(run).await.expect("a head").standing.is_ended());
}

#[tokio::test]
async fn the_executor_goes_when_it_is_told_to_and_the_next_one_goes_on() {
    for (depart, is_stopped) in [(Depart::Stop, true), (Depart::Leave, false)] {
        let house = House::new(Scripts::of(seq([shell("a"), shell("slow")])));
        let run = create(&house).await;
        let told = async {
            until("both are at work", async || house.ledger().counts().len() == 2).await;
            depart
        };
        assert_eq!(attends_until(&house, told).await, Attended::Told);
        let counts = house.ledger().counts();
        assert_eq!(counts.contains_key("stopped /shell:slow#1"), is_stopped, "{counts:?}");
        let head = house.store().head(run).await.expect("a head");
        assert!(!head.standing.is_ended() && head.owner.is_none(), "{head:?}");
        let seat = Seat::take(house.store().path()).expect("the seat can be asked for");
        assert!(seat.is_some(), "its seat is free");
    }
}

#[tokio::test]
async fn a_run_that_can_not_be_driven_does_not_keep_the_executor() {
    let house = House::new(Scripts::of(shell("a")));
    let lost = create_of(&house, 6, "gone").await;
    let run = create(&house).await;
    assert_eq!(attends(&house).await, Attended::Idle);
    assert!(house.store().head(run).await.expect("a head").standing.is_ended());
    let head = house.store().head(lost).await.expect("a head");
    assert!(!head.standing.is_ended() && head.owner.is_none(), "somebody may try again");
}

#[tokio::test]
async fn what_is_brought_in_the_same_process_needs_no_bell() {
    let house = House::new(Scripts::of(shell("a")));
    let (store, brought) = (house.store(), Notify::new());
    let owners = std::cell::RefCell::new(Vec::new());
    let start = || {
        let deaf = |builder: Builder| {
            builder.bell(NoBell).limits(Limits { watch_others: false, ..Limits::default() })
        };
        let life = house.live(deaf);
        owners.borrow_mut().push(life.owner);
        Ok(life.engine)
    };
    let told = async {
        // It finds nothing to do, and falls asleep. Were it slower than this, it would need nobody to wake it.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let run = create(&house).await;
        while !store.head(run).await.expect("a head").standing.is_ended() {
            brought.notify_one();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Depart::Leave
    };
    let long = Duration::from_secs(600);
    let attended =
        attend_for(long, (store.path(), &store), &SystemClock, start, (told, &brought)).await;
    assert_eq!(attended.expect("somebody attends"), Attended::Told);
}
