//! Sizes as people say them.

const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];

/// `5 B`, `1.2 kB`, `200 MB`: two or three digits, cut and not rounded.
pub(crate) fn size(bytes: u64) -> String {
    let (mut whole, mut tenths, mut unit) = (bytes, 0, 0);
    while whole >= 1_000 && unit + 1 < UNITS.len() {
        tenths = whole % 1_000 / 100;
        whole /= 1_000;
        unit += 1;
    }
    let unit_name = UNITS[unit];
    if unit > 0 && whole < 10 {
        format!("{whole}.{tenths} {unit_name}")
    } else {
        format!("{whole} {unit_name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_few_digits() {
        let said = [0, 999, 1_000, 1_299, 99_999, 209_715_200, u64::MAX].map(size);
        assert_eq!(said, ["0 B", "999 B", "1.0 kB", "1.2 kB", "99 kB", "209 MB", "18446744 TB"]);
    }
}
