//! Whoever asks on a thread that its runtime can do without reads there, and sees what everybody sees.

use std::sync::Arc;

use agentos_store::records::{Records as _, RunQuery};
use tokio::runtime::{Builder, Runtime};

use super::fixture::{SqliteFixture, open};
use super::given::{Held, note};
use super::{hazards, looking, records, unified};

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(4).build().expect("threads can be started")
}

/// The same, on such a thread.
fn there(test: fn()) {
    let runtime = runtime();
    let _entered = runtime.enter();
    test();
}

#[test]
fn rows_are_read_back() {
    there(records::the_place_of_a_run_survives_every_update);
}

#[test]
fn what_others_commit_is_seen() {
    there(looking::whoever_looks_sees_what_writers_commit_that_come_and_go);
    there(looking::what_a_killed_writer_left_is_read_as_it_lies_there);
    there(looking::whoever_looks_is_not_in_the_way_of_writers_of_his_own_process);
}

#[test]
fn files_are_found_again() {
    there(hazards::a_removed_file_is_put_back_by_who_has_it_and_not_begun_anew_by_who_comes);
    there(hazards::a_log_removed_under_its_writers_takes_nothing_with_it);
    there(hazards::a_database_that_was_moved_is_neither_copied_nor_given_up);
}

#[test]
fn several_databases_are_one() {
    there(unified::a_copy_that_comes_or_goes_while_somebody_looks_is_noticed);
}

#[test]
fn more_ask_at_once_than_there_are_readers_while_somebody_writes() {
    const ASKING: usize = 32;
    const TIMES: u64 = 50;
    let fixture = SqliteFixture::new();
    let store = open(&fixture.path());
    let mut held = Held::create(&store, 1);
    let runtime = runtime();
    let asks: Vec<_> = (0..ASKING)
        .map(|_| {
            let store = Arc::new(store.clone());
            runtime.spawn(async move {
                let mut seen = 0;
                for _ in 0..TIMES {
                    let listing = store.query_runs(RunQuery::default()).await;
                    let seq = listing.expect("it is answered").runs[0].seq;
                    assert!(seq >= seen, "what was seen is seen again");
                    seen = seq;
                }
            })
        })
        .collect();
    for at in 0..TIMES {
        held.commit(2_000 + i64::try_from(at).unwrap(), vec![note("on")]);
    }
    for ask in asks {
        runtime.block_on(ask).expect("nobody panics");
    }
    let listing = runtime.block_on(store.query_runs(RunQuery::default())).expect("it is answered");
    assert_eq!(listing.runs[0].seq, TIMES + 1);
}
