//! Ids of rows that follow from the log: whoever builds the rows again gets the same.

use agentos_core::id::RunId;
use uuid::{Builder, Uuid};

/// Scatters a number: the last step of `SplitMix64`.
pub(super) const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// What a row is of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Of {
    /// The step of this number.
    Step(u32),
    /// The entry at this position: a comment, an agent session, an artifact.
    Entry(u64),
}

/// The id of a row of this run. It sorts beside its run's.
pub(super) fn row_id(run: RunId, of: Of) -> Uuid {
    let (kind, number) = match of {
        Of::Step(number) => (1, u64::from(number)),
        Of::Entry(seq) => (2, seq),
    };
    let (high, low) = run.0.as_u64_pair();
    let first = mix(high ^ mix(low ^ kind));
    let second = mix(first ^ number);
    let third = mix(second ^ low);
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&run.0.as_bytes()[..6]);
    bytes[6..8].copy_from_slice(&third.to_be_bytes()[..2]);
    bytes[8..].copy_from_slice(&second.to_be_bytes());
    Builder::from_custom_bytes(bytes).into_uuid()
}
