//! Names of properties that a schema does not know.
//!
//! To JSON Schema, an object may have any property that the schema is silent about. A workflow's input is not like that: a
//! property that no schema lists is a misspelt one, and the run would go on without what was meant. So the properties of
//! every object in an input have to be listed, or match a pattern, where a schema lists any and does not say what becomes of
//! the others. Which alternative of `anyOf`, `oneOf` or `if` applies is not asked: a name of one of them is known.

use std::collections::HashMap;

use agentos_core::value::Value;
use jsonschema::{Validator, validator_for};
use serde_json::{Map, json};

use super::defaults::referred;
use super::problems::{InputProblem, NOT_KNOWN, PROBLEMS, path, pointer_part};
use crate::nearest::nearest;

/// Where a schema says something about properties that it does not list.
const OTHERS: [&str; 4] =
    ["unevaluatedProperties", "propertyNames", "$dynamicRef", "$recursiveRef"];

/// The properties of a value that its schema does not list. References lead within `root`; paths begin with `name`.
pub(super) fn unknown(
    (root, schema): (&Value, &Value),
    value: &Value,
    name: &str,
) -> Vec<InputProblem> {
    let mut search =
        Search { root, name, patterns: HashMap::new(), pointer: String::new(), found: Vec::new() };
    search.look_at(vec![schema], value);
    search.found
}

struct Search<'a> {
    root: &'a Value,
    name: &'a str,
    /// Tells by its pattern whether a name matches: as the validator does it, which is particular about patterns.
    patterns: HashMap<&'a str, Option<Validator>>,
    /// Where the value is that is looked at.
    pointer: String,
    found: Vec<InputProblem>,
}

impl<'a> Search<'a> {
    /// Looks at a value, of which these schemas say something.
    fn look_at(&mut self, schemas: Vec<&'a Value>, value: &Value) {
        if self.found.len() >= PROBLEMS {
            return;
        }
        let schemas = possible(self.root, schemas);
        match value {
            Value::Object(fields) => self.look_at_fields(&schemas, fields),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let of_item = schemas.iter().filter_map(|schema| item_schema(schema, index));
                    self.look_below(&index.to_string(), of_item.collect(), item);
                }
            }
            _ => {}
        }
    }

    fn look_below(&mut self, part: &str, schemas: Vec<&'a Value>, value: &Value) {
        let length = self.pointer.len();
        self.pointer.push_str(&pointer_part(part));
        self.look_at(schemas, value);
        self.pointer.truncate(length);
    }

    fn look_at_fields(&mut self, schemas: &[&'a Value], fields: &Map<String, Value>) {
        let is_open = !schemas.iter().any(|schema| lists_names(schema))
            || schemas.iter().any(|schema| is_open(self.root, schema));
        for (name, value) in fields {
            let mut is_known = is_open;
            let mut below = Vec::new();
            for schema in schemas {
                let own = self.listed(schema, name);
                is_known |= !own.is_empty() || requires(schema, name);
                match own.is_empty() {
                    true => below.extend(schema.get("additionalProperties")),
                    false => below.extend(own),
                }
            }
            if is_known {
                self.look_below(name, below, value);
            } else {
                let message = match nearest(name, &names(schemas)) {
                    Some(meant) => format!("{NOT_KNOWN} (did you mean `{meant}`?)"),
                    None => NOT_KNOWN.to_owned(),
                };
                let place = (&*path(self.name, &self.pointer), &*self.pointer);
                self.found.push(InputProblem::below(place, name, &message));
            }
        }
    }

    /// What one schema says of a property that it lists, or of which a pattern says something.
    fn listed(&mut self, schema: &'a Value, name: &str) -> Vec<&'a Value> {
        let mut found: Vec<&Value> =
            properties(schema).and_then(|all| all.get(name)).into_iter().collect();
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        for (pattern, schema) in patterns.into_iter().flatten() {
            if self.matches(pattern, name) {
                found.push(schema);
            }
        }
        found
    }

    fn matches(&mut self, pattern: &'a str, name: &str) -> bool {
        let validator = self.patterns.entry(pattern).or_insert_with(|| {
            // A pattern that is none is a mistake in the schema, which was told of before.
            validator_for(&json!({ "patternProperties": { pattern: false } })).ok()
        });
        validator.as_ref().is_some_and(|validator| !validator.is_valid(&json!({ name: null })))
    }
}

/// The schemas that may apply to a value: these, their alternatives and conditions, and what they refer to.
fn possible<'a>(root: &'a Value, mut waiting: Vec<&'a Value>) -> Vec<&'a Value> {
    let mut found: Vec<&Value> = Vec::new();
    while let Some(schema) = waiting.pop() {
        if found.iter().any(|known| std::ptr::eq(*known, schema)) {
            continue;
        }
        found.push(schema);
        for several in ["allOf", "anyOf", "oneOf"] {
            waiting.extend(schema.get(several).and_then(Value::as_array).into_iter().flatten());
        }
        waiting.extend(["if", "then", "else"].iter().filter_map(|one| schema.get(one)));
        let dependent = schema.get("dependentSchemas").and_then(Value::as_object);
        waiting.extend(dependent.into_iter().flatten().map(|(_, schema)| schema));
        waiting.extend(referred(root, schema));
    }
    found
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

fn names<'a>(schemas: &[&'a Value]) -> Vec<&'a str> {
    schemas
        .iter()
        .filter_map(|schema| properties(schema))
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect()
}

fn lists_names(schema: &Value) -> bool {
    ["properties", "patternProperties"].iter().any(|keyword| schema.get(keyword).is_some())
}

/// Whether a schema says what becomes of properties that it does not list, or may say so where that can't be seen.
fn is_open(root: &Value, schema: &Value) -> bool {
    OTHERS.iter().any(|keyword| schema.get(keyword).is_some())
        || schema.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false))
        || (schema.get("$ref").is_some() && referred(root, schema).is_none())
}

fn requires(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|one| one == name))
}

fn item_schema(schema: &Value, index: usize) -> Option<&Value> {
    let first = schema.get("prefixItems").and_then(Value::as_array);
    first.and_then(|first| first.get(index)).or_else(|| schema.get("items"))
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
