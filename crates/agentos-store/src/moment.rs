//! Moments as people and other programs read them: RFC 3339, in UTC, to the millisecond.

use agentos_core::time::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use serde::Serializer;

/// A page of runs has hundreds of moments, so they are printed without the detour by way of `Display`.
const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// `2026-11-15T13:26:26.123Z`; a moment beyond the calendar is written as its number.
#[must_use]
pub fn written(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(moment) => PRINTER.timestamp_to_string(&moment),
        Err(_) => at.0.to_string(),
    }
}

/// For `#[serde(serialize_with)]`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
pub(crate) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&written(*at))
}

/// For `#[serde(serialize_with)]`, where there may be none.
#[expect(clippy::ref_option, reason = "serde hands out a reference")]
pub(crate) fn serialize_some<S: Serializer>(
    at: &Option<Timestamp>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => serialize(at, to),
        None => to.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_people_write_them() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_794_749_186_123, "2026-11-15T13:26:26.123Z"),
            (i64::MAX, "9223372036854775807"),
        ] {
            assert_eq!(written(Timestamp(ms)), text);
        }
    }
}
