//! Defaults that do not fit the schema that they stand in: every run that does not give the value would be refused.

use std::collections::BTreeSet;

use agentos_core::value::Value;
use jsonschema::{Registry, options};
use serde_json::json;

use super::problems::{find_problems, listed, pointer_part};
use super::{InputError, defaults, with_unknown_names};

/// How many places of a schema are looked at.
const PLACES: usize = 10_000;

/// What the schema is called while a part of it is looked at.
const ROOT: &str = "urn:agentos:input";

/// A default that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongDefault {
    /// The schema that has it: a JSON pointer into the whole schema, such as `/properties/rounds`.
    pub pointer: String,
    /// What is wrong with it.
    pub message: String,
}

/// The defaults of an input's schema that do not fit it, where inputs get them: in properties and items, and in what those
/// refer to.
///
/// # Errors
/// [`InputError::Schema`] says what is wrong with the schema itself.
pub fn wrong_defaults(root: &Value) -> Result<Vec<WrongDefault>, InputError> {
    let schema_error = |error: &dyn ToString| InputError::Schema(error.to_string());
    let registry = Registry::new().add(ROOT, root.clone()).map_err(|error| schema_error(&error))?;
    let registry = registry.prepare().map_err(|error| schema_error(&error))?;
    let mut found = Vec::new();
    for pointer in places(root) {
        let Some(schema) = root.pointer(&pointer) else { continue };
        let Some(mut default) = schema.get("default").cloned() else { continue };
        let mut part = json!({ "$ref": format!("{ROOT}#{}", in_address(&pointer)) });
        if let Some(dialect) = root.get("$schema") {
            part["$schema"] = dialect.clone();
        }
        let validator = options().with_registry(&registry).build(&part);
        let validator = validator.map_err(|error| schema_error(&error))?;
        defaults::complete_below((root, schema), &mut default)?;
        let fitting = find_problems(&validator, &default, "default");
        let problems = with_unknown_names(fitting, (root, schema), &default, "default");
        if !problems.is_empty() {
            found.push(WrongDefault { pointer, message: listed(&problems) });
        }
    }
    Ok(found)
}

/// The places of a schema whose defaults are put into inputs, as JSON pointers.
fn places(root: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![String::new()];
    while let Some(pointer) = waiting.pop() {
        let Some(schema) = root.pointer(&pointer) else { continue };
        if found.len() >= PLACES || !found.insert(pointer.clone()) {
            continue;
        }
        let names = schema.get("properties").and_then(Value::as_object);
        let names = names.into_iter().flat_map(|properties| properties.keys());
        waiting.extend(names.map(|name| format!("{pointer}/properties{}", pointer_part(name))));
        for several in ["allOf", "prefixItems"] {
            let count = schema.get(several).and_then(Value::as_array).map_or(0, Vec::len);
            waiting.extend((0..count).map(|index| format!("{pointer}/{several}/{index}")));
        }
        waiting.push(format!("{pointer}/items"));
        let reference = schema.get("$ref").and_then(Value::as_str);
        waiting.extend(reference.and_then(|to| to.strip_prefix('#')).map(str::to_owned));
    }
    found
}

/// A JSON pointer as a part of an address.
fn in_address(pointer: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let encoded = pointer.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    encoded.collect()
}
