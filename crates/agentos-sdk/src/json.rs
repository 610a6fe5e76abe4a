//! Values of the workflow's own types, to JSON and back, with failures that say whose value it was.

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::value::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes a value.
///
/// # Errors
/// It can't be written as JSON. Trying again would not help.
pub(crate) fn encode(what: &str, value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| {
        let message = format!("{what} can't be written as JSON: {error}");
        Failure::new(FailureKind::NonRetryable, message)
    })
}

/// Reads a value.
///
/// # Errors
/// It does not fit the type. Trying again would not help.
pub(crate) fn decode<T: DeserializeOwned>(
    what: impl FnOnce() -> String,
    value: Value,
) -> Result<T, Failure> {
    let hint = match &value {
        Value::Null => {
            " (it is null; where there may be nothing, as after a skip, expect an `Option`)"
        }
        _ => "",
    };
    serde_json::from_value(value).map_err(|error| {
        let what = what();
        let message = format!("{what} is not what the workflow expects there: {error}{hint}");
        Failure::new(FailureKind::NonRetryable, message)
    })
}
