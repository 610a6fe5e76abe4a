//! The simulated store keeps every promise, whether its tail is late or not.

use std::collections::BTreeSet;

use agentos_store::conformance::{block_on, cases};
use agentos_store::simulated::SimulatedStore;

use crate::fixture::SimulatedFixture;

agentos_store::conformance_tests!(SimulatedFixture::new(SimulatedStore::new(1)));

mod without_an_executor {
    use agentos_store::simulated::SimulatedStore;

    use crate::fixture::{SimulatedFixture, now};

    agentos_store::conformance_tests!(
        SimulatedFixture::new(SimulatedStore::with_tail_delay(1, 0)),
        block_on = now
    );
}

#[test]
fn every_promise_is_kept_however_late_the_tail_is() {
    for (seed, most_delay) in [(2, 0), (4, 2), (7, 400)] {
        for case in cases() {
            let store = SimulatedStore::with_tail_delay(seed, most_delay);
            block_on((case.check)(&SimulatedFixture::new(store)));
        }
    }
}

#[test]
fn no_two_cases_have_the_same_name() {
    let names: BTreeSet<&str> = cases().iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases().len());
}
