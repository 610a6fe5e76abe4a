//! The form of an answer: JSON, as a schema says, found in whatever the agent has written around it.

use agentos_core::failure::Failure;
use agentos_core::value::{self, Value};
use agentos_process::secret::Secrets;
use agentos_sdk::{AnswerError, check_answer};

use super::refused;
use super::request::Asked;

/// Most of what is wrong that the agent is told, in bytes.
const TOLD: usize = 4 << 10;

/// Checks that the schema is one, before anything costs money.
pub(super) fn check_schema(asked: &Asked) -> Result<(), Failure> {
    match asked.schema.as_ref().map(|schema| check_answer(schema, &Value::Null)) {
        Some(Err(AnswerError::Schema(why))) => {
            Err(refused(format!("`schema` is no JSON Schema: {why}")))
        }
        _ => Ok(()),
    }
}

/// What the agent is told about the form, after what it is asked for.
pub(super) fn demand(asked: &Asked) -> Option<String> {
    let words = "Your last message has to be JSON and nothing else";
    match &asked.schema {
        Some(schema) => Some(format!("{words}. It has to fit this JSON Schema:\n{schema}")),
        None if asked.wants_json() => Some(format!("{words}.")),
        None => None,
    }
}

/// What the agent is told when its answer has the wrong form.
pub(super) fn repair(asked: &Asked, why: &str) -> String {
    let why = &why[..why.floor_char_boundary(TOLD)];
    let demand = demand(asked).unwrap_or_default();
    format!("Your last message can't be used: {why}\nSay it again. {demand}")
}

/// The JSON of an answer, if it is there and fits.
///
/// # Errors
/// What is wrong with it, in words that an agent can act on.
pub(super) fn json_of(asked: &Asked, text: &str) -> Result<Value, String> {
    let found = candidates(text)
        .into_iter()
        .find_map(|text| serde_json::from_str::<Value>(text).ok())
        .ok_or_else(|| "there is no JSON in it.".to_owned())?;
    value::check(&found).map_err(|error| error.to_string())?;
    if let Some(schema) = &asked.schema {
        check_answer(schema, &found).map_err(|error| error.to_string())?;
    }
    Ok(found)
}

/// A value without secrets, however they were written where it came from.
pub(super) fn masked(value: Value, secrets: &Secrets) -> Value {
    match value {
        Value::String(text) => Value::String(secrets.masked(&text)),
        Value::Array(items) => items.into_iter().map(|item| masked(item, secrets)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (secrets.masked(&name), masked(value, secrets)))
            .collect(),
        other => other,
    }
}

/// Where JSON may be: everything, a block of code, or what is between the first and the last bracket.
fn candidates(text: &str) -> Vec<&str> {
    let mut found = vec![text.trim()];
    let blocks: Vec<&str> = text.split("```").skip(1).step_by(2).collect();
    found.extend(blocks.iter().rev().map(|block| block.trim_start_matches("json").trim()));
    for (open, close) in [('{', '}'), ('[', ']')] {
        if let (Some(start), Some(end)) = (text.find(open), text.rfind(close))
            && start < end
        {
            found.push(&text[start..=end]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(schema: Option<Value>) -> Asked {
        let args = json!({ "agent": "a", "prompt": "p", "json": true, "schema": schema });
        Asked::parse(args).expect("a request")
    }

    #[test]
    fn json_is_found_wherever_an_agent_puts_it() {
        for text in [
            "{\"a\": 1}",
            "Here it is:\n```json\n{\"a\": 1}\n```\nDone.",
            "Sure: {\"a\": 1}. Anything else?",
        ] {
            assert_eq!(json_of(&asked(None), text), Ok(json!({ "a": 1 })), "{text}");
        }
        assert!(json_of(&asked(None), "no").is_err_and(|why| why.contains("no JSON")));
    }

    #[test]
    fn what_does_not_fit_is_said_so_and_a_broken_schema_is_refused() {
        let schema = json!({ "type": "object", "required": ["b"] });
        let why = json_of(&asked(Some(schema)), "{\"a\": 1}").unwrap_err();
        assert!(why.contains('b') && why.contains("missing"), "{why}");
        let broken = check_schema(&asked(Some(json!({ "type": 7 })))).unwrap_err();
        assert!(broken.message.contains("no JSON Schema"), "{}", broken.message);
    }
}
