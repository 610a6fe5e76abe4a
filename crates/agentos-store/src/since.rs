//! A moment in the past, as people say it, in listings of whatever door.

use agentos_core::time::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;

/// Since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// So many milliseconds before now.
    Ago(i64),
    /// This moment.
    At(Timestamp),
}

impl Since {
    /// The moment that it means at this time.
    #[must_use]
    pub const fn moment(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(ms) => Timestamp(now.0.saturating_sub(ms)),
            Self::At(moment) => moment,
        }
    }
}

/// Reads `30m`, `2h`, `3d`, `2026-11-15`, `2026-11-15 12:00`, `2026-11-15T12:00:00Z`; dates in the zone of this machine.
///
/// # Errors
/// What can be written instead.
pub fn parse(text: &str) -> Result<Since, String> {
    parse_in(text.trim(), &TimeZone::system()).ok_or_else(|| {
        "write `30m`, `2h`, `3d`, `1w`, `2026-11-15` or `2026-11-15T12:00`".to_owned()
    })
}

fn parse_in(text: &str, zone: &TimeZone) -> Option<Since> {
    if let Some(ms) = length(text) {
        return Some(Since::Ago(ms));
    }
    let at = |moment: jiff::Timestamp| Some(Since::At(Timestamp(moment.as_millisecond())));
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return at(moment);
    }
    let civil = text.parse::<civil::DateTime>();
    let civil = civil.or_else(|_| text.parse::<civil::Date>().map(|day| day.at(0, 0, 0, 0)));
    at(civil.ok()?.to_zoned(zone.clone()).ok()?.timestamp())
}

fn length(text: &str) -> Option<i64> {
    let at = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(at);
    let unit = match unit.trim() {
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_dates_and_moments_are_understood() {
        let read = |text: &str| parse_in(text, &TimeZone::fixed(jiff::tz::offset(2)));
        assert_eq!(read("90s"), Some(Since::Ago(90_000)));
        assert_eq!(read("2h"), Some(Since::Ago(7_200_000)));
        assert_eq!(read("1 w"), Some(Since::Ago(604_800_000)));
        let at = |ms: i64| Some(Since::At(Timestamp(ms)));
        assert_eq!(read("1970-01-02"), at(86_400_000 - 7_200_000));
        assert_eq!(read("1970-01-02T03:00"), at(86_400_000 + 3_600_000));
        assert_eq!(read("1970-01-02 03:00:30"), at(86_400_000 + 3_630_000));
        assert_eq!(read("1970-01-02T03:00:00Z"), at(86_400_000 + 10_800_000));
        for wrong in ["", "h", "2", "2y", "-2h", "yesterday", "99999999999999999999h", "2026-13-01"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
