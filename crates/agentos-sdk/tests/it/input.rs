//! Inputs are checked against the workflow's schema.

use agentos_sdk::{Ctx, FailureKind, InputError, Workflow, check_input};
use serde_json::{Value, json};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "brief": { "type": "string", "format": "file" },
            "files": { "type": "array", "items": { "type": "object", "properties": { "name": { "type": "string" } } } },
        },
        "required": ["brief"],
        "additionalProperties": false,
    })
}

fn problems(input: &Value) -> Vec<String> {
    match check_input(&schema(), input) {
        Ok(()) => Vec::new(),
        Err(InputError::Invalid(problems)) => problems.iter().map(ToString::to_string).collect(),
        Err(InputError::Schema(message)) => panic!("{message}"),
    }
}

#[test]
fn a_wrong_input_is_answered_with_the_fields_that_are_wrong() {
    assert_eq!(problems(&json!({ "brief": "notes.md", "files": [{ "name": "a" }] })), [""; 0]);
    assert_eq!(
        problems(&json!({ "breif": 1, "files": [{}, { "name": 3 }] })),
        [
            "`input.breif` is not known",
            "`input.brief` is missing",
            "`input.files[1].name` is wrong: 3 is not of type \"string\"",
        ]
    );
    assert_eq!(problems(&Value::Null), [r#"`input` is wrong: null is not of type "object""#]);
}

#[test]
fn what_is_quoted_of_an_input_is_bounded() {
    let long = problems(&json!({ "brief": ["ü".repeat(10_000)] }));
    assert!(long[0].len() < 400 && long[0].ends_with('…'), "{}", long[0]);
    let many: Vec<Value> = (0..100).map(|_| json!({ "name": 1 })).collect();
    assert_eq!(problems(&json!({ "brief": "b", "files": many })).len(), 20);
}

#[test]
fn a_schema_that_is_none_is_the_authors_business() {
    let refused = check_input(&json!({ "type": "strange" }), &Value::Null).unwrap_err();
    assert!(matches!(refused, InputError::Schema(_)), "{refused}");
    let elsewhere = json!({ "$ref": "https://example.com/schema.json" });
    let refused = check_input(&elsewhere, &Value::Null).unwrap_err();
    assert!(matches!(refused, InputError::Schema(_)), "nothing is fetched: {refused}");
}

#[test]
fn a_workflow_checks_what_it_is_given() {
    let workflow = Workflow::new("build", |_: Ctx, _: Value| async { Ok(()) });
    assert_eq!(workflow.check_input(&json!(5)), Ok(()), "without a schema anything goes");
    let workflow = workflow.input(schema());
    let failure = workflow.check_input(&json!({})).unwrap_err().into_failure();
    assert_eq!(failure.kind, FailureKind::NonRetryable);
    assert_eq!(
        failure.message,
        "the input is not what the workflow takes: `input.brief` is missing"
    );
    let problems = json!([{ "path": "input.brief", "message": "is missing" }]);
    assert_eq!(failure.detail.expect("details")["problems"], problems);
}
