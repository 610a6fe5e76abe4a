//! Ids of rows that follow from the log: whoever builds the rows again gets the same.
//!
//! They follow from what a row is about, by the names that the program gave, and not from positions or numbers. So a
//! comment or an artifact that somebody has linked to is still found after the run went on under another source, where
//! everything stands at another place.

use std::hash::Hasher as _;

use agentos_core::id::RunId;
use serde_json::Value;
use siphasher::sip128::{Hasher128 as _, SipHasher13};
use uuid::{Builder, Uuid};

/// What a row is of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of<'a> {
    /// The step of this path.
    Step(&'a str),
    /// The remark of this operation.
    Comment(&'a str),
    /// The agent session of this operation, whichever try it is at.
    Session(&'a str),
    /// The artifact of this operation.
    Artifact(&'a str),
}

/// The id of a row of this run. It sorts beside its run's.
pub(crate) fn row_id(run: RunId, of: Of<'_>) -> Uuid {
    let (kind, identity) = match of {
        Of::Step(path) => (1, path),
        Of::Comment(operation) => (2, operation),
        Of::Session(operation) => (3, operation),
        Of::Artifact(operation) => (4, operation),
    };
    let mut hasher = SipHasher13::new();
    hasher.write(run.0.as_bytes());
    hasher.write(&[kind]);
    hasher.write(identity.as_bytes());
    let mut bytes = hasher.finish128().as_bytes();
    bytes[..6].copy_from_slice(&run.0.as_bytes()[..6]);
    Builder::from_custom_bytes(bytes).into_uuid()
}

/// What remarks are compared by that were made on the same step of a run, or on the run itself.
pub(crate) fn remark_hash(step: Option<u32>, message: &str, meta: &Value) -> u128 {
    let mut hasher = SipHasher13::new();
    hasher.write(&step.unwrap_or(0).to_le_bytes());
    hasher.write(message.as_bytes());
    // No text has this byte.
    hasher.write(&[0xff]);
    hasher.write(meta.to_string().as_bytes());
    hasher.finish128().as_u128()
}

/// The id of the row of the step at this path.
#[must_use]
pub fn step_id(run: RunId, path: &str) -> Uuid {
    row_id(run, Of::Step(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_rows_stay_what_they_are() {
        let run = RunId(Uuid::from_u128(0x0192_d4e0_0000_7000_8000_0000_0000_0002));
        let all =
            [Of::Step("/a#1"), Of::Comment("/a#1"), Of::Session("/a#1"), Of::Artifact("/a#1")];
        let ids: Vec<String> = all.map(|of| row_id(run, of).to_string()).to_vec();
        assert_eq!(ids, EXPECTED, "links to rows would lead nowhere");
    }

    const EXPECTED: [&str; 4] = [
        "0192d4e0-0000-83e1-9ffb-1def6172d241",
        "0192d4e0-0000-82e5-92ab-f2f5bf6d5013",
        "0192d4e0-0000-8b1b-a166-b50d64dc323c",
        "0192d4e0-0000-8fe1-95e8-6963d1e2deb8",
    ];
}
