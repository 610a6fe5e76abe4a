//! Programs of the simulation on the real engine: real threads, real time, a real file. They come to the end that the
//! simulation says they come to, wherever they are struck.

use std::rc::Rc;

use agentos_core::entry::{Entry, RunOutcome, RunStarted};
use agentos_core::id::{RunId, Try};
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::value::Value;
use agentos_engine::clock::SystemClock;
use agentos_engine::library::RustLibrary;
use agentos_engine::performer::{Order, Performed, Performer, Performers, Ticket};
use agentos_sdk::Workflows;
use agentos_store::place::Place;
use agentos_testing::script::build::try_finally;
use agentos_testing::script::{Node, in_plain_words, in_sequence};
use agentos_testing::simulation::{Driver, Ending, Plan, Scenario, result_of};
use async_trait::async_trait;

use crate::crashes::DiesAt;
use crate::scripted;
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
        Performed::Ended(result_of(&self.seed, &scripted::simulated_name(&order.operation)))
    }

    async fn stop(&self, _: RunId, _: &OperationId, _: Try) {}
}

fn performers(seed: &str) -> Performers {
    let answers = || Answers { seed: seed.to_owned() };
    Performers::new()
        .with(OperationKind::Shell, answers())
        .with(OperationKind::Artifact, answers())
        .with(OperationKind::Effect, answers())
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

/// Executes a scenario's run on the engine, dying once on the way if so wanted, and compares its end.
async fn ends_like(
    scenario: &Scenario,
    start: &RunStarted,
    house: &House,
    death: Option<u64>,
) -> RunOutcome {
    let run = start.run;
    if let Some(at) = death {
        let life = house
            .live(|builder| builder.performers(performers(&scenario.seed)).points(DiesAt::new(at)));
        life.engine.create(start.clone(), Place::default()).await.expect("it is created");
        tokio::select! {
            () = life.engine.died() => {}
            () = crate::crashes::ended(house, run) => {}
        }
        drop(life.owner);
    }
    let life = house.live(|builder| builder.performers(performers(&scenario.seed)));
    life.engine.create(start.clone(), Place::default()).await.expect("it is created");
    life.ends(run).await;
    life.engine.leave().await;
    house.outcome(run).await
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
        for death in [None, Some(seed % 13)] {
            let scripts = Scripts::default().with("simulated", (*scenario.program).clone());
            let outcome = ends_like(&scenario, &start, &House::new(scripts), death).await;
            let program = &scenario.program;
            assert_eq!(outcome, expected, "seed {seed}, dying at {death:?}: {program}");
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

/// What does not depend on the names of operations: a run that waits for nothing names what it waits for.
fn gist(outcome: &RunOutcome) -> (String, Option<&Value>) {
    match outcome {
        RunOutcome::Completed { output } => ("completed".to_owned(), Some(output)),
        RunOutcome::Failed { failure } => (format!("failed: {:?}", failure.kind), None),
        RunOutcome::Cancelled { .. } => ("cancelled".to_owned(), None),
        RunOutcome::TimedOut { .. } => ("timed out".to_owned(), None),
    }
}

#[tokio::test]
async fn written_in_rust_the_simulations_programs_come_to_the_same_ends() {
    let (mut compared, mut completed) = (0, 0);
    for seed in 1..=40 {
        let Some(scenario) = scenario(seed) else { continue };
        // Whatever fails is caught, so that the run returns the account of all that it saw.
        let program = Rc::new(try_finally(in_plain_words(&scenario.program), Node::Log));
        let scenario = Scenario { program, ..scenario };
        let Ending::Ended(expected) = Driver::new(&scenario, &Plan::quiet()).run().ending else {
            continue;
        };
        let Entry::RunStarted(start) = scenario.first_entry() else { continue };
        let workflow = scripted::workflow("simulated", &scenario.program);
        let start = RunStarted { definition: workflow.definition(), ..start };
        for death in [None, Some(seed % 17)] {
            let workflows = Workflows::new().with(workflow.clone()).expect("a name");
            let house = House::new(RustLibrary::new(workflows, SystemClock));
            let outcome = ends_like(&scenario, &start, &house, death).await;
            let program = &scenario.program;
            assert_eq!(
                gist(&outcome),
                gist(&expected),
                "seed {seed}, dying at {death:?}: {program}"
            );
            compared += 1;
            completed += usize::from(matches!(outcome, RunOutcome::Completed { .. }));
        }
    }
    assert!(compared > 60 && completed > 40, "{compared} {completed}");
}
