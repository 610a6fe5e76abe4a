//! What whoever watches an engine hears.

use agentos_core::entry::Entry;
use agentos_core::id::Seq;
use agentos_core::operation::OperationKind;
use agentos_engine::events::Event;
use agentos_engine::performer::{Order, Performed, Performer, Performers, Ticket};
use agentos_store::log::load_whole_log;
use agentos_testing::script::build::{seq, shell, step};
use async_trait::async_trait;
use serde_json::json;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::support::{House, Scripts};

#[tokio::test]
async fn every_commit_is_told_once_and_in_order() {
    let program = seq([step("a", shell("x")), step("b", shell("y")), shell("z")]);
    let house = House::new(Scripts::of(program));
    let life = house.live(|builder| builder);
    let mut events = life.engine.events();
    let run = life.start(1).await;
    life.ends(run).await;
    life.engine.leave().await;
    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let Event::Committed { run: of, chunk, .. } = event {
            assert_eq!(of, run);
            told.push((*chunk).clone());
        }
    }
    let log = load_whole_log(&house.store(), run).await.expect("the log can be read");
    // The first chunk was there before anybody drove the run.
    assert_eq!(told, log[1..]);
    assert_eq!(told[0].first, Seq(1));
    let last = told.last().and_then(|chunk| chunk.entries.last());
    assert!(matches!(last, Some(Entry::RunEnded { .. })), "{last:?}");
}

#[tokio::test]
async fn a_watcher_that_is_too_slow_is_told_so_and_holds_nobody_up() {
    let house = House::new(Scripts::of(seq([shell("x"), shell("y")])));
    let life = house.live(|builder| builder);
    let mut events = life.engine.events();
    // More than anybody may be behind, while nobody listens.
    for number in 1..=1_500 {
        life.start(number).await;
    }
    for number in 1..=1_500 {
        life.ends(agentos_core::id::RunId(uuid::Uuid::from_u128(number))).await;
    }
    assert!(matches!(events.recv().await, Err(RecvError::Lagged(_))));
    assert!(events.recv().await.is_ok(), "from there on it hears again");
    life.engine.leave().await;
}

/// Tells a thousand times how far it has come.
struct Chatty;

#[async_trait]
impl Performer for Chatty {
    async fn perform(&self, _: Order, ticket: Ticket) -> Performed {
        for percent in 0..1_000 {
            ticket.progress(json!(percent));
        }
        Performed::Ended(agentos_core::entry::OperationResult::Ok { value: json!("done") })
    }

    async fn stop(
        &self,
        _: agentos_core::id::RunId,
        _: &agentos_core::path::OperationId,
        _: agentos_core::id::Try,
    ) {
    }
}

#[tokio::test]
async fn progress_is_thinned_out_and_is_no_part_of_the_log() {
    let house = House::new(Scripts::of(shell("x")));
    let performers = Performers::new().with(OperationKind::Shell, Chatty);
    let life = house.live(|builder| builder.performers(performers));
    let mut events = life.engine.events();
    let run = life.start(1).await;
    life.ends(run).await;
    life.engine.leave().await;
    let mut progress = 0;
    loop {
        match events.try_recv() {
            Ok(Event::Progress { progress: how_far, .. }) => {
                assert!(how_far.is_number());
                progress += 1;
            }
            Ok(_) => {}
            Err(TryRecvError::Lagged(_)) => panic!("nobody was that fast"),
            Err(_) => break,
        }
    }
    assert!((1..100).contains(&progress), "{progress}");
    let log = load_whole_log(&house.store(), run).await.expect("the log can be read");
    assert!(!agentos_core::codec::encode(&log[log.len() - 1]).contains("percent"));
}
