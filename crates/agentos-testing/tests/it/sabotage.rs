//! The simulation sees what it is there to see: a driver that does something wrong is found out.

use agentos_testing::simulation::{Mismatch, Sabotage, Scenario, check_sabotaged};

/// The first mismatch that some generated scenario has with this driver.
fn found(sabotage: Sabotage) -> Mismatch {
    let mismatch =
        (1..200).find_map(|seed| check_sabotaged(&Scenario::generate(seed), Some(sabotage)).err());
    mismatch.unwrap_or_else(|| panic!("nobody noticed {sabotage:?}"))
}

#[test]
fn effects_before_the_commit_are_noticed() {
    found(Sabotage::EffectsBeforeCommit);
}

#[test]
fn effects_of_a_stale_owner_are_noticed() {
    found(Sabotage::EffectsUnfenced);
}

#[test]
fn messages_taken_on_reading_are_noticed() {
    found(Sabotage::InboxTakenOnRead);
}

#[test]
fn a_lost_commit_taken_for_done_is_noticed() {
    found(Sabotage::UnknownTakenForDone);
}

#[test]
fn log_lines_written_twice_are_noticed() {
    found(Sabotage::LinesTwice);
}
