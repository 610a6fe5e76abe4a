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
use super::problems::pointer_part;

/// How many defaults one input can get. A schema that refers to itself could give them for ever.
const DEFAULTS: usize = 10_000;

/// Completes an input, and tells where defaults were put in: JSON pointers. Nothing at all counts as an empty object where
/// one is wanted.
///
/// # Errors
/// The schema's defaults have no end.
pub(super) fn complete(schema: &Value, input: &mut Value) -> Result<Vec<String>, InputError> {
    let mut added = Vec::new();
    if input.is_null() {
        if let Some(default) = default_of(schema, schema) {
            *input = default.clone();
            added.push(String::new());
        } else if applying(schema, schema).into_iter().any(wants_object) {
            *input = Value::Object(Map::new());
        }
    }
    added.extend(complete_below((schema, schema), input)?);
    Ok(added)
}

/// Completes what is inside of a value. References of its schema lead within `root`.
///
/// # Errors
/// The schema's defaults have no end.
pub(super) fn complete_below(
    (root, schema): (&Value, &Value),
    value: &mut Value,
) -> Result<Vec<String>, InputError> {
    let mut defaults = Defaults { root, added: Vec::new(), pointer: String::new() };
    defaults.apply(schema, value, bounds::VALUE_DEPTH)?;
    Ok(defaults.added)
}

struct Defaults<'a> {
    root: &'a Value,
    /// Where defaults were put in.
    added: Vec<String>,
    /// Where the value is that is completed.
    pointer: String,
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
                if self.added.len() >= DEFAULTS {
                    return Err(endless());
                }
                self.added.push(format!("{}{}", self.pointer, pointer_part(name)));
                fields.insert(name.clone(), default.clone());
            }
            if let Some(value) = fields.get_mut(name) {
                self.apply_below(name, property, value, below)?;
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
        let rest = schema.get("items").filter(|schema| schema.is_object());
        for (index, item) in items.iter_mut().enumerate() {
            if let Some(schema) = first.get(index).or(rest) {
                self.apply_below(&index.to_string(), schema, item, below)?;
            }
        }
        Ok(())
    }

    fn apply_below(
        &mut self,
        part: &str,
        schema: &'a Value,
        value: &mut Value,
        depth: usize,
    ) -> Result<(), InputError> {
        let length = self.pointer.len();
        self.pointer.push_str(&pointer_part(part));
        let applied = self.apply(schema, value, depth);
        self.pointer.truncate(length);
        applied
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
