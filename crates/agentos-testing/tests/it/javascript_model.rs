//! The same programs, executed by an independent model of the same rules.
//!
//! That model is written in JavaScript, on real promises. What it said of 400 generated programs is recorded here: how
//! each one ended, when, and which effects it performed. It differs from the core in a few things that were decided
//! later (a signal answers every open wait, cleanup has a grace, a cancelled run refuses steps too), so programs in which
//! one of those matters are not among them.

use std::collections::BTreeSet;
use std::rc::Rc;

use agentos_core::entry::RunOutcome;
use agentos_core::failure::{Failure, FailureKind};
use agentos_testing::script::Node;
use agentos_testing::simulation::{Driver, Ending, Mail, Plan, Scenario};
use serde::Deserialize;

#[derive(Deserialize)]
struct Recorded {
    program: Node,
    seed: String,
    mail: Vec<Mail>,
    outcome: Outcome,
    starts: BTreeSet<String>,
    finished_at: i64,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Outcome {
    val: Option<i64>,
    err: Option<String>,
}

fn recorded() -> Vec<Recorded> {
    let text = include_str!("../fixtures/javascript-model.jsonl");
    text.lines().map(|line| serde_json::from_str(line).expect("a recorded outcome")).collect()
}

/// The model knows its errors by their messages.
fn message(failure: &Failure) -> String {
    match failure.kind {
        FailureKind::Timeout => "Timeout".into(),
        FailureKind::Cancelled => "Cancelled".into(),
        FailureKind::Closed => "Closed".into(),
        _ => failure.message.clone(),
    }
}

fn outcome(ending: &Ending) -> Outcome {
    let (val, err) = match ending {
        Ending::Ended(RunOutcome::Completed { output }) => (output.as_i64(), None),
        Ending::Ended(RunOutcome::Failed { failure }) => (None, Some(message(failure))),
        Ending::Ended(RunOutcome::Cancelled { failure: Some(failure) }) => {
            (None, Some(message(failure)))
        }
        Ending::Ended(RunOutcome::Cancelled { failure: None }) => (None, Some("Cancelled".into())),
        other => (None, Some(format!("{other:?}"))),
    };
    Outcome { val, err }
}

#[test]
fn four_hundred_programs_end_as_in_the_javascript_model() {
    let recorded = recorded();
    assert_eq!(recorded.len(), 400);
    for (index, expected) in recorded.iter().enumerate() {
        let scenario = Scenario {
            seed: expected.seed.clone(),
            mail: expected.mail.clone(),
            grace: 0,
            ..Scenario::new(expected.program.clone())
        };
        let report = Driver::new(&scenario, &Plan::quiet()).run();
        let place =
            format!("program {index}: {} {:?}", Rc::clone(&scenario.program), scenario.mail);
        let starts: BTreeSet<String> = report.starts.keys().cloned().collect();
        let cancelled = matches!(report.ending, Ending::Ended(RunOutcome::Cancelled { .. }));
        let found = outcome(&report.ending);
        // A cancelled run is cancelled here whatever its program returns; the model knows no such status.
        if !(cancelled && expected.outcome.err.is_none()) {
            assert_eq!(found, expected.outcome, "{place}\n{:#?}", report.trace);
        }
        assert_eq!(starts, expected.starts, "{place}\n{:#?}", report.trace);
        assert_eq!(report.finished_at, expected.finished_at, "{place}");
    }
}
