//! The properties of an input keep the order in which they were written.

use agentos_core::value::Value;
use agentos_script::order::property_names;
use agentos_script::templates::load_template;
use serde_json::json;

use crate::templates::Project;

/// The schema that a workflow tells, whose module says this of its input.
fn read(input: &str) -> Value {
    let project = Project::new();
    let template = format!(
        "import {{ createWorkflow }} from 'agentos';\n\
         export default createWorkflow({{ name: 'a', input: {input} }}, async () => 1);"
    );
    project.write("templates/a.ts", template);
    let definition =
        load_template(project.path(), "a.ts").unwrap_or_else(|error| panic!("{error}"));
    definition.config().input.clone().expect("a schema")
}

#[test]
fn properties_are_told_in_the_order_in_which_they_were_written() {
    let schema = read("{ type: 'object', properties: { title: {}, body: {}, labels: {} } }");
    assert_eq!(schema["x-order"], json!(["title", "body", "labels"]));
    assert_eq!(property_names(&schema), ["title", "body", "labels"]);
}

#[test]
fn schemas_inside_of_others_have_an_order_of_their_own() {
    let pair = "{ properties: { b: {}, a: {} } }";
    let order = json!(["b", "a"]);
    for (input, place) in [
        (format!("{{ properties: {{ one: {pair} }} }}"), "/properties/one"),
        (format!("{{ items: {{ items: {pair} }} }}"), "/items/items"),
        (format!("{{ anyOf: [{{}}, {pair}] }}"), "/anyOf/1"),
        (format!("{{ $defs: {{ pair: {pair} }} }}"), "/$defs/pair"),
        (format!("{{ additionalProperties: {pair} }}"), "/additionalProperties"),
        (format!("{{ properties: {{ properties: {pair} }} }}"), "/properties/properties"),
    ] {
        let schema = read(&input);
        assert_eq!(schema.pointer(place).expect("it is there")["x-order"], order, "{schema}");
        assert_eq!(schema.to_string().matches("x-order").count(), 1, "{schema}");
    }
}

#[test]
fn what_is_in_the_order_of_its_letters_or_no_schema_stays_as_it_is() {
    for (input, same) in [
        (
            "{ properties: { a: {}, b: {} }, required: ['b', 'a'] }",
            json!({ "properties": { "a": {}, "b": {} }, "required": ["b", "a"] }),
        ),
        // Values, a keyword of somebody else, and properties that are called like a keyword.
        (
            "{ default: { properties: { b: 1, a: 2 } }, enum: [{ properties: { b: 1, a: 2 } }] }",
            json!({ "default": { "properties": { "b": 1, "a": 2 } },
                "enum": [{ "properties": { "b": 1, "a": 2 } }] }),
        ),
        (
            "{ 'x-mine': { properties: { b: {}, a: {} } } }",
            json!({ "x-mine": { "properties": { "b": {}, "a": {} } } }),
        ),
        (
            "{ properties: { properties: { type: 'object', default: { b: 1.5, a: -2 } } } }",
            json!({ "properties": { "properties": { "type": "object", "default": { "b": 1.5, "a": -2 } } } }),
        ),
        ("true", json!(true)),
    ] {
        assert_eq!(read(input), same);
    }
}

#[test]
fn an_order_that_the_author_wrote_is_kept() {
    let schema = read("{ properties: { c: {}, b: {}, a: {} }, 'x-order': ['b', 'gone', 'b'] }");
    assert_eq!(schema["x-order"], json!(["b", "gone", "b"]));
    assert_eq!(property_names(&schema), ["b", "a", "c"], "those that it does not name come last");
    let schema = read("{ properties: { b: {}, a: {} }, 'x-order': 'as you like it' }");
    assert_eq!(schema["x-order"], "as you like it");
    assert_eq!(property_names(&schema), ["a", "b"]);
}

#[test]
fn what_describes_no_object_has_no_properties() {
    for schema in [json!(true), json!({ "type": "string" }), json!({ "properties": [] })] {
        assert_eq!(property_names(&schema), [""; 0]);
    }
}
