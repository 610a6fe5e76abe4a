//! Documents inside of messages: the ones that REST answers with, less what is too large.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::bounds::DOCUMENT;

/// Values that may be as large as their author likes.
const WIDE: [&str; 5] = ["state", "output", "input", "metadata", "error"];

/// From this size on a value is left out of a document that is too large, in bytes.
const SMALL: usize = 1 << 10;

/// The document. One that is too large has `null` in the place of its large values, and names them in `omitted`.
pub(super) fn document(of: &impl Serialize) -> Box<RawValue> {
    match to_raw_value(of) {
        Ok(text) if text.get().len() <= DOCUMENT => text,
        Ok(text) => smaller(&text).unwrap_or(text),
        // Records hold only what JSON can hold.
        Err(_) => RawValue::NULL.to_owned(),
    }
}

fn smaller(text: &RawValue) -> Option<Box<RawValue>> {
    let mut value: Value = serde_json::from_str(text.get()).ok()?;
    let fields = value.as_object_mut()?;
    let mut omitted = Vec::new();
    for name in WIDE {
        if let Some(field) = fields.get_mut(name)
            && field.to_string().len() > SMALL
        {
            *field = Value::Null;
            omitted.push(Value::from(name));
        }
    }
    fields.insert("omitted".to_owned(), Value::Array(omitted));
    to_raw_value(&value).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_too_large_is_left_out_by_name() {
        let large = json!({ "id": 1, "output": "x".repeat(DOCUMENT), "input": { "a": 1 } });
        let sent: Value = serde_json::from_str(document(&large).get()).unwrap();
        assert_eq!(
            sent,
            json!({ "id": 1, "output": null, "input": { "a": 1 }, "omitted": ["output"] })
        );
        let small = json!({ "id": 1, "output": "x" });
        assert_eq!(document(&small).get(), small.to_string());
    }
}
