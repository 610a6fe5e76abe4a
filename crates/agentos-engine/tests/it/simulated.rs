//! Programs of the simulation on the real engine: real threads, real time, a real file. They come to the end that the
//! simulation says they come to, wherever they are struck.

use std::rc::Rc;

use agentos_core::entry::Entry;
use agentos_core::id::{RunId, Try};
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_engine::performer::{Order, Performed, Performer, Performers, Ticket};
use agentos_store::place::Place;
use agentos_testing::script::in_sequence;
use agentos_testing::simulation::{Driver, Ending, Plan, Scenario, result_of};
use async_trait::async_trait;

use crate::crashes::DiesAt;
use crate::support::{House, Scripts};

/// Answers as the simulated world does.
struct Answers {
    seed: String,
}

#[async_trait]
impl Performer for Answers {
    async fn perform(&self, order: Order, _: Ticket) -> Performed {
        if order.recovered {
            return Performed::Interrupted;
        }
        Performed::Ended(result_of(&self.seed, order.operation.as_str()))
    }

    async fn stop(&self, _: RunId, _: &OperationId, _: Try) {}
}

fn performers(seed: &str) -> Performers {
    let answers = || Answers { seed: seed.to_owned() };
    Performers::new().with(OperationKind::Shell, answers()).with(OperationKind::Artifact, answers())
}

/// A scenario whose outcome does not depend on how long things take, and which comes to an end by itself.
fn scenario(seed: u64) -> Option<Scenario> {
    let generated = Scenario::generate(seed);
    let scenario = Scenario {
        program: Rc::new(in_sequence(&generated.program)),
        mail: Vec::new(),
        timeout: 0,
        deadline: 0,
        grace: 1_000,
        ..generated
    };
    scenario.children.is_empty().then_some(scenario)
}

#[tokio::test]
async fn the_simulations_programs_come_to_the_simulations_ends() {
    let mut compared = 0;
    for seed in 1..=40 {
        let Some(scenario) = scenario(seed) else { continue };
        let Ending::Ended(expected) = Driver::new(&scenario, &Plan::quiet()).run().ending else {
            continue;
        };
        let Entry::RunStarted(start) = scenario.first_entry() else { continue };
        let run = start.run;
        let library = || Scripts::default().with("simulated", (*scenario.program).clone());
        for death in [None, Some(seed % 13)] {
            let house = House::new(library());
            if let Some(at) = death {
                let life = house.live(|builder| {
                    builder.performers(performers(&scenario.seed)).points(DiesAt::new(at))
                });
                life.engine.create(start.clone(), Place::default()).await.expect("it is created");
                tokio::select! {
                    () = life.engine.died() => {}
                    () = crate::crashes::ended(&house, run) => {}
                }
                drop(life.owner);
            }
            let life = house.live(|builder| builder.performers(performers(&scenario.seed)));
            life.engine.create(start.clone(), Place::default()).await.expect("it is created");
            life.ends(run).await;
            life.engine.leave().await;
            assert_eq!(
                house.outcome(run).await,
                expected,
                "seed {seed}, dying at {death:?}: {}",
                scenario.program
            );
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}
