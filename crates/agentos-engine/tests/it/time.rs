//! Hours of sleeping, retrying and waiting, without an hour.

use std::time::Duration;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, RunOutcome, RunStarted};
use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_engine::clock::SimClock;
use agentos_engine::engine::Limits;
use agentos_engine::library::RustLibrary;
use agentos_sdk::{Backoff, Ctx, Error, Millis, RetryPolicy, Workflow, Workflows};
use agentos_store::log::load_whole_log;
use agentos_store::place::Place;
use agentos_testing::wait::until;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{House, Life};

const HOUR: i64 = 60 * 60 * 1_000;

/// Waits until somebody sleeps until this very time.
async fn sleeps_until(clock: &SimClock, at: i64) {
    let what = format!("somebody sleeps until {at}");
    until(&what, async || clock.next_wake() == Some(Timestamp(at))).await;
}

struct Timed {
    house: House,
    life: Life,
    clock: SimClock,
    run: RunId,
}

impl Timed {
    async fn start(workflow: Workflow) -> Self {
        let clock = SimClock::at(Timestamp(0));
        let name = workflow.name().to_owned();
        let workflows = Workflows::new().with(workflow).expect("a name");
        let library = RustLibrary::new(workflows, clock.clone());
        let run = RunId(Uuid::from_u128(4));
        let start = library.start(run, &name, Value::Null).expect("it can start");
        let house = House::new(library);
        let life = house.live(|builder| builder.clock(clock.clone()));
        let start = RunStarted { seed: agentos_core::id::Seed(1), ..start };
        life.engine.create(start, Place::default()).await.expect("it is created");
        Self { house, life, clock, run }
    }

    /// Lets time pass until this moment, once somebody waits for it.
    async fn reaches(&self, at: i64) {
        sleeps_until(&self.clock, at).await;
        self.clock.advance(at - agentos_engine::clock::Clock::now(&self.clock).0);
    }

    async fn ends(self) -> (RunOutcome, Vec<(i64, &'static str)>) {
        self.life.ends(self.run).await;
        self.life.engine.leave().await;
        let log = load_whole_log(&self.house.store(), self.run).await.expect("a log");
        let entries = log
            .iter()
            .flat_map(|chunk| chunk.entries.iter().map(|entry| (chunk.at.0, Entry::kind(entry))));
        (self.house.outcome(self.run).await, entries.collect())
    }
}

fn times(log: &[(i64, &'static str)], kind: &str) -> Vec<i64> {
    log.iter().filter(|(_, of)| *of == kind).map(|(at, _)| *at).collect()
}

#[tokio::test]
async fn a_run_sleeps_for_days_and_wakes_at_the_very_time() {
    let workflow = Workflow::new("sleeper", |ctx: Ctx, (): ()| async move {
        ctx.sleep(Duration::from_secs(48 * 60 * 60)).await?;
        let first = ctx.now()?.0;
        ctx.sleep(Duration::from_secs(60 * 60)).await?;
        Ok(vec![first, ctx.now()?.0])
    });
    let timed = Timed::start(workflow).await;
    timed.reaches(48 * HOUR).await;
    timed.reaches(49 * HOUR).await;
    let (outcome, log) = timed.ends().await;
    assert_eq!(outcome, RunOutcome::Completed { output: json!([48 * HOUR, 49 * HOUR]) });
    assert_eq!(times(&log, "timer.fired"), [48 * HOUR, 49 * HOUR]);
}

#[tokio::test]
async fn a_step_is_retried_with_growing_pauses_over_hours() {
    let retry = RetryPolicy {
        max_attempts: 5,
        backoff: Backoff::Exponential,
        delay_ms: Millis::new(HOUR.unsigned_abs()),
        max_delay_ms: Millis::new(3 * HOUR.unsigned_abs()),
        jitter: false,
    };
    let workflow = Workflow::new("flaky", |ctx: Ctx, (): ()| async move {
        let attempts: u32 = ctx
            .run("flaky", |ctx| async move {
                match ctx.attempt() {
                    5 => Ok(5_u32),
                    _ => Err(Error::from(agentos_sdk::Failure::new(
                        agentos_sdk::FailureKind::Error,
                        "not yet",
                    ))),
                }
            })
            .await?;
        Ok(attempts)
    })
    .retry(retry);
    let timed = Timed::start(workflow).await;
    let attempts = [HOUR, 3 * HOUR, 6 * HOUR, 9 * HOUR];
    for at in attempts {
        timed.reaches(at).await;
    }
    let (outcome, log) = timed.ends().await;
    assert_eq!(outcome, RunOutcome::Completed { output: json!(5) });
    let started = times(&log, "attempt.started");
    assert_eq!(started, [&[0], &attempts[..]].concat(), "1 h, 2 h, then no more than 3 h");
}

#[tokio::test]
async fn a_wait_is_over_at_its_timeout_and_a_run_at_its_deadline() {
    let workflow = Workflow::new("waiter", |ctx: Ctx, (): ()| async move {
        let waited = ctx.wait_for::<Value>("go").timeout(Duration::from_secs(3_600)).await;
        let said = waited.map_err(|failure| failure.kind).err();
        ctx.log().info(format!("{said:?}"));
        ctx.wait_for::<Value>("never").await?;
        Ok(())
    })
    .deadline(Duration::from_secs(5 * 3_600));
    let timed = Timed::start(workflow).await;
    timed.reaches(HOUR).await;
    timed.reaches(5 * HOUR).await;
    let (outcome, log) = timed.ends().await;
    assert!(matches!(outcome, RunOutcome::TimedOut { .. }), "{outcome:?}");
    assert_eq!(times(&log, "timer.fired"), [HOUR]);
    assert_eq!(times(&log, "run.ended"), [5 * HOUR]);
}

/// A run of a workflow that sleeps, created at the time of the clock.
async fn begin(life: &Life, library: &RustLibrary, number: u128) -> RunId {
    let run = RunId(Uuid::from_u128(number));
    let start = library.start(run, "sleeper", Value::Null).expect("it can start");
    life.engine.create(start, Place::default()).await.expect("it is created");
    run
}

#[tokio::test]
async fn after_the_clock_was_set_back_what_waits_goes_on_and_what_begins_goes_by_the_new_time() {
    const DAY: i64 = 24 * HOUR;
    let sleeper = Workflow::new("sleeper", |ctx: Ctx, (): ()| async move {
        ctx.sleep(Duration::from_secs(60 * 60)).await?;
        ctx.sleep(Duration::from_secs(60 * 60)).await?;
        Ok(ctx.now()?.0)
    });
    // With a linger of zero runs are parked and left to the scheduler; with the longest their drives keep them.
    for linger in [Duration::ZERO, Duration::MAX] {
        let clock = SimClock::at(Timestamp(100 * DAY));
        let library = || {
            let workflows = Workflows::new().with(sleeper.clone()).expect("a name");
            RustLibrary::new(workflows, clock.clone())
        };
        let (house, library) = (House::new(library()), library());
        let limits = Limits { workers: 2, linger, ..Limits::default() };
        let life = house.live(|builder| builder.clock(clock.clone()).limits(limits));
        let old = begin(&life, &library, 1).await;
        sleeps_until(&clock, 100 * DAY + HOUR).await;
        clock.advance(HOUR / 2);
        clock.set_back(DAY);
        let new = begin(&life, &library, 2).await;
        let begun = 99 * DAY + HOUR / 2;
        until("the new one sleeps", async || {
            let log = load_whole_log(&life.store, new).await.expect("a log");
            let mut entries = log.iter().flat_map(|chunk| &chunk.entries);
            entries.any(|entry| matches!(entry, Entry::OperationOrdered { .. }))
        })
        .await;
        let slept = |log: Vec<Chunk>| -> Vec<i64> {
            let entries = log.into_iter().flat_map(Chunk::into_records);
            let fired = entries.filter(|record| record.entry.kind() == "timer.fired");
            fired.map(|record| record.at.0).collect()
        };
        let logs = async || {
            let [old, new] = [old, new].map(|run| load_whole_log(&life.store, run));
            (slept(old.await.expect("a log")), slept(new.await.expect("a log")))
        };
        for (old_sleeps, new_sleeps) in [(1, 0), (1, 1), (2, 1), (2, 2)] {
            // Both sleep at first, and then one after the other wakes, half an hour apart.
            let next = 99 * DAY + HOUR + (old_sleeps + new_sleeps - 1) * HOUR / 2;
            sleeps_until(&clock, next).await;
            clock.advance(HOUR / 2);
            until("one has woken", async || {
                let (old, new) = logs().await;
                (old.len(), new.len()) == (old_sleeps as usize, new_sleeps as usize)
            })
            .await;
        }
        life.ends(old).await;
        life.ends(new).await;
        let (old, new) = logs().await;
        assert_eq!(old, [100 * DAY + HOUR, 100 * DAY + 2 * HOUR], "its time never goes back");
        assert_eq!(new, [begun + HOUR, begun + 2 * HOUR], "the wall clock counts");
        life.engine.leave().await;
    }
}
