//! Short readable ids of runs.

use crate::id::RunId;

/// How many letters follow on the workflow's name.
const LETTERS: usize = 6;

/// `{workflow}-{6 letters}`. The letters follow from the run's id, so whoever makes the name again gets the same. If another
/// run has it already, the next `choice` is another one.
#[must_use]
pub fn short_name(run: RunId, workflow: &str, choice: u64) -> String {
    let (high, low) = run.0.as_u64_pair();
    let mut bits = mix(high ^ mix(low.wrapping_add(choice)));
    let letter = |_| {
        let letter = b'a' + u8::try_from(bits % 26).unwrap_or(0);
        bits /= 26;
        char::from(letter)
    };
    let letters: String = (0..LETTERS).map(letter).collect();
    format!("{workflow}-{letters}")
}

/// Scatters a number: the last step of `SplitMix64`.
const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_name_follows_from_the_run_and_has_six_letters() {
        let run = RunId(Uuid::from_u128(7));
        let name = short_name(run, "build", 0);
        assert_eq!(name, short_name(run, "build", 0));
        let letters = name.strip_prefix("build-").unwrap_or_default();
        assert!(letters.len() == 6 && letters.bytes().all(|byte| byte.is_ascii_lowercase()));
        assert_ne!(name, short_name(run, "build", 1));
        assert_ne!(name, short_name(RunId(Uuid::from_u128(8)), "build", 0));
    }
}
