//! Runs are driven: to their end, through their waits, and past each other.

use agentos_core::entry::RunOutcome;
use agentos_core::id::InboxKey;
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::standing::Standing;
use agentos_engine::engine::Limits;
use agentos_engine::events::Event;
use agentos_store::store::Store as _;
use agentos_testing::script::build::{
    all, invoke, own, race, retried, seq, shell, sleep, step, throw, try_finally, wait,
};
use serde_json::json;

use crate::support::{House, Scripts};

fn signal(key: &str, name: &str) -> Message {
    let body = MessageBody::Signal { name: Name::new(name).expect("a name"), payload: json!(key) };
    Message { key: InboxKey(key.to_owned()), body }
}

fn cancel() -> Message {
    Message { key: InboxKey("cancel".into()), body: MessageBody::Cancel { reason: None } }
}

#[tokio::test]
async fn a_run_is_driven_to_its_end() {
    let program = seq([
        step("plan", shell("a")),
        all([step("left", shell("b")), step("right", seq([sleep("s", 3), shell("c")]))]),
        try_finally(retried("flaky", 2, seq([shell("d"), throw()])), shell("e")),
    ]);
    let house = House::new(Scripts::of(program));
    let life = house.live(|builder| builder);
    let run = life.start(1).await;
    life.ends(run).await;
    life.engine.leave().await;
    assert!(matches!(house.outcome(run).await, RunOutcome::Completed { .. }));
    let counts = house.ledger().counts();
    assert_eq!(counts.len(), 6, "{counts:?}");
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
}

#[tokio::test]
async fn many_runs_are_driven_at_once_within_their_slots() {
    let house = House::new(Scripts::of(seq([step("a", shell("x")), step("b", shell("y"))])));
    let life =
        house.live(|builder| builder.limits(Limits { slots: 3, workers: 2, ..Limits::default() }));
    for number in 1..=40 {
        life.start(number).await;
    }
    for number in 1..=40 {
        life.ends(agentos_core::id::RunId(uuid::Uuid::from_u128(number))).await;
    }
    life.engine.leave().await;
    assert_eq!(house.ledger().counts().len(), 80);
}

#[tokio::test]
async fn a_run_that_only_waits_is_given_back_and_woken_by_a_message() {
    let house = House::new(Scripts::of(seq([wait("go"), shell("x")])));
    let life = house.live(|builder| builder);
    let run = life.start(1).await;
    let mut events = life.engine.events();
    // The first turn commits the wait; then nobody drives the run.
    while !matches!(life.store.head(run).await.expect("a head").standing, Standing::Parked { .. }) {
        events.recv().await.expect("events come");
    }
    life.rests().await;
    assert_eq!(life.store.head(run).await.expect("a head").owner, None);
    life.engine.send(run, signal("k", "go")).await.expect("it is sent");
    life.ends(run).await;
    life.engine.leave().await;
    assert_eq!(house.ledger().counts().len(), 1);
}

#[tokio::test]
async fn a_message_sent_by_another_process_reaches_a_run_that_is_driven_here() {
    let house = House::new(Scripts::of(race([wait("go"), shell("slow")])));
    let life = house.live(|builder| builder);
    let mut events = life.engine.events();
    let run = life.start(1).await;
    while !house.kinds(run).await.contains(&"operation.started") {
        events.recv().await.expect("events come");
    }
    // Another handle on the file: nobody in this process hears of it.
    let other = house.store();
    let now = agentos_core::time::Timestamp(1);
    other.send(run, signal("k", "go"), now).await.expect("it is sent");
    life.ends(run).await;
    life.engine.leave().await;
}

#[tokio::test]
async fn a_cancelled_run_stops_what_it_started() {
    let house = House::new(Scripts::of(try_finally(shell("slow"), shell("tidy"))));
    let life = house.live(|builder| builder);
    let mut events = life.engine.events();
    let run = life.start(1).await;
    while !house.kinds(run).await.contains(&"operation.started") {
        events.recv().await.expect("events come");
    }
    life.engine.send(run, cancel()).await.expect("it is sent");
    life.ends(run).await;
    life.engine.leave().await;
    assert!(matches!(house.outcome(run).await, RunOutcome::Cancelled { .. }));
    assert!(house.kinds(run).await.contains(&"operation.cancel_ordered"));
}

#[tokio::test]
async fn children_are_created_and_heard_three_deep_with_one_slot() {
    let library = Scripts::of(seq([invoke("child"), shell("z")]))
        .with("child", seq([invoke("grandchild"), shell("y")]))
        .with("grandchild", seq([sleep("s", 2), shell("x")]));
    let house = House::new(library);
    // A parent that waits for its child gives its slot back.
    let life = house.live(|builder| {
        builder.limits(Limits {
            slots: 1,
            workers: 1,
            linger: std::time::Duration::ZERO,
            ..Limits::default()
        })
    });
    let run = life.start(1).await;
    life.ends(run).await;
    life.engine.leave().await;
    assert!(matches!(house.outcome(run).await, RunOutcome::Completed { .. }));
    assert_eq!(house.ledger().counts().len(), 3);
}

#[tokio::test]
async fn an_unknown_child_fails_its_invocation_only() {
    let house = House::new(Scripts::of(try_finally(invoke("nobody"), shell("x"))));
    let life = house.live(|builder| builder);
    let run = life.start(1).await;
    life.ends(run).await;
    life.engine.leave().await;
    assert!(matches!(house.outcome(run).await, RunOutcome::Completed { .. }));
}

#[tokio::test]
async fn a_run_whose_workflow_is_missing_is_told_of_and_disturbs_nobody() {
    let house = House::new(Scripts::of(shell("x")));
    let life = house.live(|builder| builder);
    let mut events = life.engine.events();
    let lost = agentos_core::id::RunId(uuid::Uuid::from_u128(77));
    let start = agentos_core::entry::RunStarted::new(lost, Name::new("gone").expect("a name"));
    life.engine.create(start, Default::default()).await.expect("the run is created");
    let run = life.start(1).await;
    life.ends(run).await;
    let message = loop {
        if let Event::Trouble { run, message, .. } = events.recv().await.expect("events come") {
            assert_eq!(run, lost);
            break message;
        }
    };
    assert_eq!(message, "there is no workflow `gone` of version ``");
    life.engine.leave().await;
    assert_eq!(
        house.store().head(lost).await.expect("a head").owner,
        None,
        "somebody else may try"
    );
}

#[tokio::test]
async fn an_engine_that_is_stopped_ends_what_is_under_way_and_leaves_the_run_to_be_gone_on_with() {
    let house = House::new(Scripts::of(seq([shell("first"), shell("slow")])));
    let life = house.live(|builder| builder);
    let mut events = life.engine.events();
    let run = life.start(1).await;
    while !house.ledger().counts().keys().any(|line| line.ends_with("/shell:slow#1")) {
        events.recv().await.expect("events come");
    }
    life.engine.stop().await;
    drop(life.owner);
    assert!(house.ledger().counts().contains_key("stopped /shell:slow#1"));
    assert!(!house.kinds(run).await.contains(&"operation.cancel_ordered"), "nobody cancelled it");
    let next = house.live(|builder| builder);
    let mut events = next.engine.events();
    while !house.kinds(run).await.contains(&"operation.retried") {
        events.recv().await.expect("events come");
    }
    next.engine.send(run, cancel()).await.expect("it is sent");
    next.ends(run).await;
    next.engine.leave().await;
    let counts = house.ledger().counts();
    let first = counts.iter().find(|(line, _)| line.ends_with("/shell:first#1"));
    assert_eq!(first.map(|(_, count)| *count), Some(1), "what had finished is not repeated");
}

#[tokio::test]
async fn what_one_engine_leaves_another_goes_on_with() {
    let program = seq([own("a", 1, shell("x")), sleep("s", 20), own("b", 1, shell("y"))]);
    let house = House::new(Scripts::of(program));
    let life = house.live(|builder| builder);
    let mut events = life.engine.events();
    let run = life.start(1).await;
    while !house.kinds(run).await.contains(&"step.ended") {
        events.recv().await.expect("events come");
    }
    life.engine.leave().await;
    drop(life.owner);
    let next = house.live(|builder| builder);
    next.ends(run).await;
    next.engine.leave().await;
    let counts = house.ledger().counts();
    assert!(counts.len() == 2 && counts.values().all(|count| *count == 1), "{counts:?}");
}
