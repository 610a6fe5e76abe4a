//! Names of properties that a schema does not know.
//!
//! To JSON Schema, an object may have any property that the schema is silent about. A workflow's input is not like that: a
//! property that no schema lists is a misspelt one, and the run would go on without what was meant. So the input's own
//! properties have to be listed, unless the schema itself says what becomes of the others.

use std::collections::BTreeSet;

use agentos_core::value::Value;

use super::defaults::referred;

/// Where a schema says something about properties that it does not list.
const OTHERS: [&str; 4] =
    ["additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"];

/// The properties of an input that its schema does not list.
pub(super) fn unknown<'a>(schema: &Value, input: &'a Value) -> Vec<&'a str> {
    let (Some(fields), Some(known)) = (input.as_object(), listed(schema)) else {
        return Vec::new();
    };
    fields.keys().map(String::as_str).filter(|name| !known.contains(name)).collect()
}

/// Every name that is listed somewhere; none if the schema lists nothing, or speaks of other properties itself.
fn listed(root: &Value) -> Option<BTreeSet<&str>> {
    let (mut names, mut lists_any) = (BTreeSet::new(), false);
    let (mut seen, mut waiting): (Vec<&Value>, Vec<&Value>) = (Vec::new(), vec![root]);
    while let Some(schema) = waiting.pop() {
        if seen.iter().any(|known| std::ptr::eq(*known, schema)) {
            continue;
        }
        seen.push(schema);
        if OTHERS.iter().any(|name| schema.get(name).is_some()) {
            return None;
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            lists_any = true;
            names.extend(properties.keys().map(String::as_str));
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        names.extend(required.filter_map(Value::as_str));
        for several in ["allOf", "anyOf", "oneOf"] {
            waiting.extend(schema.get(several).and_then(Value::as_array).into_iter().flatten());
        }
        waiting.extend(["if", "then", "else"].iter().filter_map(|one| schema.get(one)));
        let dependent = schema.get("dependentSchemas").and_then(Value::as_object);
        waiting.extend(dependent.into_iter().flatten().map(|(_, schema)| schema));
        waiting.extend(referred(root, schema));
    }
    lists_any.then_some(names)
}

/// Whether a schema is one of an object, and of nothing that can be `null`.
pub(super) fn wants_object(schema: &Value) -> bool {
    let is = |name: &str| match schema.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(many)) => many.iter().any(|one| one == name),
        _ => false,
    };
    (is("object") || (schema.get("type").is_none() && schema.get("properties").is_some()))
        && !is("null")
}
