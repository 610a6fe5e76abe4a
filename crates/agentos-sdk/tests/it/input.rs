//! Inputs are completed and checked by the workflow's schema.

use agentos_sdk::{
    Ctx, FailureKind, InputError, Workflow, accept_input, check_answer, remove_unknown,
    wrong_defaults,
};
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
            "`input.breif` is not known (did you mean `brief`?)",
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
        [
            r#"`input.rounds` is wrong: "many" is not of type "integer" (the default in the workflow's schema is wrong)"#
        ],
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
    let unknown = "`input.nmae` is not known (did you mean `name`?)";
    assert_eq!(problems_with(&listed, &misspelt), [unknown]);
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
fn properties_are_unknown_at_every_depth() {
    let deep = json!({ "type": "object", "properties": { "deep": { "type": "string" } } });
    let with = |schema: Value| json!({ "properties": { "o": schema } });
    let unknown = ["`input.o.unk` is not known"];
    let cases = [
        (deep.clone(), json!({ "deep": "q", "unk": 1 }), &unknown[..]),
        (deep.clone(), json!({ "deep": "q" }), &[]),
        (
            deep.clone(),
            json!({ "dep": "q" }),
            &["`input.o.dep` is not known (did you mean `deep`?)"],
        ),
        (
            json!({ "type": "array", "items": deep }),
            json!([{}, { "unk": 1 }]),
            &["`input.o[1].unk` is not known"],
        ),
        (
            json!({ "prefixItems": [deep] }),
            json!([{ "unk": 1 }]),
            &["`input.o[0].unk` is not known"],
        ),
        (json!({ "$ref": "#/$defs/deep", "$defs": {} }), json!({ "unk": 1 }), &unknown),
        (
            json!({ "allOf": [deep, { "properties": { "more": {} } }] }),
            json!({ "deep": "", "more": 1, "unk": 1 }),
            &unknown,
        ),
        // A name of one alternative is known in all of them.
        (
            json!({ "anyOf": [deep, { "required": ["other"], "properties": { "other": {} } }] }),
            json!({ "other": 1 }),
            &[],
        ),
        (json!({ "oneOf": [deep, { "type": "string" }] }), json!({ "unk": 1 }), &unknown),
        (
            json!({ "additionalProperties": deep }),
            json!({ "any": { "unk": 1 } }),
            &["`input.o.any.unk` is not known"],
        ),
        (
            json!({ "patternProperties": { "^x-": deep } }),
            json!({ "x-a": { "unk": 1 } }),
            &["`input.o.x-a.unk` is not known"],
        ),
        (json!({ "type": "object" }), json!({ "unk": { "unk": 1 } }), &[]),
        (
            json!({ "properties": {}, "additionalProperties": true }),
            json!({ "unk": { "unk": 1 } }),
            &[],
        ),
        (json!({ "properties": {}, "additionalProperties": false }), json!({ "unk": 1 }), &unknown),
        // What is said elsewhere about other properties can't be seen.
        (json!({ "properties": {}, "$ref": "#anchor" }), json!({ "unk": 1 }), &[]),
    ];
    for (schema, value, wanted) in cases {
        let mut root = with(schema.clone());
        root["$defs"] = json!({ "deep": deep, "anchored": { "$anchor": "anchor" } });
        assert_eq!(problems_with(&root, &json!({ "o": value })), wanted, "{schema} {value}");
    }
}

#[test]
fn what_a_schema_does_not_list_is_taken_out_at_every_depth() {
    let object = |properties| json!({ "type": "object", "properties": properties });
    let schema = object(json!({ "a/b": {}, "o": object(json!({ "deep": {} })), "any": {} }));
    let mut input =
        json!({ "a/b": 1, "o": { "deep": 2, "x~y": 3 }, "any": { "x": 4 }, "gone": { "x": 5 } });
    let mut removed = remove_unknown(Some(&schema), &mut input);
    removed.sort();
    assert_eq!(removed, ["gone", "o.x~y"]);
    assert_eq!(input, json!({ "a/b": 1, "o": { "deep": 2 }, "any": { "x": 4 } }));
    // More than are told at once.
    let mut many: Value = (0..100).map(|n| (format!("k{n}"), json!(n))).collect();
    assert_eq!(remove_unknown(Some(&schema), &mut many).len(), 100);
    assert_eq!(many, json!({}));
    assert!(remove_unknown(None, &mut json!({ "x": 1 })).is_empty());
}

#[test]
fn properties_that_match_no_pattern_are_unknown() {
    let schema = json!({ "properties": { "name": {} }, "patternProperties": { "^x-": { "type": "string" }, "\\d$": {} } });
    let problems = |input: Value| problems_with(&schema, &input);
    assert_eq!(problems(json!({ "name": 1, "x-a": "s", "y1": 2 })), [""; 0]);
    assert_eq!(problems(json!({ "y": "s" })), ["`input.y` is not known"]);
    assert_eq!(
        problems(json!({ "x-a": 1 })),
        ["`input.x-a` is wrong: 1 is not of type \"string\""]
    );
    let open =
        json!({ "patternProperties": { "^x-": {} }, "additionalProperties": { "type": "string" } });
    assert_eq!(problems_with(&open, &json!({ "y": "s" })), [""; 0]);
    let alone = json!({ "patternProperties": { "^x-": {} } });
    assert_eq!(problems_with(&alone, &json!({ "y": "s" })), ["`input.y` is not known"]);
}

#[test]
fn a_default_that_does_not_fit_is_found_and_told_as_the_workflows() {
    let wrong = |schema: Value| {
        let found = wrong_defaults(&schema).expect("a schema");
        found.into_iter().map(|default| (default.pointer, default.message)).collect::<Vec<_>>()
    };
    let review = json!({ "default": {}, "required": ["by"], "properties": { "by": { "type": "string", "default": "claude" } } });
    let fits = json!({ "properties": { "n": { "type": "integer", "default": 7 }, "review": review,
        "a file": { "$ref": "#/$defs/file", "default": "a" } }, "$defs": { "file": { "type": "string" } } });
    assert_eq!(wrong(fits), []);
    let schema = json!({ "properties": {
        "n": { "type": "integer", "default": "seven" },
        "a file": { "$ref": "#/$defs/file", "default": 1 },
        "list": { "items": { "properties": { "a/b": { "enum": [1], "default": 2 } } } },
        "o": { "default": { "unk": 1 }, "properties": { "deep": {} } },
    }, "$defs": { "file": { "type": "string" } } });
    let expected = [
        ("/properties/a file", "`default` is wrong: 1 is not of type \"string\""),
        ("/properties/list/items/properties/a~1b", "`default` is wrong: 2 is not one of 1"),
        ("/properties/n", "`default` is wrong: \"seven\" is not of type \"integer\""),
        ("/properties/o", "`default.unk` is not known"),
    ];
    assert_eq!(wrong(schema.clone()), expected.map(|(at, what)| (at.to_owned(), what.to_owned())));
    let refused = problems_with(&schema, &json!({ "a file": "f" }));
    assert_eq!(
        refused,
        [
            r#"`input.n` is wrong: "seven" is not of type "integer" (the default in the workflow's schema is wrong)"#,
            "`input.o.unk` is not known (the default in the workflow's schema is wrong)",
        ]
    );
    let given = json!({ "a file": "f", "n": "eight", "o": {} });
    let refused = problems_with(&schema, &given);
    assert_eq!(
        refused,
        [r#"`input.n` is wrong: "eight" is not of type "integer""#],
        "not a default"
    );
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
