//! Inputs are completed and checked by the workflow's schema.

use agentos_sdk::{Ctx, FailureKind, InputError, Workflow, accept_input, check_answer};
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
    problems_with(&schema(), input)
}

fn problems_with(schema: &Value, input: &Value) -> Vec<String> {
    match accept_input(Some(schema), input.clone()) {
        Ok(_) => Vec::new(),
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
    assert_eq!(problems(&Value::Null), ["`input.brief` is missing"], "nothing is an empty object");
    assert_eq!(problems(&json!(1)), [r#"`input` is wrong: 1 is not of type "object""#]);
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
    let refused = accept_input(Some(&json!({ "type": "strange" })), Value::Null).unwrap_err();
    assert!(matches!(refused, InputError::Schema(_)), "{refused}");
    let elsewhere = json!({ "$ref": "https://example.com/schema.json" });
    let refused = accept_input(Some(&elsewhere), Value::Null).unwrap_err();
    assert!(matches!(refused, InputError::Schema(_)), "nothing is fetched: {refused}");
}

#[test]
fn a_workflow_checks_what_it_is_given() {
    let workflow = Workflow::new("build", |_: Ctx, _: Value| async { Ok(()) });
    assert_eq!(workflow.accept_input(json!(5)), Ok(json!(5)), "without a schema anything goes");
    let workflow = workflow.input(schema());
    let failure = workflow.accept_input(json!({})).unwrap_err().into_failure();
    assert_eq!(failure.kind, FailureKind::NonRetryable);
    assert_eq!(
        failure.message,
        "the input is not what the workflow takes: `input.brief` is missing"
    );
    let problems = json!([{ "path": "input.brief", "message": "is missing" }]);
    assert_eq!(failure.detail.expect("details")["problems"], problems);
}

fn accepted(schema: &Value, input: Value) -> Value {
    accept_input(Some(schema), input).expect("it fits")
}

#[test]
fn defaults_are_put_where_nothing_was_given() {
    let schema = json!({
        "type": "object",
        "required": ["base"],
        "properties": {
            "base": { "type": "string", "default": "main" },
            "rounds": { "type": "integer", "default": 3, "minimum": 1 },
            "notify": { "type": ["string", "null"], "default": "team" },
            "review": { "type": "object", "default": {}, "properties": { "by": { "default": "claude" } } },
            "other": { "type": "object", "properties": { "deep": { "default": 1 } } },
            "files": { "type": "array", "items": { "$ref": "#/$defs/file" } },
        },
        "$defs": { "file": { "properties": { "mode": { "allOf": [{ "default": "text" }] } } } },
    });
    let none =
        json!({ "base": "main", "rounds": 3, "notify": "team", "review": { "by": "claude" } });
    assert_eq!(accepted(&schema, json!({})), none);
    assert_eq!(accepted(&schema, Value::Null), none);
    let given = json!({ "base": "v2", "notify": null, "review": { "by": "codex" }, "other": {},
        "files": [{}, { "mode": "binary" }] });
    let wanted = json!({ "base": "v2", "rounds": 3, "notify": null, "review": { "by": "codex" },
        "other": { "deep": 1 }, "files": [{ "mode": "text" }, { "mode": "binary" }] });
    assert_eq!(accepted(&schema, given), wanted, "what was given stays");
    let wrong = json!({ "properties": { "rounds": { "type": "integer", "default": "many" } } });
    assert_eq!(
        problems_with(&wrong, &json!({})),
        [r#"`input.rounds` is wrong: "many" is not of type "integer""#],
        "defaults are checked like everything else"
    );
    assert_eq!(accepted(&json!({ "default": { "a": 1 } }), Value::Null), json!({ "a": 1 }));
    assert_eq!(accepted(&json!({ "type": ["object", "null"] }), Value::Null), Value::Null);
}

#[test]
fn defaults_that_have_no_end_are_the_authors_business() {
    let both = json!({ "$ref": "#", "default": {} });
    let schema = json!({ "properties": { "left": both, "right": both } });
    let refused = accept_input(Some(&schema), json!({})).unwrap_err();
    assert!(matches!(refused, InputError::Schema(_)), "{refused}");
}

#[test]
fn properties_that_no_schema_lists_are_refused() {
    let listed = json!({ "properties": { "name": {} }, "anyOf": [{ "properties": { "age": {} } }, {}],
        "$ref": "#/$defs/more", "$defs": { "more": { "required": ["id"] } } });
    let fits = json!({ "name": 1, "age": 2, "id": 3 });
    assert_eq!(problems_with(&listed, &fits), [""; 0]);
    let misspelt = json!({ "nmae": 1, "id": 3 });
    assert_eq!(problems_with(&listed, &misspelt), ["`input.nmae` is not known"]);
    for open in [
        json!({ "properties": { "name": {} }, "additionalProperties": true }),
        json!({ "properties": { "name": {} }, "additionalProperties": { "type": "integer" } }),
        json!({ "properties": { "name": {} }, "patternProperties": { "^n": {} } }),
        json!({ "type": "object" }),
        json!({}),
    ] {
        assert_eq!(problems_with(&open, &json!({ "nmae": 1 })), [""; 0], "{open}");
    }
}

#[test]
fn an_input_over_the_limit_names_limit_and_field() {
    let large = json!({ "title": "short", "brief": "x".repeat(5 << 20) });
    for schema in [None, Some(schema())] {
        let refused = accept_input(schema.as_ref(), large.clone()).unwrap_err().to_string();
        assert!(refused.contains("`input.brief` is too large"), "{refused}");
        assert!(refused.contains("4194304 bytes (4 MB)") && refused.len() < 400, "{refused}");
    }
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!([deep]);
    }
    let refused = accept_input(None, deep).unwrap_err().to_string();
    assert!(refused.contains("`input` nests deeper than 100 levels"), "{refused}");
}

#[test]
fn an_answer_is_not_spoken_of_as_an_input() {
    let wrong = check_answer(&schema(), &json!({ "breif": 1 })).unwrap_err().to_string();
    assert!(
        wrong.contains("the answer does not fit") && wrong.contains("`answer.brief` is missing"),
        "{wrong}"
    );
    assert!(!wrong.contains("input"), "{wrong}");
}
