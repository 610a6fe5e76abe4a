//! Between errors of a script and failures of the log.

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::name::Name;
use agentos_core::value::Value;

use crate::definition::Definition;
use crate::limits;

/// A name that a workflow's author chose.
///
/// # Errors
/// It can't be one.
pub(crate) fn named(text: &str) -> Result<Name, Failure> {
    Name::new(text).map_err(|error| {
        let start: String = text.chars().take(40).collect();
        Failure::new(FailureKind::NonRetryable, format!("`{start}` can't be a name: {error}"))
    })
}

/// Reads a value that a script wrote.
///
/// # Errors
/// It nests too deep.
pub(crate) fn parse(what: &str, json: &str) -> Result<Value, Failure> {
    serde_json::from_str(json).map_err(|error| {
        Failure::new(FailureKind::NonRetryable, format!("{what} can't be kept: {error}"))
    })
}

/// A failure, as the prelude reads it.
pub(crate) fn to_json(failure: &Failure) -> String {
    serde_json::to_string(failure).unwrap_or_else(|_| {
        r#"{"kind":"error","message":"a failure that can't be written"}"#.to_owned()
    })
}

/// A failure that the prelude has described. Places in it become those of the author's text.
pub(crate) fn of_description(json: &str, definition: &Definition) -> Failure {
    let mut failure: Failure = serde_json::from_str(json).unwrap_or_else(|_| {
        Failure::new(FailureKind::Error, "an error that nests too deep to be described")
    });
    let from_script = failure.detail.as_ref().is_some_and(|detail| detail.get("at").is_none());
    if let Some(detail) = failure.detail.as_mut().filter(|_| from_script) {
        lead_back(detail, definition, 0);
    }
    failure.bounded()
}

fn lead_back(detail: &mut Value, definition: &Definition, depth: usize) {
    let Some(fields) = detail.as_object_mut().filter(|_| depth <= limits::CAUSES) else {
        return;
    };
    // What came from the log was led back when it went there.
    if fields.contains_key("at") {
        return;
    }
    if let Some(Value::String(stack)) = fields.remove("stack") {
        let (stack, at) = definition.original_stack(&stack);
        if !stack.is_empty() {
            fields.insert("stack".to_owned(), Value::String(stack));
        }
        if let Some(at) = at {
            fields.insert("at".to_owned(), Value::String(at));
        }
    }
    if let Some(cause) = fields.get_mut("cause").and_then(|cause| cause.get_mut("detail")) {
        lead_back(cause, definition, depth + 1);
    }
    if let Some(Value::Array(errors)) = fields.get_mut("errors") {
        for error in errors.iter_mut().filter_map(|error| error.get_mut("detail")) {
            lead_back(error, definition, depth + 1);
        }
    }
}
