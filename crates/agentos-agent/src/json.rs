//! Looks into documents that others have written: whatever is not there, or not of the kind, is nothing.

use serde_json::Value;

/// The text at this place.
pub(crate) fn text<'a>(value: &'a Value, at: &str) -> Option<&'a str> {
    value.pointer(at).and_then(Value::as_str)
}

/// The number at this place; 0 where there is none.
pub(crate) fn count(value: &Value, at: &str) -> u64 {
    value.pointer(at).and_then(Value::as_u64).unwrap_or(0)
}

/// The number at this place.
pub(crate) fn money(value: &Value, at: &str) -> Option<f64> {
    value.pointer(at).and_then(Value::as_f64).filter(|money| money.is_finite() && *money >= 0.0)
}

/// The members of the list at this place.
pub(crate) fn list<'a>(value: &'a Value, at: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(at).and_then(Value::as_array).into_iter().flatten()
}

/// An object, if that is what the line is.
pub(crate) fn object(line: &str) -> Option<Value> {
    serde_json::from_str::<Value>(line).ok().filter(Value::is_object)
}
