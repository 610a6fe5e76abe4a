//! Defaults of a schema, put where an input has nothing.
//!
//! A property that is absent gets the `default` of its schema, at every depth at which the object around it is there. What is
//! under `anyOf`, `oneOf` or `if` is left alone: which of them applies is only known once the input is complete. A value that
//! was given stays, also `null`.

use agentos_core::bounds;
use agentos_core::value::Value;
use serde_json::Map;

use super::InputError;
use super::names::wants_object;

/// How many defaults one input can get. A schema that refers to itself could give them for ever.
const DEFAULTS: usize = 10_000;

/// Completes an input. Nothing at all counts as an empty object where one is wanted.
///
/// # Errors
/// The schema's defaults have no end.
pub(super) fn complete(schema: &Value, input: &mut Value) -> Result<(), InputError> {
    if input.is_null() {
        if let Some(default) = default_of(schema, schema) {
            *input = default.clone();
        } else if applying(schema, schema).into_iter().any(wants_object) {
            *input = Value::Object(Map::new());
        }
    }
    let mut defaults = Defaults { root: schema, left: DEFAULTS };
    defaults.apply(schema, input, bounds::VALUE_DEPTH)
}

struct Defaults<'a> {
    root: &'a Value,
    /// How many more can be put in.
    left: usize,
}

impl<'a> Defaults<'a> {
    fn apply(
        &mut self,
        schema: &'a Value,
        value: &mut Value,
        depth: usize,
    ) -> Result<(), InputError> {
        let Some(below) = depth.checked_sub(1) else {
            // What nests deeper is refused anyway.
            return Ok(());
        };
        for schema in applying(self.root, schema) {
            match value {
                Value::Object(fields) => self.apply_to_fields(schema, fields, below)?,
                Value::Array(items) => self.apply_to_items(schema, items, below)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn apply_to_fields(
        &mut self,
        schema: &'a Value,
        fields: &mut Map<String, Value>,
        below: usize,
    ) -> Result<(), InputError> {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if !fields.contains_key(name)
                && let Some(default) = default_of(self.root, property)
            {
                self.left = self.left.checked_sub(1).ok_or_else(endless)?;
                fields.insert(name.clone(), default.clone());
            }
            if let Some(value) = fields.get_mut(name) {
                self.apply(property, value, below)?;
            }
        }
        Ok(())
    }

    fn apply_to_items(
        &mut self,
        schema: &'a Value,
        items: &mut [Value],
        below: usize,
    ) -> Result<(), InputError> {
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], |all| all);
        for (item, schema) in items.iter_mut().zip(first) {
            self.apply(schema, item, below)?;
        }
        if let Some(schema) = schema.get("items").filter(|schema| schema.is_object()) {
            for item in items.iter_mut().skip(first.len()) {
                self.apply(schema, item, below)?;
            }
        }
        Ok(())
    }
}

fn endless() -> InputError {
    InputError::Schema(format!("it has more than {DEFAULTS} defaults for one input"))
}

fn default_of<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    applying(root, schema).into_iter().find_map(|schema| schema.get("default"))
}

/// The schemas that a value has to fit in any case: this one, those under its `allOf`, and those that they refer to.
fn applying<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let mut found: Vec<&Value> = Vec::new();
    let mut waiting = vec![schema];
    while let Some(schema) = waiting.pop() {
        if found.iter().any(|known| std::ptr::eq(*known, schema)) {
            continue;
        }
        found.push(schema);
        let all = schema.get("allOf").and_then(Value::as_array);
        waiting.extend(all.into_iter().flatten().rev());
        waiting.extend(referred(root, schema));
    }
    found
}

/// What a schema refers to within its document.
pub(super) fn referred<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
}
