//! Spans of time in two units at most: what somebody who waits wants to know.

/// `850 ms`, `12.3 s`, `4 m 05 s`, `2 h 13 m`, `3 d 4 h`. Cut, not rounded: nothing is older than it is.
pub(crate) fn span(ms: i64) -> String {
    let ms = ms.max(0);
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60..3_600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {:02} m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// The same in one unit, for what is still to come, and to the nearest of it: what was just set to 30 days is not 29. Less
/// than a second is one.
pub(crate) fn to_come(ms: i64) -> String {
    let nearest = |unit: i64| ms.max(0).saturating_add(unit / 2) / unit;
    match (nearest(1_000), nearest(60_000), nearest(3_600_000)) {
        (seconds @ ..60, _, _) => format!("{} s", seconds.max(1)),
        (_, minutes @ ..60, _) => format!("{minutes} m"),
        (_, _, hours @ ..24) => format!("{hours} h"),
        _ => format!("{} d", nearest(86_400_000)),
    }
}

/// The same in one unit: `4 s`, `12 m`, `3 h`, `2 d`. Less than a second is one.
pub(crate) fn coarse(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0..60 => format!("{} s", seconds.max(1)),
        60..3_600 => format!("{} m", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_at_most_two_units() {
        let spans = [
            -5,
            0,
            850,
            999,
            1_000,
            12_345,
            59_999,
            60_000,
            245_000,
            3_599_999,
            7_980_000,
            273_600_000,
        ];
        assert_eq!(
            spans.map(span),
            [
                "0 ms",
                "0 ms",
                "850 ms",
                "999 ms",
                "1.0 s",
                "12.3 s",
                "59.9 s",
                "1 m 00 s",
                "4 m 05 s",
                "59 m 59 s",
                "2 h 13 m",
                "3 d 4 h"
            ]
        );
        assert_eq!(span(i64::MAX), "106751991167 d 7 h");
    }

    #[test]
    fn what_is_to_come_is_told_to_the_nearest_unit() {
        let almost = |ms: i64| to_come(ms - 1_200);
        assert_eq!(
            [30 * 86_400_000, 86_400_000, 3_600_000, 60_000, 3_000].map(almost),
            ["30 d", "1 d", "1 h", "59 s", "2 s"]
        );
        assert_eq!(
            [-1, 0, 1_499, 1_500, 10_900_000].map(to_come),
            ["1 s", "1 s", "1 s", "2 s", "3 h"]
        );
        assert_eq!(to_come(i64::MAX), "106751991167 d");
    }

    #[test]
    fn a_coarse_span_has_one_unit() {
        assert_eq!(
            [-1, 400, 4_200, 60_000, 10_800_000, 200_000_000].map(coarse),
            ["1 s", "1 s", "4 s", "1 m", "3 h", "2 d"]
        );
    }
}
