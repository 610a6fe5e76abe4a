//! The order in which the author of a workflow has written the properties of its input.
//!
//! An object of JSON has no order, and the maps that carry a schema from here on sort their keys. A form and a help text
//! ask in the author's order all the same: the title before the details. So it is noted in the schema itself while that is
//! read from the module, in a keyword that validators pass over: `"x-order": ["title", "details"]`. It is noted in every
//! schema, at any depth, whose order is another than that of the letters, and where the author has not written one.
//!
//! A definition is known by its modules and not by its config: the note changes nothing for a run that is under way.

use agentos_core::value::Value;
use indexmap::IndexMap;
use serde::{Deserialize, Deserializer};
use serde_json::Map;

/// The keyword: a list of names.
const ORDER: &str = "x-order";

/// The properties of an object that a schema describes, in the order that it gives, and the others in the order of their
/// letters behind those.
#[must_use]
pub fn property_names(schema: &Value) -> Vec<&str> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let order = schema.get(ORDER).and_then(Value::as_array);
    let place = |name: &str| order.and_then(|order| order.iter().position(|one| one == name));
    let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
    names.sort_by_key(|name| place(name).unwrap_or(usize::MAX));
    names
}

/// Reads a schema, if there is one, and notes the order of its properties.
pub(crate) fn noted<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Value>, D::Error> {
    Ok(Option::<Written>::deserialize(source)?.map(Written::into_schema))
}

/// JSON as it is written: objects keep the order of their keys.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Object(IndexMap<String, Self>),
    List(Vec<Self>),
    Plain(Value),
}

impl Written {
    /// As a schema, or as a list of them.
    fn into_schema(self) -> Value {
        let keywords = match self {
            Self::Object(keywords) => keywords,
            Self::List(schemas) => return schemas.into_iter().map(Self::into_schema).collect(),
            Self::Plain(value) => return value,
        };
        let order = keywords.get("properties").and_then(Self::order);
        let mut schema = object(keywords, |keyword, part| match keyword {
            "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs"
            | "definitions" => part.into_schemas(),
            "items"
            | "prefixItems"
            | "additionalItems"
            | "unevaluatedItems"
            | "contains"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "allOf"
            | "anyOf"
            | "oneOf"
            | "not"
            | "if"
            | "then"
            | "else" => part.into_schema(),
            _ => part.into_value(),
        });
        if let Some(order) = order {
            schema.entry(ORDER).or_insert(order);
        }
        Value::Object(schema)
    }

    /// As schemas, each under a name.
    fn into_schemas(self) -> Value {
        match self {
            Self::Object(schemas) => object(schemas, |_, schema| schema.into_schema()).into(),
            other => other.into_value(),
        }
    }

    /// As data, in which nothing is a schema even if it looks so: a default, an example.
    fn into_value(self) -> Value {
        match self {
            Self::Object(fields) => object(fields, |_, value| value.into_value()).into(),
            Self::List(items) => items.into_iter().map(Self::into_value).collect(),
            Self::Plain(value) => value,
        }
    }

    /// The order of these properties, if it has to be said.
    fn order(&self) -> Option<Value> {
        let Self::Object(properties) = self else { return None };
        (!properties.keys().is_sorted()).then(|| properties.keys().cloned().collect())
    }
}

/// An object whose values are made by their keys.
fn object(
    fields: IndexMap<String, Written>,
    value: impl Fn(&str, Written) -> Value,
) -> Map<String, Value> {
    let fields = fields.into_iter().map(|(key, part)| {
        let value = value(&key, part);
        (key, value)
    });
    fields.collect()
}
