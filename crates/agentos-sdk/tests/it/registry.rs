//! Workflows by name, and what is known of them.

use std::time::Duration;

use agentos_core::execution::Execution;
use agentos_core::id::{RunId, Seed};
use agentos_core::time::{Millis, Timestamp};
use agentos_sdk::{Ctx, RegisterError, RustProgram, Workflow, Workflows};
use serde_json::{Value, json};
use uuid::Uuid;

fn workflow(name: &str) -> Workflow {
    Workflow::new(name, |_: Ctx, (): ()| async { Ok(()) })
}

#[test]
fn two_workflows_of_one_name_are_refused() {
    let mut workflows = Workflows::new().with(workflow("build")).unwrap();
    let refused = workflows.add(workflow("build")).unwrap_err();
    assert_eq!(refused, RegisterError::Duplicate("build".to_owned()));
    assert!(refused.to_string().contains("two workflows of the name `build`"));
    workflows.add(workflow("a-2")).unwrap();
    assert_eq!(workflows.iter().map(Workflow::name).collect::<Vec<_>>(), ["a-2", "build"]);
    assert!(workflows.find("build").is_some() && workflows.find("test").is_none());
}

#[test]
fn names_are_checked() {
    for name in ["", "Build", "a b", "ü", &"x".repeat(101)] {
        let refused = Workflows::new().with(workflow(name)).unwrap_err();
        assert_eq!(refused, RegisterError::Name(name.to_owned()));
    }
}

#[test]
fn the_definition_changes_with_name_and_version() {
    let plain = workflow("build").definition();
    assert_eq!(plain, workflow("build").description("says nothing").definition());
    assert_ne!(plain, workflow("build").version("1").definition());
    assert_ne!(plain, workflow("test").definition());
    assert_eq!(workflow("build").definition_hash("abc").definition(), "abc");
}

#[test]
fn a_run_starts_with_what_the_config_says() {
    let workflow = workflow("build")
        .timeout(Duration::from_secs(60))
        .deadline(Duration::from_secs(120))
        .input(json!({ "type": "null" }));
    let started =
        workflow.run_started(RunId(Uuid::nil()), Value::Null, Seed(1), Timestamp(5)).unwrap();
    assert_eq!(started.timeout_ms, Some(Millis::new(60_000)));
    assert_eq!(started.deadline, Some(Timestamp(120_005)));
    assert_eq!(started.definition, workflow.definition());
    assert_eq!(workflow.config().input, Some(json!({ "type": "null" })));
}

#[test]
fn an_execution_can_move_to_another_thread() {
    fn movable<T: Send>() {}
    movable::<RustProgram>();
    movable::<Execution<RustProgram>>();
    movable::<Ctx>();
}
