//! Generated programs under generated faults.

use agentos_testing::simulation::Campaign;

/// How many share the work, so that it is done at once, and none takes minutes on a busy machine.
const PARTS: u64 = 4;

fn survives(part: u64) {
    let campaign = Campaign { seed: part, stride: PARTS, schedules: 4_000 / PARTS };
    let tally = campaign.run().unwrap_or_else(|finding| panic!("{finding}"));
    assert!(tally.programs > 2, "{tally:?}");
}

#[test]
fn generated_programs_survive_generated_faults() {
    survives(1);
}

#[test]
fn generated_programs_survive_generated_faults_in_a_second_part() {
    survives(2);
}

#[test]
fn generated_programs_survive_generated_faults_in_a_third_part() {
    survives(3);
}

#[test]
fn generated_programs_survive_generated_faults_in_a_fourth_part() {
    survives(4);
}
