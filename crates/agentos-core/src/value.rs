//! Values that workflows pass around, and how large they may be.

use thiserror::Error;

use crate::bounds;

/// A JSON value. Object keys are kept sorted, so equal values have equal text.
pub type Value = serde_json::Value;

/// Reads an optional field in which `null` is a value: only a field that is absent is none.
pub(crate) fn present<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Option<Value>, D::Error> {
    serde::Deserialize::deserialize(from).map(Some)
}

/// Why a value is not taken into the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ValueError {
    /// It is larger than [`bounds::VALUE_BYTES`].
    #[error(
        "the value is larger than {} bytes; make it an artifact and pass its name",
        bounds::VALUE_BYTES
    )]
    TooLarge,
    /// It nests deeper than [`bounds::VALUE_DEPTH`].
    #[error("the value nests deeper than {} levels; flatten it", bounds::VALUE_DEPTH)]
    TooDeep,
}

/// Checks a value against the bounds.
///
/// The size is that of its compact JSON text, give or take escapes: it is counted without writing the text, because this
/// runs for every argument and result.
///
/// # Errors
/// [`ValueError`] names the bound that is broken.
pub fn check(value: &Value) -> Result<(), ValueError> {
    let mut budget = bounds::VALUE_BYTES;
    measure(value, bounds::VALUE_DEPTH, &mut budget)
}

fn measure(value: &Value, depth: usize, budget: &mut usize) -> Result<(), ValueError> {
    let own = match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(_) | Value::Object(_) => 2,
    };
    *budget = budget.checked_sub(own).ok_or(ValueError::TooLarge)?;
    let Some(below) = depth.checked_sub(1) else {
        return Err(ValueError::TooDeep);
    };
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| measure(item, below, budget)),
        Value::Object(fields) => fields.iter().try_for_each(|(key, item)| {
            *budget = budget.checked_sub(key.len() + 3).ok_or(ValueError::TooLarge)?;
            measure(item, below, budget)
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_small_value_is_taken() {
        assert_eq!(check(&json!({"a": [1, null, "x", true], "b": {"c": 1.5}})), Ok(()));
    }

    #[test]
    fn a_value_over_the_size_bound_is_refused() {
        assert_eq!(
            check(&Value::String("x".repeat(bounds::VALUE_BYTES))),
            Err(ValueError::TooLarge)
        );
        let long_key = serde_json::Map::from_iter([("k".repeat(bounds::VALUE_BYTES), Value::Null)]);
        assert_eq!(check(&Value::Object(long_key)), Err(ValueError::TooLarge));
    }

    #[test]
    fn a_value_over_the_depth_bound_is_refused() {
        let deep = (0..bounds::VALUE_DEPTH).fold(Value::Null, |inner, _| json!([inner]));
        assert_eq!(check(&deep), Err(ValueError::TooDeep));
    }
}
