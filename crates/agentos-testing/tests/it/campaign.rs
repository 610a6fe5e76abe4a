//! Generated programs under generated faults.

use agentos_testing::simulation::Campaign;

#[test]
fn generated_programs_survive_generated_faults() {
    let campaign = Campaign { seed: 1, stride: 1, schedules: 4_000 };
    let tally = campaign.run().unwrap_or_else(|finding| panic!("{finding}"));
    assert!(tally.programs > 10, "{tally:?}");
}
