//! What a run is started with, out of what was written on the command line.
//!
//! `--input-file` comes first, then standard input (`--input -`), then `--input key=value`, then the flags that are made
//! from the workflow's schema: the later wins, key by key. Texts become what the schema says; without a word from it they
//! are JSON if they read so, and texts otherwise.

mod files;
mod flags;

use agentos_core::value::Value;
use serde_json::Map;

use crate::error::{Cause, CommandError, Result};
pub(crate) use files::{FileInput, files, files_within, is_inside, named_files};
pub(crate) use flags::{add_flags, given_flags, without_flag};

/// What was given, not understood yet.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// The text of `--input-file`, with its name.
    pub(crate) file: Option<(String, String)>,
    /// The text on standard input.
    pub(crate) stdin: Option<String>,
    /// `--input key=value`
    pub(crate) pairs: Vec<String>,
    /// Values of properties, as they are.
    pub(crate) values: Map<String, Value>,
    /// Flags: a property with every text that was given for it.
    pub(crate) flags: Vec<(String, Vec<String>)>,
}

/// Makes one value of everything that was given; `null` if nothing was.
pub(crate) fn assemble(schema: Option<&Value>, given: Given) -> Result<Value> {
    let mut input = None;
    for (name, text) in given.file.into_iter().chain(given.stdin.map(|text| (STDIN.into(), text))) {
        let value = serde_json::from_str(&text).map_err(|error| not_json(&name, &error))?;
        input = Some(merged(input, value, &name)?);
    }
    let mut named = given.values;
    for pair in given.pairs {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(CommandError::usage(format!("`--input {pair}` names no value"))
                .cli_hint("write `--input key=value`, or `--input -` for JSON on standard input"));
        };
        named.insert(key.to_owned(), read(schema, key, &[text.to_owned()])?);
    }
    for (key, texts) in given.flags {
        let value = read(schema, &key, &texts)?;
        named.insert(key, value);
    }
    if !named.is_empty() {
        input = Some(merged(input, Value::Object(named), "the flags")?);
    }
    Ok(input.unwrap_or_default())
}

const STDIN: &str = "standard input";

fn not_json(name: &str, error: &serde_json::Error) -> CommandError {
    CommandError::usage(format!("{name} is no JSON: {error}"))
}

/// Both together; what comes later wins, key by key.
fn merged(earlier: Option<Value>, later: Value, name: &str) -> Result<Value> {
    match (earlier, later) {
        (None, later) => Ok(later),
        (Some(Value::Object(mut earlier)), Value::Object(later)) => {
            earlier.extend(later);
            Ok(Value::Object(earlier))
        }
        _ => Err(CommandError::usage(format!(
            "what {name} gives can't be added to an input that is no object"
        ))
        .because(Cause::Input)
        .field("/input")),
    }
}

/// The types that a schema names.
fn types_of(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn property<'a>(schema: Option<&'a Value>, key: &str) -> Option<&'a Value> {
    schema?.get("properties")?.get(key)
}

/// Reads texts as the schema says.
fn read(schema: Option<&Value>, key: &str, texts: &[String]) -> Result<Value> {
    let property = property(schema, key);
    let types = property.map(types_of).unwrap_or_default();
    if types.contains(&"array") {
        // One text may be the whole list.
        if let [text] = texts
            && let Ok(list @ Value::Array(_)) = serde_json::from_str(text)
        {
            return Ok(list);
        }
        let items = property.and_then(|property| property.get("items"));
        let types = items.map(types_of).unwrap_or_default();
        return texts.iter().map(|text| read_one(&types, key, text)).collect();
    }
    match texts {
        [text] => read_one(&types, key, text),
        _ => Err(CommandError::usage(format!("`{key}` was given more than once"))),
    }
}

fn read_one(types: &[&str], key: &str, text: &str) -> Result<Value> {
    let json = || serde_json::from_str::<Value>(text).ok();
    let fits = |value: &Value| types.iter().any(|name| is_of_type(value, name));
    if types.is_empty() {
        return Ok(json().unwrap_or_else(|| Value::String(text.to_owned())));
    }
    if let Some(value) = json().filter(|value| !value.is_string() && fits(value)) {
        return Ok(value);
    }
    if types.contains(&"string") {
        return Ok(Value::String(text.to_owned()));
    }
    let wanted = types.join(" or ");
    Err(CommandError::usage(format!("`{key}` has to be of type {wanted}, not `{text}`")))
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({ "type": "object", "properties": {
            "title": { "type": "string" }, "count": { "type": "integer" }, "dry": { "type": "boolean" },
            "tags": { "type": "array", "items": { "type": "string" } }, "extra": {},
            "limit": { "type": ["number", "null"] }, "options": { "type": "object" },
        }})
    }

    fn pairs(pairs: &[&str]) -> Result<Value> {
        let pairs = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        assemble(Some(&schema()), Given { pairs, ..Given::default() })
    }

    #[test]
    fn texts_become_what_the_schema_says() {
        let given = [
            "title=7",
            "count=3",
            "dry=true",
            "tags=[\"a\"]",
            "extra=[1]",
            "limit=null",
            "options={\"a\":1}",
        ];
        let wanted = json!({ "title": "7", "count": 3, "dry": true, "tags": ["a"], "extra": [1],
            "limit": null, "options": { "a": 1 } });
        assert_eq!(pairs(&given), Ok(wanted));
        assert_eq!(pairs(&["unknown=plain text"]), Ok(json!({ "unknown": "plain text" })));
        assert_eq!(pairs(&["title=a=b"]), Ok(json!({ "title": "a=b" })));
    }

    #[test]
    fn a_text_of_the_wrong_type_names_the_key() {
        let error = pairs(&["count=many"]).unwrap_err();
        assert_eq!(error.message, "`count` has to be of type integer, not `many`");
        assert!(pairs(&["nonsense"]).unwrap_err().message.contains("names no value"));
    }

    #[test]
    fn what_comes_later_wins_key_by_key() {
        let given = Given {
            file: Some(("in.json".into(), r#"{"title": "file", "count": 1, "dry": false}"#.into())),
            stdin: Some(r#"{"count": 2}"#.into()),
            pairs: vec!["count=3".into()],
            flags: vec![("dry".into(), vec!["true".into()])],
            ..Given::default()
        };
        let wanted = json!({ "title": "file", "count": 3, "dry": true });
        assert_eq!(assemble(Some(&schema()), given), Ok(wanted));
    }

    #[test]
    fn an_input_can_be_given_as_a_whole_or_not_at_all() {
        assert_eq!(assemble(None, Given::default()), Ok(Value::Null));
        let whole = Given { stdin: Some("\"text\"".into()), ..Given::default() };
        assert_eq!(assemble(None, whole), Ok(json!("text")));
    }

    #[test]
    fn what_is_no_json_names_where_it_came_from() {
        let given = Given { file: Some(("in.json".into(), "{".into())), ..Given::default() };
        let error = assemble(None, given).unwrap_err();
        assert!(error.message.starts_with("in.json is no JSON"), "{}", error.message);
    }
}
