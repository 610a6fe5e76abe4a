//! No more runs are driven at once than there are slots, and nobody is kept out by those that can't be driven.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use agentos_core::entry::{Entry, Hold, HoldKind, OperationResult, RunStarted};
use agentos_core::id::{RunId, Try};
use agentos_core::name::Name;
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_engine::engine::Limits;
use agentos_engine::performer::{Order, Performed, Performer, Performers, Ticket};
use agentos_store::place::Place;
use agentos_store::run::NewRun;
use agentos_store::store::Store as _;
use agentos_testing::script::build::{invoke, seq, shell};
use agentos_testing::wait::until;
use async_trait::async_trait;
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::support::{House, Scripts};

/// Counts how many commands are under way at once. Each of them waits until all slots have been in use at once, and then
/// gives those beyond them a chance to begin.
#[derive(Clone)]
struct Gauge {
    slots: usize,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Gauge {
    fn of(slots: usize) -> Self {
        Self { slots, now: Arc::default(), most: Arc::default() }
    }
}

#[async_trait]
impl Performer for Gauge {
    async fn perform(&self, _: Order, _: Ticket) -> Performed {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        while self.most.load(Ordering::SeqCst) < self.slots {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        Performed::Ended(OperationResult::Ok { value: json!(1) })
    }

    async fn stop(&self, _: RunId, _: &OperationId, _: Try) {}
}

fn limits(slots: usize) -> Limits {
    Limits { slots, workers: 2, linger: Duration::ZERO, ..Limits::default() }
}

#[tokio::test]
async fn no_more_runs_are_driven_at_once_than_there_are_slots() {
    let house = House::new(Scripts::of(seq([shell("x"), shell("y")])));
    let gauge = Gauge::of(3);
    let performers = Performers::new().with(OperationKind::Shell, gauge.clone());
    let life = house.live(|builder| builder.performers(performers).limits(limits(3)));
    let mut runs = Vec::new();
    for number in 1..=20 {
        runs.push(life.start(number).await);
        assert!(life.engine.driven() <= 3, "{}", life.engine.driven());
    }
    for run in runs {
        life.ends(run).await;
        assert!(life.engine.driven() <= 3, "{}", life.engine.driven());
    }
    life.engine.leave().await;
    assert_eq!(gauge.most.load(Ordering::SeqCst), 3, "all of them are used, and no more");
}

#[tokio::test]
async fn a_parent_that_waits_for_its_child_gives_its_slot_back() {
    let house = House::new(Scripts::of(invoke("child")).with("child", shell("x")));
    let gauge = Gauge::of(2);
    let performers = Performers::new().with(OperationKind::Shell, gauge.clone());
    let life = house.live(|builder| builder.performers(performers).limits(limits(2)));
    // Were the parents to keep their slots, two of them would keep out every child.
    let mut runs = Vec::new();
    for number in 1..=8 {
        runs.push(life.start(number).await);
    }
    for run in runs {
        life.ends(run).await;
        assert!(life.engine.driven() <= 2, "{}", life.engine.driven());
    }
    life.engine.leave().await;
    assert_eq!(gauge.most.load(Ordering::SeqCst), 2, "both slots are the children's");
}

#[tokio::test]
async fn a_thousand_runs_that_can_not_be_driven_keep_nobody_out() {
    let house = House::new(Scripts::of(shell("x")));
    let store = house.store();
    let mut creations = JoinSet::new();
    for number in 0..1_100 {
        let store = store.clone();
        creations.spawn(async move {
            let run = RunId(Uuid::from_u128(1_000 + number));
            let start = RunStarted::new(run, Name::new("gone").expect("a name"));
            let (first, place) = (Entry::RunStarted(start), Place::default());
            let new = NewRun { run, at: Timestamp(1), first, history: None, place, owner: None };
            store.create_run(new).await.expect("the run is created");
        });
    }
    creations.join_all().await;
    let life = house.live(|builder| builder.limits(limits(8)));
    until("all have been tried", async || life.engine.resting().len() >= 1_001).await;
    // Its id is larger than theirs, so it stands behind them wherever they stand in a row.
    let run = life.start(u128::MAX >> 1).await;
    life.ends(run).await;
    life.engine.leave().await;
}

/// Holds every command for room on the disk until there is some. The time that it names is far away.
#[derive(Clone, Default)]
struct FullDisk {
    has_room: Arc<AtomicBool>,
    looks: Arc<AtomicUsize>,
}

#[async_trait]
impl Performer for FullDisk {
    async fn perform(&self, _: Order, _: Ticket) -> Performed {
        self.looks.fetch_add(1, Ordering::SeqCst);
        if self.has_room.load(Ordering::SeqCst) {
            return Performed::Ended(OperationResult::Ok { value: json!(1) });
        }
        let message = "there is no room".to_owned();
        let until = Some(Timestamp(i64::MAX / 2));
        Performed::Held(Hold { kind: HoldKind::Disk, message, subject: None, until, limit: None })
    }

    async fn stop(&self, _: RunId, _: &OperationId, _: Try) {}
}

#[tokio::test]
async fn a_run_that_waits_for_room_is_tried_again_by_the_next_engine_and_when_settings_change() {
    let house = House::new(Scripts::of(shell("x")));
    let disk = FullDisk::default();
    let live = || {
        let performers = Performers::new().with(OperationKind::Shell, disk.clone());
        house.live(|builder| builder.performers(performers).limits(limits(2)))
    };
    let is_parked = async |run| {
        let head = house.store().head(run).await.expect("a head");
        matches!(head.standing, Standing::Parked { .. }) && head.owner.is_none()
    };
    let looks = || disk.looks.load(Ordering::SeqCst);
    let life = live();
    let run = life.start(1).await;
    until("it waits", async || is_parked(run).await).await;
    assert_eq!(looks(), 1);
    life.engine.settings().changed(None, [run]);
    until("it is tried again", async || looks() == 2).await;
    until("it waits again", async || is_parked(run).await).await;
    life.engine.leave().await;
    disk.has_room.store(true, Ordering::SeqCst);
    // It is not due: the next engine is told of it, as by a person who resumes it.
    let life = live();
    life.engine.settings().changed(None, [run]);
    life.ends(run).await;
    life.engine.leave().await;
    assert_eq!(looks(), 3);
}
