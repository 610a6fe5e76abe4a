//! Moments for people: in their own time zone, or seen from now.

use agentos_core::time::Timestamp;
use jiff::Zoned;
use jiff::tz::TimeZone;

use super::duration;

/// `12:03:05`
pub(crate) fn clock(moment: Timestamp, zone: &TimeZone) -> String {
    written(moment, zone, "%H:%M:%S")
}

/// `2026-11-15 12:03:05`
pub(crate) fn date_and_clock(moment: Timestamp, zone: &TimeZone) -> String {
    written(moment, zone, "%Y-%m-%d %H:%M:%S")
}

/// `just now`, `2 minutes ago`, `in 3 h`
pub(crate) fn seen_from(moment: Timestamp, now: Timestamp) -> String {
    let ago = now.0.saturating_sub(moment.0);
    if ago <= -1_000 {
        return format!("in {}", duration::to_come(ago.saturating_neg()));
    }
    let seconds = ago / 1_000;
    let (count, unit) = match seconds {
        ..5 => return "just now".to_owned(),
        5..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

/// A moment that no calendar reaches is written as a number.
fn written(moment: Timestamp, zone: &TimeZone, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(moment.0) {
        Ok(instant) => Zoned::new(instant, zone.clone()).strftime(format).to_string(),
        Err(_) => moment.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_794_744_185_000);

    #[test]
    fn moments_are_local() {
        assert_eq!(date_and_clock(NOW, &TimeZone::UTC), "2026-11-15 12:03:05");
        assert_eq!(clock(NOW, &TimeZone::fixed(jiff::tz::offset(2))), "14:03:05");
        assert_eq!(clock(Timestamp(i64::MAX), &TimeZone::UTC), "9223372036854775807 ms");
    }

    #[test]
    fn moments_are_seen_from_now() {
        let seen = |ms: i64| seen_from(Timestamp(NOW.0 - ms), NOW);
        assert_eq!(seen(0), "just now");
        assert_eq!(seen(12_000), "12 seconds ago");
        assert_eq!(seen(60_000), "1 minute ago");
        assert_eq!(seen(150_000), "2 minutes ago");
        assert_eq!(seen(90_000_000), "1 day ago");
        assert_eq!(seen(-10_900_000), "in 3 h");
        assert_eq!(seen_from(Timestamp(i64::MIN), NOW), "106751991167 days ago");
    }
}
